import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { sharedBudget } from '../../markdown/diff.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { LongWork } from '../../platform/time-slices.ts';
import { TOTALS } from '../../platform/totals.ts';
import { bytesOfEdits, readEdits, type StoredEdit } from '../stored-edits.ts';
import type { Snapshot } from './history.ts';

/**
 * Maximum number of bytes of Markdown and HTML of edits that are loaded for one response. The longest history of one message
 * fits. A query can select each text up to four times, so a response contains at most four times this size, which is about that
 * of the largest page of messages.
 */
const MAX_BYTES = TOTALS.versions_per_message_total_bytes.max;
/**
 * Maximum number of bytes of snapshots in one response. The content of a message counts for each of its snapshots, including
 * moves.
 */
const MAX_SNAPSHOT_BYTES = 2 * MAX_BYTES;

const tooLong = () => new BadRequestError('The edit histories are too large for one reply. Request fewer.');

/**
 * Loads the stored edits and moves of messages by message id, in any order. Of old histories that exceed the limits of
 * `readEdits`, some are omitted.
 *
 * @throws BadRequestError if the histories of several messages together exceed `MAX_BYTES`.
 */
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

/** Counter of the bytes of snapshots that the operation can still return. */
export const snapshotBudget = perOperation(() => {
  let left = MAX_SNAPSHOT_BYTES;
  return {
    /** @throws BadRequestError if the snapshots of the operation exceed the size of a response. */
    take(snapshots: readonly Snapshot[]): void {
      for (const { state } of snapshots)
        left -= Buffer.byteLength(state.content) + Buffer.byteLength(state.renderedContent);
      if (left < 0) throw tooLong();
    },
  };
});

/** Work of comparing versions in an operation. All comparisons share one time limit and yield to the event loop. */
export const comparisons = perOperation(() => ({ work: new LongWork(), budget: sharedBudget() }));
