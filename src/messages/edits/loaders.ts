import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/context.ts';
import { sharedBudget } from '../../markdown/diff.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { TOTALS } from '../../platform/totals.ts';
import { LongWork } from '../../platform/yield-to-event-loop.ts';
import { bytesOfEdits, readEdits, type StoredEdit } from '../stored-edits.ts';
import type { Snapshot } from './history.ts';

/**
 * Maximum number of bytes of text and HTML that are read for one response: the longest history of one message. Each text can be
 * requested four times, which is as much as a page of messages can have.
 */
const MAX_BYTES = TOTALS.versions_per_message_total_bytes.max;
/** Maximum number of bytes of snapshots in one response. Includes moves, which repeat the content. */
const MAX_SNAPSHOT_BYTES = 2 * MAX_BYTES;

const tooLong = () => new BadRequestError('The edit histories are too large for one reply. Request fewer.');

/** Loads all stored edits and moves of messages by id, in any order. Fails if several histories together are too long. */
export const editsOf = perOperation(
  (ctx) =>
    new DataLoader<bigint, readonly StoredEdit[], string>(
      async (ids) => {
        const { app, realmId } = signedIn(ctx);
        if (ids.length > 1 && (await bytesOfEdits(app.db, realmId, ids)) > MAX_BYTES) throw tooLong();
        const rows = await readEdits(app.db, realmId, ids, { readsHtml: true });
        const byMessage = Map.groupBy(rows, ({ messageId }) => messageId);
        return ids.map((id) => byMessage.get(id) ?? []);
      },
      { cacheKeyFn: String },
    ),
);

/** The remaining bytes of snapshots for the operation. */
export const snapshotBudget = perOperation(() => {
  let left = MAX_SNAPSHOT_BYTES;
  return {
    /** @throws BadRequestError if the operation returns more than a response can contain. */
    take(snapshots: readonly Snapshot[]): void {
      for (const { state } of snapshots)
        left -= Buffer.byteLength(state.content) + Buffer.byteLength(state.renderedContent);
      if (left < 0) throw tooLong();
    },
  };
});

/** The comparisons of versions in an operation. They share one budget and yield to the event loop. */
export const comparisons = perOperation(() => ({ work: new LongWork(), budget: sharedBudget() }));
