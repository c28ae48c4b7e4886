import type { Ctx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { isOpenTo, readsChannel } from '../channels/access.ts';
import { type Channel, type Conversation, type Message, Prisma } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { joinedColumns, type QueryRow } from '../platform/db/columns.ts';
import { readRows } from '../platform/db/rows.ts';
import { BadRequestError } from '../platform/errors.ts';

/** A user whose access to messages is checked. Every `Viewer` can be used. */
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
export const invalidMessage = (): BadRequestError => new BadRequestError('Invalid message(s)');

/** Returns whether a number can be a message id: a safe integer of at least 1. The database stores ids as bigint. */
export const isMessageId = (id: number): boolean => Number.isSafeInteger(id) && id >= 1;

/**
 * Builds the SQL condition that the user received the message `m`: they sent it, were subscribed to its original channel when
 * it was sent, or are a member of the conversation. Whether they can read it now is a separate condition.
 *
 * OFFSET 0 makes the planner look up each row by its key. Otherwise it might read the user's rows in all organizations.
 *
 * @param userId A value, or a column of the query.
 */
export function receivedBy(userId: number | Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(m.sender_id = ${userId} OR CASE
    WHEN m.conversation_id IS NOT NULL THEN EXISTS (
      SELECT FROM conversation_member cm
      WHERE cm.realm_id = m.realm_id AND cm.user_id = ${userId} AND cm.conversation_id = m.conversation_id OFFSET 0)
    ELSE EXISTS (
      SELECT FROM subscription_period p
      WHERE p.realm_id = m.realm_id AND p.user_id = ${userId} AND p.channel_id = m.sent_channel_id
        AND p.began_message_id < m.id AND (p.ended_message_id IS NULL OR m.id <= p.ended_message_id) OFFSET 0)
    END)`;
}

/** Returns whether users can read only those messages of the channel that they received. */
export const hasProtectedHistory = (channel: Pick<Channel, 'inviteOnly' | 'historyPublicToSubscribers'>): boolean =>
  channel.inviteOnly && !channel.historyPublicToSubscribers;

/**
 * Reads a message that the viewer can read.
 *
 * @throws BadRequestError if the message does not exist or the viewer cannot read it. The error is identical in both cases, so
 *   that it does not reveal whether the message exists.
 */
export async function accessMessage({ app, viewer }: Pick<Ctx, 'app' | 'viewer'>, messageId: number) {
  return accessMessageIn(app.db, viewer, messageId, app.now());
}

/**
 * Reads a message that the viewer can read and whose channel is not archived. Every change of a message begins with this check.
 *
 * @throws BadRequestError if the message does not exist, cannot be read, or is in an archived channel. The error is identical
 * in all three cases, so that it does not reveal whether the message exists.
 */
export async function accessMessageToChange(
  db: Pick<Tx, 'channel' | 'userGroup' | '$queryRaw'>,
  viewer: MessageReader,
  messageId: number,
  now: Date,
): Promise<PlacedMessage> {
  const found = await findMessage(db, viewer, messageId);
  if (found === undefined || !(await mayChange(db, viewer, found, now))) throw invalidMessage();
  return found.message;
}

/** Reads a message like `accessMessage`, but with a database client that can be a transaction. */
export async function accessMessageIn(
  db: Pick<Tx, 'channel' | 'userGroup' | '$queryRaw'>,
  viewer: MessageReader,
  messageId: number,
  now: Date,
): Promise<PlacedMessage> {
  const found = await findMessage(db, viewer, messageId);
  if (found === undefined || !(await mayRead(db, viewer, found, now))) throw invalidMessage();
  return found.message;
}

/** A message with the viewer's subscription, from which read access is decided. */
export interface FoundMessage {
  readonly message: PlacedMessage;
  /** Whether the viewer is subscribed to the channel of the message. */
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
 * Reads a message, whether or not the viewer can read it. Returns undefined if their organization has no such message. Uses one
 * statement instead of the ORM's four, because every change of a message begins with this read.
 *
 * @param lock SQL clause that locks the row of the message. Default: no lock.
 */
export async function findMessage(
  db: SqlClient,
  { id, realm }: Pick<MessageReader, 'id' | 'realm'>,
  messageId: number,
  lock = Prisma.empty,
): Promise<FoundMessage | undefined> {
  if (!isMessageId(messageId)) return undefined;
  const [row] = await readRows<QueryRow>(
    db,
    Prisma.sql`
    SELECT ${PLACED}, s.active AS "isSubscribed"
    FROM ${PLACES} LEFT JOIN subscription s ON s.realm_id = m.realm_id AND s.channel_id = m.channel_id AND s.user_id = ${id}
    WHERE m.realm_id = ${realm.id} AND m.id = ${messageId} ${lock}`,
  );
  return row === undefined ? undefined : { message: placedIn(row), isSubscribed: row['isSubscribed'] === true };
}

const placedIn = (row: QueryRow): PlacedMessage => ({
  ...MESSAGE.rowIn(row),
  channel: row['c.id'] === null ? null : CHANNEL.rowIn(row),
  conversation: row['v.id'] === null ? null : CONVERSATION.rowIn(row),
});

/** Returns those of the given messages that the viewer can read, in any order. */
export async function readableMessages(
  { app, viewer }: Pick<Ctx, 'app' | 'viewer'>,
  messageIds: readonly number[],
): Promise<PlacedMessage[]> {
  const readable = await readableByEach(app, [viewer], messageIds);
  return [...(readable.get(viewer.id)?.values() ?? [])];
}

/**
 * Returns the messages that each reader can read, as a map by reader id of maps by message id. The number of statements depends
 * neither on the number of readers nor on the number of messages.
 *
 * @param readers Users of one organization.
 */
export async function readableByEach(
  { db, now }: Pick<Ctx['app'], 'db' | 'now'>,
  readers: readonly MessageReader[],
  messageIds: readonly number[],
): Promise<Map<number, Map<number, PlacedMessage>>> {
  const ids = [...new Set(messageIds)].filter(isMessageId);
  const realmId = readers[0]?.realm.id;
  if (realmId === undefined || ids.length === 0) return new Map();
  const readerIds = readers.map(({ id }) => id);
  const rows = await readRows<QueryRow & { readonly subscribers: readonly number[] }>(
    db,
    Prisma.sql`
    SELECT ${PLACED}, ARRAY(
      SELECT s.user_id FROM subscription s
      WHERE s.realm_id = m.realm_id AND s.channel_id = m.channel_id AND s.active AND s.user_id = ANY(${readerIds}::int[])) AS subscribers
    FROM ${PLACES} WHERE m.realm_id = ${realmId} AND m.id = ANY(${ids}::bigint[])`,
  );
  const found = rows.map((row) => ({ message: placedIn(row), subscribers: new Set(row.subscribers) }));
  const received = await receivedOf(db, realmId, readerIds, found.map(({ message }) => message).filter(isProtected));
  const at = now();
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

/** Returns which of the readers received which of the messages, as strings of the form `"<reader id> <message id>"`. */
async function receivedOf(
  db: SqlClient,
  realmId: number,
  readerIds: readonly number[],
  messages: readonly PlacedMessage[],
): Promise<ReadonlySet<string>> {
  if (messages.length === 0) return new Set();
  const ids = messages.map(({ id }) => Number(id));
  const rows = await readRows<{ reader: number; id: bigint }>(
    db,
    Prisma.sql`
    SELECT reader.id AS reader, m.id FROM message m, unnest(${readerIds}::int[]) AS reader(id)
    WHERE m.realm_id = ${realmId} AND m.id = ANY(${ids}::bigint[]) AND ${receivedBy(Prisma.sql`reader.id`)}`,
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
  { id, realm }: Pick<MessageReader, 'id' | 'realm'>,
  messageId: bigint | number,
): Promise<boolean> {
  const rows = await readRows<unknown>(
    db,
    Prisma.sql`
    SELECT 1 FROM message m WHERE m.realm_id = ${realm.id} AND m.id = ${messageId} AND ${receivedBy(id)}`,
  );
  return rows.length > 0;
}
