import type { Ctx } from '../app.ts';
import { onlooker, readsChannel } from '../channels/access.ts';
import type { Tx } from '../db/client.ts';
import { BadRequestError } from '../errors.ts';
import { type Channel, type Conversation, type Message, Prisma } from '../generated/prisma/client.ts';

/** One who may read, as far as access goes; a `Viewer` is one. */
export type Reader = Ctx['viewer'];

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
 * @param userId A value, or the column of a query.
 */
export function receivedBy(userId: number | Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(m.sender_id = ${userId} OR CASE
    WHEN m.conversation_id IS NOT NULL THEN EXISTS (
      SELECT FROM conversation_member cm WHERE cm.user_id = ${userId} AND cm.conversation_id = m.conversation_id)
    ELSE EXISTS (
      SELECT FROM subscription_period p
      WHERE p.user_id = ${userId} AND p.channel_id = m.sent_channel_id
        AND p.began_message_id < m.id AND (p.ended_message_id IS NULL OR m.id <= p.ended_message_id))
    END)`;
}

/** Whether only those who received a message of the channel may read it. */
export const hasProtectedHistory = (channel: Pick<Channel, 'inviteOnly' | 'historyPublicToSubscribers'>): boolean =>
  channel.inviteOnly && !channel.historyPublicToSubscribers;

/**
 * The message, when the viewer may read it.
 *
 * @throws BadRequestError otherwise, as if there were none.
 * @see endpoints companion B.10.1
 */
export async function accessMessage({ app, viewer }: Pick<Ctx, 'app' | 'viewer'>, messageId: number) {
  return accessMessageIn(app.db, viewer, messageId, app.now());
}

/**
 * The message, when the viewer may read it and its channel is not archived: what every change of one begins with.
 *
 * @throws BadRequestError otherwise, as if there were none.
 * @see endpoints companion B.10.1
 */
export async function accessMessageToChange(
  db: Pick<Tx, 'message' | 'subscription' | 'userGroup' | 'channel' | '$queryRaw'>,
  viewer: Reader,
  messageId: number,
  now: Date,
): Promise<PlacedMessage> {
  const message = await accessMessageIn(db, viewer, messageId, now);
  if (message.channel?.isArchived === true) throw invalidMessage();
  return message;
}

/** As `accessMessage`, inside a change as well. */
export async function accessMessageIn(
  db: Pick<Tx, 'message' | 'subscription' | 'userGroup' | 'channel' | '$queryRaw'>,
  viewer: Reader,
  messageId: number,
  now: Date,
): Promise<PlacedMessage> {
  const message = isMessageId(messageId)
    ? await db.message.findUnique({
        where: { realmId_id: { realmId: viewer.realm.id, id: messageId } },
        include: { channel: true, conversation: true },
      })
    : null;
  if (message === null || !(await mayRead(db, viewer, message, now))) throw invalidMessage();
  return message;
}

async function mayRead(
  db: Pick<Tx, 'subscription' | 'userGroup' | 'channel' | '$queryRaw'>,
  viewer: Reader,
  { id, channel, conversation }: PlacedMessage,
  now: Date,
): Promise<boolean> {
  if (conversation !== null) return conversation.memberIds.includes(viewer.id);
  if (channel === null) return false;
  const subscription = await db.subscription.findUnique({
    where: { userId_channelId: { userId: viewer.id, channelId: channel.id } },
    select: { active: true },
  });
  if (!readsChannel(await onlooker(db, viewer, now), channel, subscription?.active === true)) return false;
  return !hasProtectedHistory(channel) || (await hasReceived(db, viewer, id));
}

/** Whether the user received the message. */
export async function hasReceived(
  db: Pick<Tx, '$queryRaw'>,
  { id, realm }: Pick<Reader, 'id' | 'realm'>,
  messageId: bigint | number,
): Promise<boolean> {
  const rows = await db.$queryRaw<unknown[]>`
    SELECT 1 FROM message m WHERE m.realm_id = ${realm.id} AND m.id = ${messageId} AND ${receivedBy(id)}`;
  return rows.length > 0;
}
