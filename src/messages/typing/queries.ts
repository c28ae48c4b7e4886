import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { receivedBy } from '../access.ts';

/**
 * Maximum number of subscribers of a channel in which typing notifications are sent. In channels with more subscribers, none
 * are sent.
 */
const MAX_SUBSCRIBERS = 100;

/** SQL condition that the user `u` receives typing notifications. True for users who have not changed the setting. */
const RECEIVES_TYPING = Prisma.sql`COALESCE((u.settings->>'receives_typing_notifications')::boolean, true)`;

/**
 * Returns the ids of the channel's subscribers who receive typing notifications. Empty if the channel has more than
 * `MAX_SUBSCRIBERS` subscribers.
 *
 * @param messageId If not null, only users who received this message are included.
 */
export async function typingRecipientsIn(
  db: SqlClient,
  organizationId: number,
  channelId: number,
  messageId: number | null,
): Promise<number[]> {
  const among =
    messageId === null
      ? Prisma.empty
      : Prisma.sql`AND EXISTS (SELECT FROM message m WHERE m.realm_id = ${organizationId} AND m.id = ${messageId}
                               AND ${receivedBy(organizationId, Prisma.sql`u.id`)})`;
  const rows = await db.$queryRaw<{ id: number; receives: boolean }[]>`
    SELECT u.id, ${RECEIVES_TYPING} ${among} AS receives
    FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id AND u.is_active
    WHERE s.realm_id = ${organizationId} AND s.channel_id = ${channelId} AND s.active LIMIT ${MAX_SUBSCRIBERS + 1}`;
  return rows.length > MAX_SUBSCRIBERS ? [] : rows.filter(({ receives }) => receives).map(({ id }) => id);
}

/** Returns the ids of the active users among `userIds` who receive typing notifications, ascending. */
export async function typingRecipientsAmong(
  db: SqlClient,
  organizationId: number,
  userIds: readonly number[],
): Promise<number[]> {
  const rows = await db.$queryRaw<{ id: number }[]>`
    SELECT u.id FROM user_account u
    WHERE u.realm_id = ${organizationId} AND u.id = ANY(${[...userIds]}) AND u.is_active AND ${RECEIVES_TYPING} ORDER BY u.id`;
  return rows.map(({ id }) => id);
}
