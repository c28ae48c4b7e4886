import type { SqlClient } from '../../platform/db/client.ts';

/** One emoji on a message, and who has put it there. */
export interface ReactionGroup {
  /** The name it was first chosen by. */
  readonly emojiName: string;
  readonly emojiCode: string;
  readonly reactionType: string;
  readonly count: number;
  /** The first of them, in the order in which they came. */
  readonly userIds: readonly number[];
  readonly viewerHasReacted: boolean;
}

/** How many of those who have put an emoji on a message are told of. Our choice: as many as a line of names takes. */
export const MAX_GROUP_USERS = 10;

interface GroupRow {
  readonly message_id: bigint;
  readonly emoji_name: string;
  readonly emoji_code: string;
  readonly reaction_type: string;
  readonly count: number;
  readonly user_ids: number[];
  readonly viewer_ids: number[];
}

/** The emoji on each of the messages, the one that came first before the others, as each of the viewers has them. */
export async function readReactionGroups(
  db: SqlClient,
  realmId: number,
  viewerIds: readonly number[],
  messageIds: readonly number[],
): Promise<(messageId: number, viewerId: number) => readonly ReactionGroup[]> {
  const rows = await db.$queryRaw<GroupRow[]>`
    SELECT message_id, reaction_type, emoji_code, (array_agg(emoji_name ORDER BY id))[1] AS emoji_name,
           count(*)::int AS count, (array_agg(user_id ORDER BY id))[1:${MAX_GROUP_USERS}::int] AS user_ids,
           COALESCE(array_agg(user_id) FILTER (WHERE user_id = ANY(${[...viewerIds]}::int[])), '{}') AS viewer_ids
    FROM reaction WHERE realm_id = ${realmId} AND message_id = ANY(${[...messageIds]}::bigint[])
    GROUP BY message_id, reaction_type, emoji_code ORDER BY min(id)`;
  const byMessage = Map.groupBy(rows, ({ message_id }) => Number(message_id));
  return (messageId, viewerId) =>
    (byMessage.get(messageId) ?? []).map((row) => ({
      ...{ emojiName: row.emoji_name, emojiCode: row.emoji_code, reactionType: row.reaction_type },
      ...{ count: row.count, userIds: row.user_ids, viewerHasReacted: row.viewer_ids.includes(viewerId) },
    }));
}

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
