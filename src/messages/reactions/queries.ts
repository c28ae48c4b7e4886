import type { SqlClient } from '../../platform/db/client.ts';

/** How many reactions a user has made to a message, and how many different emoji there are on it. */
export async function countReactions(
  db: SqlClient,
  realmId: number,
  messageId: bigint,
  userId: number,
): Promise<{ readonly own: number; readonly emoji: number }> {
  const [held] = await db.$queryRaw<{ own: number; emoji: number }[]>`
    SELECT count(*) FILTER (WHERE user_id = ${userId})::int AS own,
           count(DISTINCT (reaction_type, emoji_code))::int AS emoji
    FROM reaction WHERE realm_id = ${realmId} AND message_id = ${messageId}`;
  return held ?? { own: 0, emoji: 0 };
}
