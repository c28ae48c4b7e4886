import type { Ctx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { isOpenTo, readsChannel } from '../channels/access.ts';
import { type Channel, type Conversation, type Message, Prisma } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import {
  CHANNEL_COLUMNS,
  CONVERSATION_COLUMNS,
  columnsOf,
  MESSAGE_COLUMNS,
  type QueryRow,
  rowOf,
} from '../platform/db/columns.ts';
import { readRows } from '../platform/db/rows.ts';
import { BadRequestError } from '../platform/errors.ts';

/** One who may read, as far as access goes; a `Viewer` is one. */
export type MessageReader = Ctx['viewer'];

/** A message, and where it stands. */
export type PlacedMessage = Message & {
  readonly channel: Channel | null;
  readonly conversation: Conversation | null;
};

/** The refusal for a message that is not there, or not for the viewer: the two must not be told apart. */
export const invalidMessage = (): BadRequestError => new BadRequestError('Invalid message(s)');

/** Messages have bigint ids; other numbers name none. */
export const isMessageId = (id: number): boolean => Number.isSafeInteger(id) && id >= 1;

/**
 * Whether the user received the message `m`, as SQL: they sent it, they were subscribed where it was sent when it was
 * sent, or they take part in the conversation. What they may read of it today is another question.
 *
 * OFFSET 0 has each looked up by its key: the planner might rather gather what the user has in all organisations.
 *
 * @param userId A value, or the column of a query.
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

/** Whether only those who received a message of the channel may read it. */
export const hasProtectedHistory = (channel: Pick<Channel, 'inviteOnly' | 'historyPublicToSubscribers'>): boolean =>
  channel.inviteOnly && !channel.historyPublicToSubscribers;

/**
 * The message, when the viewer may read it.
 *
 * @throws BadRequestError otherwise, as if there were none.
 */
export async function accessMessage({ app, viewer }: Pick<Ctx, 'app' | 'viewer'>, messageId: number) {
  return accessMessageIn(app.db, viewer, messageId, app.now());
}

/**
 * The message, when the viewer may read it and its channel is not archived: what every change of one begins with.
 *
 * @throws BadRequestError otherwise, as if there were none.
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

/** As `accessMessage`, inside a change as well. */
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

/** A message, and what reading it depends on. */
export interface FoundMessage {
  readonly message: PlacedMessage;
  /** Whether the viewer is subscribed to the channel it stands in. */
  readonly isSubscribed: boolean;
}

const PLACED = Prisma.sql`${columnsOf('m', MESSAGE_COLUMNS)}, ${columnsOf('c', CHANNEL_COLUMNS)},
  ${columnsOf('v', CONVERSATION_COLUMNS)}`;

const PLACES = Prisma.sql`message m
  LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id
  LEFT JOIN conversation v ON v.realm_id = m.realm_id AND v.id = m.conversation_id`;

/**
 * The message, whether or not the viewer may read it; undefined when there is none in their organisation. One statement,
 * because every change of a message begins with it, where the ORM takes four.
 *
 * @param lock Locks the message's row, when it is given.
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
  ...rowOf<Message>(row, 'm', MESSAGE_COLUMNS),
  channel: row['c.id'] === null ? null : rowOf<Channel>(row, 'c', CHANNEL_COLUMNS),
  conversation: row['v.id'] === null ? null : rowOf<Conversation>(row, 'v', CONVERSATION_COLUMNS),
});

/** Of these messages those that the viewer may read, in any order. */
export async function readableMessages(
  { app, viewer }: Pick<Ctx, 'app' | 'viewer'>,
  messageIds: readonly number[],
): Promise<PlacedMessage[]> {
  const readable = await readableByEach(app, [viewer], messageIds);
  return [...(readable.get(viewer.id)?.values() ?? [])];
}

/**
 * Of these messages those that each of the readers may read, by the reader's id and the message's, in a number of
 * statements that grows with neither.
 *
 * @param readers Of one organisation.
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

/** Which reader received which of the messages, as their ids: `"<reader> <message>"`. */
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

/** Whether the viewer may read a message that was found. */
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

/** Whether the viewer may read a message that was found, in a channel that is not archived. */
export const mayChange = async (
  db: Pick<Tx, 'channel' | 'userGroup' | '$queryRaw'>,
  viewer: MessageReader,
  found: FoundMessage,
  now: Date,
): Promise<boolean> => (await mayRead(db, viewer, found, now)) && found.message.channel?.isArchived !== true;

/** Whether the user received the message. */
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
