import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { receivedBy } from '../access.ts';

/** Maximum number of subscribers of a channel for typing notifications. In larger channels none are sent. */
const MAX_SUBSCRIBERS = 100;

/** SQL condition that the user `u` receives typing notifications. True for users who have not changed the setting. */
const WILLING = Prisma.sql`COALESCE((u.settings->>'receives_typing_notifications')::boolean, true)`;

/**
 * Returns the ids of the channel's subscribers who receive typing notifications. Empty if the channel has too many subscribers.
 *
 * @param messageId If not null, only users who received this message are included.
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

/** Returns the ids of the active users among `userIds` who receive typing notifications, ascending. */
export async function willingAmong(db: SqlClient, realmId: number, userIds: readonly number[]): Promise<number[]> {
  const rows = await db.$queryRaw<{ id: number }[]>`
    SELECT u.id FROM user_account u
    WHERE u.realm_id = ${realmId} AND u.id = ANY(${[...userIds]}) AND u.is_active AND ${WILLING} ORDER BY u.id`;
  return rows.map(({ id }) => id);
}
