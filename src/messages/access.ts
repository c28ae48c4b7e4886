import type { Ctx, WorkCtx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { hasProtectedHistory, isOpenTo, readsChannel } from '../channels/access.ts';
import { type Channel, type Conversation, type Message, Prisma } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { joinedColumns, type QueryRow } from '../platform/db/columns.ts';
import { readRows } from '../platform/db/rows.ts';
import { NotFoundError } from '../platform/errors.ts';

/** The user whose access to messages is checked. */
export type MessageReader = Ctx['viewer'];

/** A message with its channel or conversation. */
export type PlacedMessage = Message & {
  readonly channel: Channel | null;
  readonly conversation: Conversation | null;
};

/**
 * Returns the error for a message that does not exist or that the viewer cannot read. Clients must not be able to distinguish
 * the two cases.
 */
export const invalidMessage = (id: number): NotFoundError =>
  new NotFoundError('Invalid message(s)', { type: 'Message', id, parameter: 'message_id' });

/** Returns whether a number can be a message id: a safe integer of at least 1. The database stores ids as bigint. */
export const isMessageId = (id: number): boolean => Number.isSafeInteger(id) && id >= 1;

/**
 * Builds the SQL condition that the user received the message with the table alias `m`. Users receive the messages that they
 * send, messages that are sent to a channel while they are subscribed, and messages of their conversations. The condition does
 * not check whether the user can read the message now.
 *
 * `OFFSET 0` makes the planner look up the user's membership or subscription by its key. Otherwise the planner might read the
 * user's rows in all organizations.
 *
 * @param organizationId Organization of the message and the user.
 * @param userId User id, or SQL for a column with user ids.
 */
export function receivedBy(organizationId: number, userId: number | Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(m.sender_id = ${userId} OR CASE
    WHEN m.conversation_id IS NOT NULL THEN EXISTS (
      SELECT FROM conversation_member cm
      WHERE cm.realm_id = ${organizationId} AND cm.user_id = ${userId} AND cm.conversation_id = m.conversation_id OFFSET 0)
    ELSE EXISTS (
      SELECT FROM subscription_period p
      WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND p.channel_id = m.sent_channel_id
        AND p.began_message_id < m.id AND (p.ended_message_id IS NULL OR m.id <= p.ended_message_id) OFFSET 0)
    END)`;
}

/**
 * Reads a message that the viewer can read.
 *
 * @throws NotFoundError if the message does not exist or the viewer cannot read it. The error is identical in both cases, so
 *   that it does not reveal whether the message exists.
 */
export async function accessMessage({ app, work, viewer }: Ctx, messageId: number) {
  return accessMessageIn(work.db, viewer, messageId, app.now());
}

/**
 * Reads a message that the viewer can read and whose channel is not archived. All changes of a message use this check first.
 *
 * @throws NotFoundError if the message does not exist, cannot be read, or is in an archived channel. The error is identical in
 *   all three cases, so that it does not reveal whether the message exists.
 */
export async function accessMessageToChange(
  db: Pick<Tx, 'channel' | 'userGroup' | '$queryRaw'>,
  viewer: MessageReader,
  messageId: number,
  now: Date,
): Promise<PlacedMessage> {
  const found = await findMessage(db, viewer, messageId);
  if (found === undefined || !(await mayChange(db, viewer, found, now))) throw invalidMessage(messageId);
  return found.message;
}

/**
 * Reads a message that the viewer can read, through the given client, so that the read can be part of a transaction.
 *
 * @throws NotFoundError if the message does not exist or the viewer cannot read it. The error is identical in both cases.
 */
export async function accessMessageIn(
  db: Pick<Tx, 'channel' | 'userGroup' | '$queryRaw'>,
  viewer: MessageReader,
  messageId: number,
  now: Date,
): Promise<PlacedMessage> {
  const found = await findMessage(db, viewer, messageId);
  if (found === undefined || !(await mayRead(db, viewer, found, now))) throw invalidMessage(messageId);
  return found.message;
}

/** A message and the viewer's subscription state, from which `mayRead` decides whether the viewer can read the message. */
export interface FoundMessage {
  readonly message: PlacedMessage;
  /** Whether the viewer is subscribed to the channel of the message. False for a direct message. */
  readonly isSubscribed: boolean;
}

const MESSAGE = joinedColumns('m', 'Message');
const CHANNEL = joinedColumns('c', 'Channel');
const CONVERSATION = joinedColumns('v', 'Conversation');
const PLACED = Prisma.sql`${MESSAGE.list}, ${CHANNEL.list}, ${CONVERSATION.list}`;

const PLACES = Prisma.sql`message m
  LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id
  LEFT JOIN conversation v ON v.realm_id = m.realm_id AND v.id = m.conversation_id`;

/**
 * Reads a message of the viewer's organization without checking access. Returns undefined if it does not exist. Uses one SQL
 * statement, because the ORM would need four, and every change of a message begins with this read.
 *
 * @param lock SQL clause that locks the row of the message. Default: no lock.
 */
export async function findMessage(
  db: SqlClient,
  { id, organization }: Pick<MessageReader, 'id' | 'organization'>,
  messageId: number,
  lock = Prisma.empty,
): Promise<FoundMessage | undefined> {
  if (!isMessageId(messageId)) return undefined;
  const [row] = await readRows<QueryRow>(
    db,
    Prisma.sql`
    SELECT ${PLACED}, s.active AS "isSubscribed"
    FROM ${PLACES} LEFT JOIN subscription s ON s.realm_id = ${organization.id} AND s.channel_id = m.channel_id AND s.user_id = ${id}
    WHERE m.realm_id = ${organization.id} AND m.id = ${messageId} ${lock}`,
  );
  return row === undefined ? undefined : { message: placedIn(row), isSubscribed: row['isSubscribed'] === true };
}

const placedIn = (row: QueryRow): PlacedMessage => ({
  ...MESSAGE.rowIn(row),
  channel: row['c.id'] === null ? null : CHANNEL.rowIn(row),
  conversation: row['v.id'] === null ? null : CONVERSATION.rowIn(row),
});

/** Reads the messages with the given ids, in any order. Omits those that the viewer cannot read. */
export async function readableMessages(ctx: Ctx, messageIds: readonly number[]): Promise<PlacedMessage[]> {
  const { viewer } = ctx;
  const readable = await readableByEach(ctx, [viewer], messageIds);
  return [...(readable.get(viewer.id)?.values() ?? [])];
}

/**
 * Finds the messages that each reader can read. The result is a map from reader ids to maps from message ids to messages. The
 * number of SQL statements does not grow with the number of readers or messages.
 *
 * @param readers Users of one organization.
 */
export const readableByEach = (
  { app, work: { db } }: WorkCtx,
  readers: readonly MessageReader[],
  messageIds: readonly number[],
): Promise<Map<number, Map<number, PlacedMessage>>> => readableIn(db, app, readers, messageIds);

/** Finds the messages that each reader can read, like `readableByEach`, through the given client. */
export async function readableIn(
  db: Pick<Tx, 'userGroup' | '$queryRaw'>,
  app: Pick<WorkCtx['app'], 'now'>,
  readers: readonly Pick<MessageReader, 'id' | 'role' | 'organization' | 'user'>[],
  messageIds: readonly number[],
): Promise<Map<number, Map<number, PlacedMessage>>> {
  const ids = [...new Set(messageIds)].filter(isMessageId);
  const organizationId = readers[0]?.organization.id;
  if (organizationId === undefined || ids.length === 0) return new Map();
  const readerIds = readers.map(({ id }) => id);
  const rows = await readRows<QueryRow & { readonly subscribers: readonly number[] }>(
    db,
    Prisma.sql`
    SELECT ${PLACED}, ARRAY(
      SELECT s.user_id FROM subscription s
      WHERE s.realm_id = ${organizationId} AND s.channel_id = m.channel_id AND s.active AND s.user_id = ANY(${readerIds}::int[])) AS subscribers
    FROM ${PLACES} WHERE m.realm_id = ${organizationId} AND m.id = ANY(${ids}::bigint[])`,
  );
  const found = rows.map((row) => ({ message: placedIn(row), subscribers: new Set(row.subscribers) }));
  const received = await receivedOf(
    db,
    organizationId,
    readerIds,
    found.map(({ message }) => message).filter(isProtected),
  );
  const at = app.now();
  const readable = readers.map(async (reader) => {
    const actor = await channelActor(db, reader, at);
    const theirs = found.filter(({ message, subscribers }) => {
      const { channel, conversation } = message;
      if (conversation !== null) return conversation.memberIds.includes(reader.id);
      if (channel === null || !readsChannel(actor, channel, subscribers.has(reader.id))) return false;
      return !isProtected(message) || received.has(`${reader.id} ${message.id}`);
    });
    return [reader.id, new Map(theirs.map(({ message }) => [Number(message.id), message]))] as const;
  });
  return new Map(await Promise.all(readable));
}

const isProtected = ({ channel }: PlacedMessage): boolean => channel !== null && hasProtectedHistory(channel);

/**
 * Finds the messages that each reader received. Returns one string of the form `"<reader id> <message id>"` for each pair of a
 * reader and a message that this reader received.
 */
async function receivedOf(
  db: SqlClient,
  organizationId: number,
  readerIds: readonly number[],
  messages: readonly PlacedMessage[],
): Promise<ReadonlySet<string>> {
  if (messages.length === 0) return new Set();
  const ids = messages.map(({ id }) => Number(id));
  const rows = await readRows<{ reader: number; id: bigint }>(
    db,
    Prisma.sql`
    SELECT reader.id AS reader, m.id FROM message m, unnest(${readerIds}::int[]) AS reader(id)
    WHERE m.realm_id = ${organizationId} AND m.id = ANY(${ids}::bigint[]) AND ${receivedBy(organizationId, Prisma.sql`reader.id`)}`,
  );
  return new Set(rows.map(({ reader, id }) => `${reader} ${id}`));
}

/** Returns whether the viewer can read a message that `findMessage` returned. */
export async function mayRead(
  db: Pick<Tx, 'channel' | 'userGroup' | '$queryRaw'>,
  viewer: MessageReader,
  { message, isSubscribed }: FoundMessage,
  now: Date,
): Promise<boolean> {
  const { id, channel, conversation } = message;
  if (conversation !== null) return conversation.memberIds.includes(viewer.id);
  if (channel === null) return false;
  const isOpen =
    isOpenTo(channel, isSubscribed) || readsChannel(await channelActor(db, viewer, now), channel, isSubscribed);
  if (!isOpen) return false;
  return !hasProtectedHistory(channel) || (await hasReceived(db, viewer, id));
}

/** Returns whether the viewer can read a message that `findMessage` returned, and its channel is not archived. */
export const mayChange = async (
  db: Pick<Tx, 'channel' | 'userGroup' | '$queryRaw'>,
  viewer: MessageReader,
  found: FoundMessage,
  now: Date,
): Promise<boolean> => (await mayRead(db, viewer, found, now)) && found.message.channel?.isArchived !== true;

/** Returns whether the user received the message, as defined by `receivedBy`. False if the message does not exist. */
export async function hasReceived(
  db: SqlClient,
  { id, organization }: Pick<MessageReader, 'id' | 'organization'>,
  messageId: bigint | number,
): Promise<boolean> {
  const rows = await readRows<unknown>(
    db,
    Prisma.sql`
    SELECT 1 FROM message m WHERE m.realm_id = ${organization.id} AND m.id = ${messageId} AND ${receivedBy(organization.id, id)}`,
  );
  return rows.length > 0;
}
