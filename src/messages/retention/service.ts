import type { App } from '../../access/context.ts';
import { holdRoles, holdRolesAndShareChannels } from '../../channels/locks.ts';
import { transact } from '../../events/log.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { tryLockKind } from '../../platform/db/advisory-lock.ts';
import type { Tx } from '../../platform/db/client.ts';
import { databaseNow } from '../../platform/db/clock.ts';
import { retention } from '../../platform/metrics.ts';
import { deleteMessages } from '../edits/delete.ts';
import { eraseCopies } from '../edits/traces.ts';
import {
  BATCH,
  deleteExpiredReplies,
  type Expired,
  expiredAmong,
  expiredCopies,
  expiredInRange,
  expiredMessages,
  realmIdsWithRetention,
} from './expired.ts';

type RetentionContext = Pick<App, 'config' | 'database' | 'db' | 'hub' | 'log' | 'now'>;

/** Time after which all messages of an organization are compared again, in milliseconds. */
const COMPARE_ALL_MS = 3_600_000;

/**
 * For each organization, the time by `performance.now()` at which all messages were last compared with their limits. Processes
 * have one each.
 */
export type Compared = Map<number, number>;

/** An organization whose messages are being compared in the current pass. */
interface Pending {
  readonly realmId: number;
  /** Id up to which all messages were compared. Undefined while only the oldest messages are. */
  readonly after?: number;
}

/** Result of deleting one batch in one organization. */
interface Batch {
  readonly deleted: number;
  /** Seconds by which the most overdue message exceeded its limit. 0 if no message was deleted. */
  readonly overdueSeconds: number;
  /** Next batch of the organization in this pass. Undefined if the pass has ended for the organization. */
  readonly next: Pending | undefined;
}

/**
 * Deletes all messages that are older than the retention limit of their channel or organization. Works in batches that
 * alternate between organizations. Each batch is a transaction, so a process that is killed loses nothing.
 *
 * The oldest messages are compared first, which finds all expired messages if their times are in the order of their ids. Clocks
 * of nodes, restored backups and changes in the database can break the order. So if the organization is due, all messages are
 * compared afterwards, in ranges.
 *
 * @param pause Called after each batch with its duration in milliseconds. Returns whether to continue.
 * @param compared Determines the organizations that are due: those without an entry, or with one older than an hour. Is updated.
 * Without it, only the oldest messages are compared.
 * @throws The error of the last batch that failed, after all organizations were processed.
 */
export async function deleteExpired(
  app: RetentionContext,
  pause: (batchMs: number) => Promise<boolean> = async () => true,
  compared?: Compared,
): Promise<void> {
  const realmIds = await realmIdsWithRetention(app.db);
  if (compared !== undefined) forgetOthers(compared, realmIds);
  let pending: Pending[] = realmIds.map((realmId) => ({ realmId }));
  let failure: unknown;
  while (pending.length > 0) {
    const remaining: Pending[] = [];
    let overdueSeconds = 0;
    for (const current of pending) {
      const began = performance.now();
      try {
        const batch = await deleteNext(app, current, compared);
        retention.deleted.inc(batch.deleted);
        overdueSeconds = Math.max(overdueSeconds, batch.overdueSeconds);
        if (batch.next !== undefined) remaining.push(batch.next);
      } catch (error) {
        // A failure in one organization does not stop the deletions in other organizations.
        failure = error;
        app.log.error({ err: error, realm: current.realmId }, 'message retention failed');
      }
      if (!(await pause(performance.now() - began))) return;
    }
    retention.overdueSeconds.set(overdueSeconds);
    pending = remaining;
  }
  if (failure !== undefined) throw failure;
  retention.passes.inc();
}

/** Removes organizations without a limit, so that all messages are compared as soon as they have one again. */
function forgetOthers(compared: Compared, realmIds: readonly number[]): void {
  const limited = new Set(realmIds);
  for (const realmId of compared.keys()) if (!limited.has(realmId)) compared.delete(realmId);
}

/** Deletes one batch of an organization: of its oldest messages, or of the range after those already compared. */
async function deleteNext(app: RetentionContext, current: Pending, compared: Compared | undefined): Promise<Batch> {
  const { realmId, after } = current;
  if (after === undefined) {
    const batch = await deleteBatch(app, realmId, expiredMessages);
    if (batch === null) return NOTHING;
    const isDue = performance.now() - (compared?.get(realmId) ?? Number.NEGATIVE_INFINITY) >= COMPARE_ALL_MS;
    const all = compared !== undefined && isDue ? { realmId, after: 0 } : undefined;
    return { ...batch, next: batch.hasMore ? current : all };
  }
  const realm = await app.db.realm.findUniqueOrThrow({ where: { id: realmId } });
  // Reads without a lock, so that changes of the organization do not wait. `deleteBatch` compares the messages again.
  const { expired, last } = await expiredInRange(app.db, realm, await databaseNow(app), after);
  if (last === null) {
    compared?.set(realmId, performance.now());
    return NOTHING;
  }
  const next = { realmId, after: last };
  if (expired.length === 0) return { ...NOTHING, next };
  const batch = await deleteBatch(app, realmId, async () => expired);
  return batch === null ? NOTHING : { ...batch, next };
}

/** Result if nothing was deleted and the pass has ended for the organization. If it is due, the next pass tries again. */
const NOTHING: Batch = { deleted: 0, overdueSeconds: 0, next: undefined };

/**
 * Deletes one batch of messages, of copies of messages deleted earlier, and of stored responses.
 *
 * The limits are read under the locks that changes of limits take. So no message is deleted after its limit was removed.
 *
 * @param find Returns messages that may have expired.
 * @returns Null, without deleting anything, if another node is deleting in this organization. `hasMore` is whether another batch
 * may find more messages, copies or responses to delete.
 */
async function deleteBatch(
  app: RetentionContext,
  realmId: number,
  find: (tx: Tx, realm: Realm, now: Date) => Promise<readonly Expired[]>,
): Promise<(Omit<Batch, 'next'> & { readonly hasMore: boolean }) | null> {
  const now = await databaseNow(app);
  return transact({ app, realmId }, async (tx, emit) => {
    if (!(await tryLockKind(tx, 'message_retention', realmId))) return null;
    await holdRoles(tx, realmId);
    const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
    const found = await find(tx, realm, now);
    const channelIds = [...new Set(found.flatMap(({ channelId }) => channelId ?? []))];
    if (channelIds.length > 0) await holdRolesAndShareChannels(tx, realmId, channelIds);
    const ids = found.map(({ id }) => id);
    const expired = found.length === 0 ? [] : await expiredAmong(tx, realm, now, ids);
    const place = { realm, now, deleter: null, keepsCopy: false };
    const deleted = await deleteMessages(
      tx,
      emit,
      place,
      expired.map(({ id }) => id),
    );
    const copies = await expiredCopies(tx, realm, now);
    await eraseCopies(tx, emit, realmId, copies);
    const replies = await deleteExpiredReplies(tx, realm, now);
    return {
      deleted,
      overdueSeconds: Math.max(0, ...expired.map((message) => message.overdueSeconds)),
      hasMore: deleted > 0 || copies.length === BATCH || replies === BATCH,
    };
  });
}
