import { Prisma, type Reaction } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { fieldsOf } from '../../platform/db/columns.ts';
import { readRows } from '../../platform/db/rows.ts';
import {
  type CountedEmoji,
  type EventEmoji,
  MAX_EVENT_REACTIONS,
  MAX_GROUP_USERS,
  type ReactionGroup,
  toReactionGroup,
} from './groups.ts';

type EmojiRow = CountedEmoji & { readonly message_id: bigint };

/**
 * Reads the reactions to each message, in one group per emoji. Returns a function that takes a message id and one of
 * `viewerIds`, and returns the groups for this viewer. The groups are in the order in which their emoji were first used.
 */
export async function readReactionGroups(
  db: SqlClient,
  organizationId: number,
  viewerIds: readonly number[],
  messageIds: readonly number[],
): Promise<(messageId: number, viewerId: number) => readonly ReactionGroup[]> {
  const rows = await readRows<EmojiRow>(
    db,
    Prisma.sql`
    SELECT message_id, reaction_type, emoji_code, (array_agg(emoji_name ORDER BY id))[1] AS emoji_name,
           count(*)::int AS count, (array_agg(user_id ORDER BY id))[1:${MAX_GROUP_USERS}::int]
             || COALESCE(array_agg(user_id) FILTER (WHERE user_id = ANY(${[...viewerIds]}::int[])), '{}') AS user_ids
    FROM reaction WHERE realm_id = ${organizationId} AND message_id = ANY(${[...messageIds]}::bigint[])
    GROUP BY message_id, reaction_type, emoji_code ORDER BY min(id)`,
  );
  const byMessage = Map.groupBy(rows, ({ message_id }) => Number(message_id));
  return (messageId, viewerId) => (byMessage.get(messageId) ?? []).map((row) => toReactionGroup(row, viewerId));
}

const REACTION = fieldsOf('r', 'Reaction');

/**
 * Reads the reactions to each message. Returns a function that takes a message id and returns the reactions to it, oldest
 * first.
 */
export async function readReactionsOf(
  db: SqlClient,
  organizationId: number,
  messageIds: readonly number[],
): Promise<(messageId: number) => readonly Reaction[]> {
  const rows = await readRows<Reaction>(
    db,
    Prisma.sql`
      SELECT ${REACTION} FROM reaction r
      WHERE r.realm_id = ${organizationId} AND r.message_id = ANY(${[...messageIds]}::bigint[]) ORDER BY r.id`,
  );
  const byMessage = Map.groupBy(rows, ({ messageId }) => Number(messageId));
  return (messageId) => byMessage.get(messageId) ?? [];
}

/** All reactions to a message, in the form that events contain. Null if the message has more than `MAX_EVENT_REACTIONS`. */
export type EventReactions = readonly EventEmoji[] | null;

/** Builds an SQL expression whose value is the `EventReactions` of a message. */
export const eventReactions = (organizationId: number, messageId: bigint | number) => Prisma.sql`(
  SELECT CASE WHEN COALESCE(sum(count), 0) <= ${MAX_EVENT_REACTIONS} THEN
           COALESCE(jsonb_agg(to_jsonb(emoji) ORDER BY ids[1]), '[]') END
  FROM (
    SELECT reaction_type, emoji_code, (array_agg(emoji_name ORDER BY id))[1] AS emoji_name, count(*)::int AS count,
           array_agg(user_id ORDER BY id) AS user_ids, array_agg(id ORDER BY id) AS ids
    FROM (
      SELECT * FROM reaction WHERE realm_id = ${organizationId} AND message_id = ${messageId} LIMIT ${MAX_EVENT_REACTIONS + 1}
    ) AS known GROUP BY reaction_type, emoji_code
  ) AS emoji)`;

interface Held {
  /** Number of the user's reactions to the message. */
  readonly own: number;
  /** Number of all reactions to the message. */
  readonly all: number;
  /** Number of different emoji on the message. */
  readonly emoji: number;
  readonly told: EventReactions;
}

/** Reads the numbers of reactions and of emoji on a message, and all of its reactions in the form that events contain. */
export async function readReactions(
  db: SqlClient,
  {
    organizationId,
    messageId,
    userId,
  }: { readonly organizationId: number; readonly messageId: bigint; readonly userId: number },
): Promise<Held> {
  const [held] = await readRows<Held>(
    db,
    Prisma.sql`
    SELECT count(*) FILTER (WHERE user_id = ${userId})::int AS own, count(*)::int AS "all",
           count(DISTINCT (reaction_type, emoji_code))::int AS emoji, ${eventReactions(organizationId, messageId)} AS told
    FROM reaction WHERE realm_id = ${organizationId} AND message_id = ${messageId}`,
  );
  return held ?? { own: 0, all: 0, emoji: 0, told: [] };
}
