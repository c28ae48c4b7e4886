import type { SqlClient } from '../../platform/db/client.ts';

/** A direct conversation of a user's. */
export interface Conversation {
  readonly id: number;
  /** Everybody who takes part, the user included, ascending. */
  readonly memberIds: readonly number[];
  /** The id of its last message. */
  readonly lastId: number;
}

/** Where a page of conversations lies, by the ids of their last messages. */
export interface ConversationPage {
  /** Ids above this one. */
  readonly above: number;
  /** Ids below this one. */
  readonly below: number;
  readonly limit: number;
  /** Whether the page is read from the one last written to, or from the other end. */
  readonly newestFirst: boolean;
  /** Only these, when given. */
  readonly ids?: readonly number[] | undefined;
}

interface ConversationRow {
  readonly id: number;
  readonly member_ids: number[];
  readonly last_id: bigint;
}

/**
 * The conversations a user takes part in and that hold a message, the one last written to first. Each costs one step into
 * an index, however many messages it holds.
 */
export async function readConversations(
  db: SqlClient,
  userId: number,
  { above, below, limit, newestFirst, ids }: ConversationPage,
): Promise<Conversation[]> {
  // In either direction by one statement: which is worth a plan of its own.
  const sign = newestFirst ? -1 : 1;
  const rows = await db.$queryRaw<ConversationRow[]>`
    SELECT v.id, v.member_ids, last.id AS last_id FROM conversation_member cm
    JOIN conversation v ON v.realm_id = cm.realm_id AND v.id = cm.conversation_id
    CROSS JOIN LATERAL (
      SELECT m.id FROM message m WHERE m.conversation_id = cm.conversation_id ORDER BY m.id DESC LIMIT 1
    ) AS last
    WHERE cm.user_id = ${userId} AND last.id > ${above}::bigint AND last.id < ${below}::bigint
      AND (${ids === undefined} OR cm.conversation_id = ANY(${[...(ids ?? [])]}::int[]))
    ORDER BY last.id * ${sign}::int LIMIT ${limit}::bigint`;
  const found = rows.map((row) => ({ id: row.id, memberIds: row.member_ids, lastId: Number(row.last_id) }));
  return newestFirst ? found : found.toReversed();
}

/** How many conversations with a message a user takes part in. */
export async function countConversations(db: SqlClient, userId: number): Promise<number> {
  const [row] = await db.$queryRaw<{ count: bigint }[]>`
    SELECT count(*) FROM conversation_member cm
    WHERE cm.user_id = ${userId} AND EXISTS (SELECT FROM message m WHERE m.conversation_id = cm.conversation_id)`;
  return Number(row?.count ?? 0);
}
