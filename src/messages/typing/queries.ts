import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { receivedBy } from '../access.ts';

/** In channels with more subscribers no typing notifications are sent. */
const MAX_SUBSCRIBERS = 100;

/** SQL for whether the user `u` receives typing notifications. Absent: the default, true. */
const WILLING = Prisma.sql`COALESCE((u.settings->>'receives_typing_notifications')::boolean, true)`;

/**
 * Returns the ids of the channel's subscribers who receive typing notifications. Empty if the channel has too many subscribers.
 *
 * @param messageId Only users who received this message. Null: all.
 */
export async function listenersOf(
  db: SqlClient,
  realmId: number,
  channelId: number,
  messageId: number | null,
): Promise<number[]> {
  const among =
    messageId === null
      ? Prisma.empty
      : Prisma.sql`AND EXISTS (SELECT FROM message m WHERE m.realm_id = ${realmId} AND m.id = ${messageId}
                               AND ${receivedBy(Prisma.sql`u.id`)})`;
  const rows = await db.$queryRaw<{ id: number; willing: boolean }[]>`
    SELECT u.id, ${WILLING} ${among} AS willing
    FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id AND u.is_active
    WHERE s.channel_id = ${channelId} AND s.active LIMIT ${MAX_SUBSCRIBERS + 1}`;
  return rows.length > MAX_SUBSCRIBERS ? [] : rows.filter(({ willing }) => willing).map(({ id }) => id);
}

/** Returns the active users among `userIds` who receive typing notifications, ascending. */
export async function willingAmong(db: SqlClient, realmId: number, userIds: readonly number[]): Promise<number[]> {
  const rows = await db.$queryRaw<{ id: number }[]>`
    SELECT u.id FROM user_account u
    WHERE u.realm_id = ${realmId} AND u.id = ANY(${[...userIds]}) AND u.is_active AND ${WILLING} ORDER BY u.id`;
  return rows.map(({ id }) => id);
}
