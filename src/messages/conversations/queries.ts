import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { inOrder, isWithin, type Keyset, type SortColumn } from '../../platform/db/keyset.ts';
import { readRows } from '../../platform/db/rows.ts';
import { isRowId } from '../../platform/ids.ts';

/** A direct conversation, as listed for one of its members. */
export interface Conversation {
  readonly id: number;
  /** Ids of all members of the conversation, ascending. */
  readonly memberIds: readonly number[];
  /** Id of the last message. */
  readonly lastId: number;
}

/** Fields by which a list of conversations can be sorted. */
export type ConversationField = 'lastMessage' | 'id';

/** Bounds and order of a page of conversations. */
export interface ConversationPage extends Keyset {
  readonly field: ConversationField;
  /** If given, the page contains only conversations with these ids. */
  readonly ids?: readonly number[] | undefined;
}

interface ConversationRow {
  readonly id: number;
  readonly member_ids: number[];
  readonly last_id: bigint;
}

const ID = Prisma.sql`v.id`;
const COLUMNS: Readonly<Record<ConversationField, SortColumn>> = {
  lastMessage: { key: Prisma.sql`last.id` },
  id: { key: Prisma.sql`v.id::bigint` },
};

/** Ids of the user whose conversations are listed, and of their organization. */
export interface Participant {
  readonly organizationId: number;
  readonly userId: number;
}

/**
 * Reads the conversations of a user that contain at least one message, sorted as `page` requests. Each conversation costs one
 * index lookup, whatever its number of messages.
 */
export async function readConversations(
  db: SqlClient,
  { organizationId, userId }: Participant,
  { field, ids, ...page }: ConversationPage,
): Promise<Conversation[]> {
  const column = COLUMNS[field];
  const rows = await readRows<ConversationRow>(
    db,
    Prisma.sql`
    SELECT v.id, v.member_ids, last.id AS last_id FROM conversation_member cm
    JOIN conversation v ON v.realm_id = cm.realm_id AND v.id = cm.conversation_id
    CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE m.realm_id = ${organizationId} AND m.conversation_id = cm.conversation_id ORDER BY m.id DESC LIMIT 1
    ) AS last
    WHERE cm.realm_id = ${organizationId} AND cm.user_id = ${userId} AND ${isWithin(page, column, ID)}
      AND (${ids === undefined} OR cm.conversation_id = ANY(${[...(ids ?? [])]}::int[]))
    ORDER BY ${inOrder(page, column, ID)} LIMIT ${page.limit}::bigint`,
  );
  return rows.map((row) => ({ id: row.id, memberIds: row.member_ids, lastId: Number(row.last_id) }));
}

/** Returns the number of the user's conversations that contain at least one message. */
export async function countConversations(db: SqlClient, { organizationId, userId }: Participant): Promise<number> {
  const [row] = await readRows<{ count: bigint }>(
    db,
    Prisma.sql`
    SELECT count(*) FROM conversation_member cm
    WHERE cm.realm_id = ${organizationId} AND cm.user_id = ${userId} AND EXISTS (
      SELECT FROM message m WHERE m.realm_id = ${organizationId} AND m.conversation_id = cm.conversation_id)`,
  );
  return Number(row?.count ?? 0);
}

/** Returns whether the user is a member of the conversation, and it contains at least one message. */
export async function isOwnConversation(
  db: SqlClient,
  participant: Participant,
  conversationId: number,
): Promise<boolean> {
  if (!isRowId(conversationId)) return false;
  const found = await readConversations(db, participant, { ...WHOLE, ids: [conversationId] });
  return found.length > 0;
}

const WHOLE = { field: 'id', above: undefined, below: undefined, descending: false, limit: 1 } as const;
