import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { sharedBudget } from '../../markdown/diff.ts';
import { ValidationError } from '../../platform/errors.ts';
import { LongWork } from '../../platform/time-slices.ts';
import { TOTALS } from '../../platform/totals.ts';
import { bytesOfEdits, readEdits, type StoredEdit } from '../stored-edits.ts';
import type { Snapshot } from './history.ts';

/**
 * Maximum total size, in bytes, of the Markdown and HTML of edits that one operation loads. If the histories of several
 * messages exceed it, the field has a `ValidationError`. The longest history of one message fits. The response can contain each
 * text several times: its size is limited by `messageTexts`.
 */
const MAX_BYTES = TOTALS.versions_per_message_total_bytes.max;
/**
 * Maximum total size, in bytes, of the snapshots in one response. If they exceed it, the field has a `ValidationError`. For
 * each snapshot, the whole content is added to the size, even if a move made the snapshot.
 */
const MAX_SNAPSHOT_BYTES = 2 * MAX_BYTES;

const tooLong = () => new ValidationError('The edit histories are too large for one reply. Request fewer.');

/**
 * Loads the stored edits and moves of messages by message id, in any order. If an old history exceeds the limits in `TOTALS`,
 * some of its edits are omitted.
 *
 * @throws ValidationError if the histories of several messages together exceed `MAX_BYTES`.
 */
export const editsOf = perOperation((ctx) => {
  let loadedBytes = 0;
  let last: Promise<unknown> = Promise.resolve();
  const load = async (ids: readonly bigint[]) => {
    const { work, organizationId } = signedIn(ctx);
    // The first history of an operation always fits, so its size need not be read.
    if (ids.length > 1 || loadedBytes > 0) {
      if (loadedBytes + (await bytesOfEdits(work.db, organizationId, ids)) > MAX_BYTES) throw tooLong();
    }
    const rows = await readEdits(work.db, organizationId, ids, { readsHtml: true });
    for (const row of rows) loadedBytes += bytesIn(row);
    const byMessage = Map.groupBy(rows, ({ messageId }) => messageId);
    return ids.map((id) => byMessage.get(id) ?? []);
  };
  return new DataLoader<bigint, readonly StoredEdit[], string>(
    (ids) => {
      // Batches are loaded one after another, so that each counts the bytes of those before it.
      const own = last.then(() => load(ids));
      last = own.catch(() => {});
      return own;
    },
    { cacheKeyFn: String },
  );
});

const bytesIn = ({ prevContent, prevRenderedContent }: StoredEdit): number =>
  Buffer.byteLength(prevContent ?? '') + Buffer.byteLength(prevRenderedContent ?? '');

/** Limits the total size of the edit-history snapshots that a GraphQL operation returns. */
export const snapshotBudget = perOperation(() => {
  let left = MAX_SNAPSHOT_BYTES;
  return {
    /**
     * Adds the size of snapshots to the total of the operation.
     *
     * @throws ValidationError if the total exceeds `MAX_SNAPSHOT_BYTES`.
     */
    take(snapshots: readonly Snapshot[]): void {
      for (const { state } of snapshots)
        left -= Buffer.byteLength(state.content) + Buffer.byteLength(state.renderedContent);
      if (left < 0) throw tooLong();
    },
  };
});

/**
 * State that all comparisons of versions in an operation share: the time slice after which they yield to the event loop, and
 * the limit of their total work.
 */
export const comparisons = perOperation(() => ({ work: new LongWork(), budget: sharedBudget() }));
