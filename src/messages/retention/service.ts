import type { App } from '../../access/context.ts';
import { holdRoles, holdRolesAndShareChannels } from '../../channels/locks.ts';
import { transact } from '../../events/log.ts';
import { tryLockKind } from '../../platform/db/advisory-lock.ts';
import { databaseNow } from '../../platform/db/clock.ts';
import { retention } from '../../platform/metrics.ts';
import { deleteMessages } from '../edits/delete.ts';
import { eraseCopies } from '../edits/traces.ts';
import {
  BATCH,
  deleteExpiredReplies,
  expiredAmong,
  expiredCopies,
  expiredMessages,
  realmIdsWithRetention,
} from './expired.ts';

type RetentionContext = Pick<App, 'config' | 'database' | 'db' | 'hub' | 'log' | 'now'>;

/** Result of deleting one batch in one organization. */
interface Batch {
  readonly deleted: number;
  /** Seconds by which the most overdue message exceeded its limit. 0 if no message was deleted. */
  readonly overdueSeconds: number;
  /** Whether another batch may find more messages, copies or responses to delete. */
  readonly hasMore: boolean;
}

/**
 * Deletes all messages that are older than the retention limit of their channel or organization. Works in batches that
 * alternate between organizations. Each batch is a transaction, so a process that is killed loses nothing.
 *
 * @param pause Called after each batch with its duration in milliseconds. Returns whether to continue.
 * @throws The error of the last batch that failed, after all organizations were processed.
 */
export async function deleteExpired(
  app: RetentionContext,
  pause: (batchMs: number) => Promise<boolean> = async () => true,
): Promise<void> {
  let realmIds = await realmIdsWithRetention(app.db);
  let failure: unknown;
  while (realmIds.length > 0) {
    const remaining: number[] = [];
    let overdueSeconds = 0;
    for (const realmId of realmIds) {
      const began = performance.now();
      try {
        const batch = await deleteBatch(app, realmId);
        retention.deleted.inc(batch.deleted);
        overdueSeconds = Math.max(overdueSeconds, batch.overdueSeconds);
        if (batch.hasMore) remaining.push(realmId);
      } catch (error) {
        // A failure in one organization does not stop the deletions in other organizations.
        failure = error;
        app.log.error({ err: error, realm: realmId }, 'message retention failed');
      }
      if (!(await pause(performance.now() - began))) return;
    }
    retention.overdueSeconds.set(overdueSeconds);
    realmIds = remaining;
  }
  if (failure !== undefined) throw failure;
  retention.passes.inc();
}

/**
 * Deletes one batch of messages, of copies of messages deleted earlier, and of stored responses. If another node is deleting in
 * this organization, deletes nothing.
 *
 * The limits are read under the locks that changes of limits take. So no message is deleted after its limit was removed.
 */
async function deleteBatch(app: RetentionContext, realmId: number): Promise<Batch> {
  const now = await databaseNow(app);
  return transact({ app, realmId }, async (tx, emit) => {
    if (!(await tryLockKind(tx, 'message_retention', realmId)))
      return { deleted: 0, overdueSeconds: 0, hasMore: false };
    await holdRoles(tx, realmId);
    const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
    const found = await expiredMessages(tx, realm, now);
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
