import type { Runtime } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { type NotificationKey, validNotifications } from './valid-notifications.ts';

/** Number of notifications that one call examines. Further ones are obsolete when they are delivered, or expire. */
const AT_ONCE = 5_000;

/**
 * Withdraws notifications that have become obsolete, for example because the message was read or can no longer be
 * read: those that no device can have received are deleted, and the others are removed from the devices.
 *
 * @param touched Users who read messages or lost access, and messages that were edited, moved or deleted.
 * @returns Whether devices are to remove a notification.
 */
export async function withdraw(
  tx: Tx,
  app: Pick<Runtime, 'now'>,
  organizationId: number,
  { userIds, messageIds }: { readonly userIds: readonly number[]; readonly messageIds: readonly number[] },
): Promise<boolean> {
  if (userIds.length + messageIds.length === 0) return false;
  const rows = await readRows<NotificationKey & { readonly id: bigint }>(
    tx,
    Prisma.sql`
    SELECT n.id, n.user_id AS "userId", n.message_id AS "messageId", n.transport FROM notification n
    WHERE n.realm_id = ${organizationId} AND n.user_id = ANY (${[...userIds]}::int[]) AND NOT n.is_removal
    UNION
    SELECT n.id, n.user_id, n.message_id, n.transport FROM notification n
    WHERE n.realm_id = ${organizationId} AND n.message_id = ANY (${[...messageIds]}::bigint[]) AND NOT n.is_removal
    LIMIT ${AT_ONCE}`,
  );
  if (rows.length === 0) return false;
  const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  const valid = await validNotifications(tx, app, organization, rows);
  const obsolete = rows.filter((_row, i) => valid[i] === undefined).map(({ id }) => id);
  return withdrawAll(tx, organizationId, obsolete, app.now());
}

/**
 * Withdraws the given notifications. If a delivery is in progress, the removal follows after it or after its lease. Otherwise a
 * device could show the notification after its removal.
 *
 * @returns Whether devices are to remove a notification.
 */
async function withdrawAll(tx: Tx, organizationId: number, ids: readonly bigint[], now: Date): Promise<boolean> {
  if (ids.length === 0) return false;
  await tx.$executeRaw`
    DELETE FROM notification WHERE realm_id = ${organizationId} AND id = ANY (${[...ids]}::bigint[])
      AND (attempts = 0 OR transport = 'email')`;
  const count = await tx.$executeRaw`
    UPDATE notification SET is_removal = true, device_ids = '{}', next_attempt_at = COALESCE(next_attempt_at, ${now}::timestamptz)
    WHERE realm_id = ${organizationId} AND id = ANY (${[...ids]}::bigint[])`;
  return count > 0;
}
