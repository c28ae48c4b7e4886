import type { Ctx, Viewer } from '../../access/context.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, ScheduledMessage } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { lengthOf } from '../../platform/text.ts';
import { isChannelType, type MessageType } from '../sending/destination.ts';
import type { Recipients } from '../sending/direct.ts';
import { prepareMessage } from '../sending/send.ts';
import { requireTopic, requireTopicPolicy } from '../sending/target.ts';
import type { PreparedMessage } from '../sending/write.ts';
import { scheduledMessageAdded, scheduledMessageRemoved, scheduledMessageUpdated } from './events.ts';
import { LAST_TIMESTAMP } from './lateness.ts';
import { lockScheduled } from './queries.ts';
import { requireWaitingWithin } from './totals.ts';

/** Where a message goes, as it came: what is wrong with it is said after the time was looked at. */
export interface SentDestination {
  /** Absent: as it was. */
  readonly type: MessageType | undefined;
  /** A channel's id, alone or in a list, or the ids of users. */
  readonly sent: unknown;
}

/** A message to be sent later. */
export interface NewScheduledMessage {
  readonly to: ChannelKey | Recipients | SentDestination;
  /** Flavoured Markdown. Cut to 10,000 code points. */
  readonly content: string;
  /** Of a channel message; means nothing otherwise. Cut to 60 code points. */
  readonly topic?: string | undefined;
  /** UNIX seconds, fractions allowed. */
  readonly timestamp: number;
  /** Absent: whether an interactive client sends to somebody else. */
  readonly readBySender?: boolean | undefined;
}

/** What is to change of a scheduled message. Absent fields stay. */
export type ScheduledMessageEdit = Partial<Omit<NewScheduledMessage, 'readBySender'>>;

/** The order in which they are sent, and listed. */
export const IN_ORDER: Prisma.ScheduledMessageOrderByWithRelationInput[] = [{ scheduledAt: 'asc' }, { id: 'asc' }];

type Owner = Pick<Viewer, 'id' | 'realm'>;

const own = ({ id, realm }: Owner) => ({ realmId: realm.id, ownerId: id, kind: 'message' });

/** The viewer's scheduled messages, sent or not. */
export const visibleTo = ({ viewer }: Ctx): Prisma.ScheduledMessageWhereInput => own(viewer);

/** What the viewer has scheduled and is not sent, because its time has not come or it could not be. */
export const undelivered = (viewer: Owner): Prisma.ScheduledMessageWhereInput => ({
  ...own(viewer),
  state: { not: 'delivered' },
});

const noSuchMessage = () => new NotFoundError('Scheduled message does not exist');
const notInFuture = () => new BadRequestError('Scheduled delivery time must be in the future.');

/**
 * When something is to be delivered.
 *
 * @param timestamp UNIX seconds, fractions allowed.
 * @throws BadRequestError when that is not in the future, or after the year 9999.
 */
export function requireFuture(now: Date, timestamp: number): Date {
  if (timestamp * 1000 <= now.getTime()) throw notInFuture();
  if (timestamp > LAST_TIMESTAMP)
    throw new BadRequestError('scheduled_delivery_timestamp is too large', 'scheduled_delivery_timestamp');
  return new Date(Math.round(timestamp * 1000));
}

/**
 * One of the viewer's scheduled messages, for as long as it is kept: what is sent is forgotten some weeks later.
 *
 * @throws NotFoundError when there is none with this id, or it is another user's.
 */
export async function accessScheduledMessage({ app, viewer }: Ctx, id: number): Promise<ScheduledMessage> {
  const row = isRowId(id) ? await app.db.scheduledMessage.findFirst({ where: { id, ...own(viewer) } }) : null;
  if (row === null) throw noSuchMessage();
  return row;
}

/** Everything the viewer has scheduled that is not sent, the earliest first. */
export async function listScheduledMessages({ app, viewer }: Ctx): Promise<ScheduledMessage[]> {
  return app.db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
}

/**
 * Schedules a message that the viewer could send now, and tells the viewer's clients. Whether it may be sent is asked
 * again when it is.
 *
 * @returns Its id, which is not that of the message it becomes.
 * @throws BadRequestError when the time is not in the future, or `to` is of another form; and, as the errors it can
 *   throw besides, by the rules of sending.
 * @throws TotalReachedError when there would be too many, or too long ones, that are not sent.
 */
export async function scheduleMessage(ctx: Ctx, message: NewScheduledMessage): Promise<number> {
  const { app, viewer } = ctx;
  const { to, topic, content, readBySender } = message;
  const scheduledAt = requireFuture(app.now(), message.timestamp);
  const destination = destinationIn(to);
  const prepared = await prepareMessage(app.db, app, viewer, { to: destination, topic, content, readBySender });
  const id = await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const saved = await tx.scheduledMessage.create({
      data: {
        ...toColumns(prepared),
        scheduledAt,
        readBySender: prepared.payload.readBySender,
        realmId: viewer.realm.id,
        ownerId: viewer.id,
        clientName: viewer.clientName,
        createdAt: app.now(),
      },
    });
    await requireWaitingWithin(tx, viewer, 'message', 'added');
    emit(scheduledMessageAdded(saved, viewer.realm), users([viewer.id]));
    return saved.id;
  });
  app.deliveries.wake(scheduledAt);
  return id;
}

/**
 * Changes one of the viewer's scheduled messages, and tells the viewer's clients. One that could not be sent is to be
 * sent again, at the new time it must be given.
 *
 * @throws BadRequestError when nothing is to change, a new type comes without its recipients or topic, the time is not
 *   in the future, or the message was sent; and, as the errors it can throw besides, by the rules of sending.
 * @throws TotalReachedError when it gets longer, and all that are not sent would be too long together.
 * @throws NotFoundError when there is none with this id, or it is another user's.
 */
