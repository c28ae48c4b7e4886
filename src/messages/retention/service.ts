import type { App } from '../../access/context.ts';
import { holdRoles, holdRolesAndShareChannels } from '../../channels/locks.ts';
import { transact } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { tryLockKind } from '../../platform/db/advisory-lock.ts';
import type { Tx } from '../../platform/db/client.ts';
import { databaseNow } from '../../platform/db/clock.ts';
import { retention } from '../../platform/metrics.ts';
import { deleteMessages } from '../edits/delete.ts';
import { eraseCopies } from '../edits/traces.ts';
import {
  BATCH,
  type Expired,
  eraseExpiredReplies,
  expiredAmong,
  expiredCopies,
  expiredInRange,
  expiredMessages,
  organizationIdsWithRetention,
} from './expired.ts';

type RetentionContext = Pick<App, 'database' | 'db' | 'log' | 'now' | 'work'>;

/** Minimum time between two comparisons of all messages of an organization with their retention limits, in milliseconds. */
const COMPARE_ALL_MS = 3_600_000;

/**
 * For each organization, the time by `performance.now()` at which all messages were last compared with their retention limits.
 * Each process has its own map.
 */
export type Compared = Map<number, number>;

/** An organization in which the current call of `deleteExpired` (a pass) still has work to do. */
interface Pending {
  readonly organizationId: number;
  /** Id up to which the messages of the organization were compared. Undefined while only the oldest messages are compared. */
  readonly after?: number;
}

/** Result of deleting one batch of expired messages of an organization. */
interface BatchResult {
  readonly deleted: number;
  /** Seconds by which the most overdue message exceeded its limit. 0 if no message was deleted. */
  readonly overdueSeconds: number;
  /** Next batch of the same organization in this pass. Undefined if nothing more is done for the organization in this pass. */
  readonly next: Pending | undefined;
}

/**
 * Deletes all messages that are older than the retention limit of their channel or organization. Works in batches that
 * alternate between organizations. Each batch is a transaction, so a process that is killed loses nothing.
 *
 * First, the oldest messages are compared with their limits. This finds all expired messages if their times are in the order of
 * their ids. Clocks of nodes, restored backups and changes in the database can break this order. So if the organization is due,
 * all messages are compared afterwards, in ranges.
 *
 * @param pause Called after each batch with its duration in milliseconds. Returns whether to continue.
 * @param compared Times of the last comparisons of all messages. This function updates them. An organization is due if it has
 *   no entry, or an entry older than an hour. If the argument is absent, only the oldest messages are compared.
 * @throws The error of the last batch that failed, after all organizations were processed.
 */
export async function deleteExpired(
  app: RetentionContext,
  pause: (batchMs: number) => Promise<boolean> = async () => true,
  compared?: Compared,
): Promise<void> {
  const organizationIds = await organizationIdsWithRetention(app.db);
  if (compared !== undefined) removeUnlimited(compared, organizationIds);
  let pending: Pending[] = organizationIds.map((organizationId) => ({ organizationId }));
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
        app.log.error({ err: error, organization: current.organizationId }, 'message retention failed');
      }
      if (!(await pause(performance.now() - began))) return;
    }
    retention.overdueSeconds.set(overdueSeconds);
    pending = remaining;
  }
  if (failure !== undefined) throw failure;
  retention.passes.inc();
}

/**
 * Removes the entries of organizations without a retention limit. So when such an organization gets a limit again, all of its
 * messages are compared.
 */
function removeUnlimited(compared: Compared, organizationIds: readonly number[]): void {
  const limited = new Set(organizationIds);
  for (const organizationId of compared.keys()) if (!limited.has(organizationId)) compared.delete(organizationId);
}

/** Deletes one batch of expired messages of an organization, among its oldest messages or in the next range of ids. */
async function deleteNext(
  app: RetentionContext,
  current: Pending,
  compared: Compared | undefined,
): Promise<BatchResult> {
  const { organizationId, after } = current;
  if (after === undefined) {
    const batch = await deleteBatch(app, organizationId, expiredMessages);
    if (batch === null) return NOTHING;
    const isDue = performance.now() - (compared?.get(organizationId) ?? Number.NEGATIVE_INFINITY) >= COMPARE_ALL_MS;
    const all = compared !== undefined && isDue ? { organizationId, after: 0 } : undefined;
    return { ...batch, next: batch.hasMore ? current : all };
  }
  const organization = await app.db.organization.findUniqueOrThrow({ where: { id: organizationId } });
  // Reads without a lock, so that changes of the organization do not wait. `deleteBatch` compares the messages again.
  const { expired, last } = await expiredInRange(app.db, organization, await databaseNow(app), after);
  if (last === null) {
    compared?.set(organizationId, performance.now());
    return NOTHING;
  }
  const next = { organizationId, after: last };
  if (expired.length === 0) return { ...NOTHING, next };
  const batch = await deleteBatch(app, organizationId, async () => expired);
  return batch === null ? NOTHING : { ...batch, next };
}

/**
 * Result if nothing was deleted, and nothing more is done for the organization in this pass. If a comparison of all of its
 * messages is due, the next pass tries again.
 */
const NOTHING: BatchResult = { deleted: 0, overdueSeconds: 0, next: undefined };

/**
 * Deletes one batch of expired messages, of expired copies of messages deleted earlier, and of expired stored responses.
 *
 * The retention limits are read under the locks that changes of limits take. So no message is deleted after its limit was
 * removed.
 *
 * @param find Returns messages that may have expired.
 * @returns Null, without deleting anything, if another node is deleting in this organization. `hasMore` is whether another
 *   batch may find more messages, copies or responses to delete.
 */
async function deleteBatch(
  app: RetentionContext,
  organizationId: number,
  find: (tx: Tx, organization: Organization, now: Date) => Promise<readonly Expired[]>,
): Promise<(Omit<BatchResult, 'next'> & { readonly hasMore: boolean }) | null> {
  const now = await databaseNow(app);
  return transact({ work: app.work, organizationId }, async (tx, emit) => {
    if (!(await tryLockKind(tx, 'message_retention', organizationId))) return null;
    await holdRoles(tx, organizationId);
    const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
    const found = await find(tx, organization, now);
    const channelIds = [...new Set(found.flatMap(({ channelId }) => channelId ?? []))];
    if (channelIds.length > 0) await holdRolesAndShareChannels(tx, organizationId, channelIds);
    const ids = found.map(({ id }) => id);
    const expired = found.length === 0 ? [] : await expiredAmong(tx, organization, now, ids);
    const place = { organization, now, deleter: null, keepsCopy: false };
    const deleted = await deleteMessages(
      tx,
      emit,
      place,
      expired.map(({ id }) => id),
    );
    const copies = await expiredCopies(tx, organization, now);
    await eraseCopies(tx, emit, organizationId, copies);
    const replies = await eraseExpiredReplies(tx, organization, now);
    return {
      deleted: deleted.length,
      overdueSeconds: Math.max(0, ...expired.map((message) => message.overdueSeconds)),
      hasMore: deleted.length > 0 || copies.length === BATCH || replies === BATCH,
    };
  });
}
