import { Prisma, type Reaction } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { fieldsOf, REACTION_COLUMNS } from '../../platform/db/columns.ts';
import { readRows } from '../../platform/db/rows.ts';
import {
  type CountedEmoji,
  MAX_GROUP_USERS,
  MAX_TOLD_REACTIONS,
  type ReactionGroup,
  type ToldEmoji,
  toReactionGroup,
} from './groups.ts';

type EmojiRow = CountedEmoji & { readonly message_id: bigint };

/** The emoji on each of the messages, the one that came first before the others, as each of the viewers has them. */
export async function readReactionGroups(
  db: SqlClient,
  realmId: number,
  viewerIds: readonly number[],
  messageIds: readonly number[],
): Promise<(messageId: number, viewerId: number) => readonly ReactionGroup[]> {
  const rows = await readRows<EmojiRow>(
    db,
    Prisma.sql`
    SELECT message_id, reaction_type, emoji_code, (array_agg(emoji_name ORDER BY id))[1] AS emoji_name,
           count(*)::int AS count, (array_agg(user_id ORDER BY id))[1:${MAX_GROUP_USERS}::int]
             || COALESCE(array_agg(user_id) FILTER (WHERE user_id = ANY(${[...viewerIds]}::int[])), '{}') AS user_ids
    FROM reaction WHERE realm_id = ${realmId} AND message_id = ANY(${[...messageIds]}::bigint[])
    GROUP BY message_id, reaction_type, emoji_code ORDER BY min(id)`,
  );
  const byMessage = Map.groupBy(rows, ({ message_id }) => Number(message_id));
  return (messageId, viewerId) => (byMessage.get(messageId) ?? []).map((row) => toReactionGroup(row, viewerId));
}

const REACTION = fieldsOf('r', REACTION_COLUMNS);

/** The reactions to each of the messages, the oldest first. */
export async function readReactionsOf(
  db: SqlClient,
  realmId: number,
  messageIds: readonly number[],
): Promise<(messageId: number) => readonly Reaction[]> {
  const rows = await readRows<Reaction>(
    db,
    Prisma.sql`
      SELECT ${REACTION} FROM reaction r
      WHERE r.realm_id = ${realmId} AND r.message_id = ANY(${[...messageIds]}::bigint[]) ORDER BY r.id`,
  );
  const byMessage = Map.groupBy(rows, ({ messageId }) => Number(messageId));
  return (messageId) => byMessage.get(messageId) ?? [];
}

/** All that is on a message, as an event about it tells it; null where that is too much. */
export type ToldReactions = readonly ToldEmoji[] | null;

/** `ToldReactions` of a message, as an expression. */
export const toldReactions = (realmId: number, messageId: bigint | number) => Prisma.sql`(
  SELECT CASE WHEN COALESCE(sum(count), 0) <= ${MAX_TOLD_REACTIONS} THEN
           COALESCE(jsonb_agg(to_jsonb(emoji) ORDER BY ids[1]), '[]') END
  FROM (
    SELECT reaction_type, emoji_code, (array_agg(emoji_name ORDER BY id))[1] AS emoji_name, count(*)::int AS count,
           array_agg(user_id ORDER BY id) AS user_ids, array_agg(id ORDER BY id) AS ids
    FROM (
      SELECT * FROM reaction WHERE realm_id = ${realmId} AND message_id = ${messageId} LIMIT ${MAX_TOLD_REACTIONS + 1}
    ) AS known GROUP BY reaction_type, emoji_code
  ) AS emoji)`;

interface Held {
  /** How many reactions of the user there are on the message. */
  readonly own: number;
  /** How many different emoji are on it. */
  readonly emoji: number;
  readonly told: ToldReactions;
}

/** What is on a message, of a user and of all. */
export async function readReactions(
  db: SqlClient,
  { realmId, messageId, userId }: { readonly realmId: number; readonly messageId: bigint; readonly userId: number },
): Promise<Held> {
  const [held] = await readRows<Held>(
    db,
    Prisma.sql`
    SELECT count(*) FILTER (WHERE user_id = ${userId})::int AS own,
           count(DISTINCT (reaction_type, emoji_code))::int AS emoji, ${toldReactions(realmId, messageId)} AS told
    FROM reaction WHERE realm_id = ${realmId} AND message_id = ${messageId}`,
  );
  return held ?? { own: 0, emoji: 0, told: [] };
}