export async function updateScheduledMessage(ctx: Ctx, id: number, edit: ScheduledMessageEdit): Promise<void> {
  const { app, viewer } = ctx;
  const scheduledAt = requireEdit(edit, app.now());
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const row = await lockOwn(tx, viewer, id);
    if (row.state === 'failed' && scheduledAt === undefined) throw notInFuture();
    const content = await changesOf(tx, ctx, row, edit);
    const saved = await tx.scheduledMessage.update({
      where: { realmId_id: { realmId: row.realmId, id } },
      data: {
        ...content,
        clientName: viewer.clientName,
        state: 'scheduled',
        failureMessage: null,
        ...(scheduledAt !== undefined && { scheduledAt }),
      },
    });
    if (lengthIn(saved) > lengthIn(row)) await requireWaitingWithin(tx, viewer, 'message', 'longer');
    emit(scheduledMessageUpdated(saved, viewer.realm), users([viewer.id]));
  });
  if (scheduledAt !== undefined) app.deliveries.wake(scheduledAt);
}

const lengthIn = ({ content, renderedContent }: ScheduledMessage) => lengthOf(content) + lengthOf(renderedContent);

/** @returns The new time, if there is one. */
function requireEdit(edit: ScheduledMessageEdit, now: Date): Date | undefined {
  const { to, topic, timestamp } = edit;
  const { type, sent } = to !== undefined && 'sent' in to ? to : { type: undefined, sent: to };
  if (Object.values(edit).every((value) => value === undefined)) throw new BadRequestError('Nothing to change');
  if (type !== undefined && sent === undefined) {
    throw new BadRequestError('Recipient required when updating type of scheduled message.');
  }
  if (type !== undefined && isChannelType(type) && topic === undefined) {
    throw new BadRequestError('Topic required when updating scheduled message type to channel.');
  }
  return timestamp === undefined ? undefined : requireFuture(now, timestamp);
}

/**
 * Cancels one of the viewer's scheduled messages, also one that could not be sent, and tells the viewer's clients.
 *
 * @throws NotFoundError when there is none with this id, or it is another user's.
 * @throws BadRequestError when it was sent.
 */
export async function cancelScheduledMessage(ctx: Ctx, id: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    await lockOwn(tx, ctx.viewer, id);
    await tx.scheduledMessage.delete({ where: { realmId_id: { realmId: ctx.realmId, id } } });
    emit(scheduledMessageRemoved(id), users([ctx.viewer.id]));
  });
}

/** Waits for a delivery that is under way, and then finds it sent. */
async function lockOwn(tx: Tx, viewer: Owner, id: number): Promise<ScheduledMessage> {
  if (!isRowId(id)) throw noSuchMessage();
  await lockScheduled(tx, { realmId: viewer.realm.id, ownerId: viewer.id }, id);
  const row = await tx.scheduledMessage.findFirst({ where: { id, ...own(viewer) } });
  if (row === null) throw noSuchMessage();
  if (row.state === 'delivered') throw new BadRequestError('Scheduled message was already sent');
  return row;
}

/** The columns an edit changes, but for the time; checked as a new message where who gets what changes. */
async function changesOf(tx: Tx, { app, viewer }: Ctx, row: ScheduledMessage, edit: ScheduledMessageEdit) {
  const { to, content, topic } = edit;
  const { channelId } = row;
  if (to !== undefined || content !== undefined) {
    const prepared = await prepareMessage(tx, app, viewer, {
      to: to === undefined ? destinationOf(row) : destinationIn(to, channelId === null ? 'direct' : 'channel'),
      topic: topic ?? (channelId === null ? undefined : row.topic),
      content: content ?? row.content,
      readBySender: row.readBySender,
    });
    return toColumns(prepared);
  }
  if (topic === undefined || channelId === null) return {};
  const name = requireTopic(viewer.realm, topic);
  const channel = await tx.channel.findFirstOrThrow({
    where: { realmId: viewer.realm.id, id: channelId },
    select: { topicsPolicy: true },
  });
  requireTopicPolicy(viewer.realm, channel, name);
  return { topic: name };
}

function toColumns({ target, memberIds, payload, content, sender }: PreparedMessage) {
  const others = (memberIds ?? []).filter((id) => id !== sender.id);
  return {
    channelId: target?.channel.id ?? null,
    // A note to self names its owner.
    recipientIds: others.length === 0 ? [...(memberIds ?? [])] : others,
    topic: payload.topic,
    content: content.source,
    renderedContent: content.html,
  };
}

/** Where a stored message goes. */
export function destinationOf({ channelId, recipientIds }: ScheduledMessage): ChannelKey | Recipients {
  return channelId === null ? { userIds: recipientIds } : { id: channelId };
}

/** Unlike that of a message sent at once, what was sent takes neither names nor addresses. */
function destinationIn(to: NewScheduledMessage['to'], typeBefore: MessageType = 'direct'): ChannelKey | Recipients {
  if (!('sent' in to)) return to;
  const { type = typeBefore, sent } = to;
  if (isChannelType(type)) {
    const id: unknown = Array.isArray(sent) && sent.length === 1 ? sent[0] : sent;
    if (!isInteger(id)) throw new BadRequestError('Invalid data type for channel ID');
    return { id };
  }
  const userIds: readonly unknown[] = Array.isArray(sent) ? sent : [sent];
  if (!userIds.every(isInteger)) throw new BadRequestError('Invalid data type for recipients');
  return { userIds };
}

const isInteger = (value: unknown): value is number => Number.isInteger(value);
