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
import type { Recipients } from '../direct.ts';
import { isChannelType, type MessageType } from '../sending/destination.ts';
import { prepareMessage } from '../sending/send.ts';
import { requireReadableTopic, requireTopic, requireTopicPolicy } from '../sending/target.ts';
import type { PreparedMessage } from '../sending/write.ts';
import { scheduledMessageAdded, scheduledMessageRemoved, scheduledMessageUpdated } from './events.ts';
import { LAST_TIMESTAMP } from './lateness.ts';
import { lockScheduled } from './queries.ts';
import { requireWaitingWithin } from './totals.ts';

/** Target of a message as received from a REST client. The service checks it after the time. */
export interface SentDestination {
  /** Type of the message. If absent in an edit, the type does not change. */
  readonly type: MessageType | undefined;
  /** Id of a channel, alone or in a list, or ids of users. Not checked yet. */
  readonly sent: unknown;
}

/** Input of `scheduleMessage`. */
export interface NewScheduledMessage {
  readonly to: ChannelKey | Recipients | SentDestination;
  /** Flavored Markdown. Truncated to 10,000 code points. */
  readonly content: string;
  /** Topic of a channel message, truncated to 60 code points. Ignored for direct messages. */
  readonly topic?: string | undefined;
  /** Time of the delivery, in UNIX seconds. Fractions are allowed. */
  readonly timestamp: number;
  /**
   * Whether the sent message is marked as read for its owner. Absent: true if the client is interactive and the message is not
   * a note to self.
   */
  readonly readBySender?: boolean | undefined;
}

/** Changes to a scheduled message. An absent field does not change. */
export type ScheduledMessageEdit = Partial<Omit<NewScheduledMessage, 'readBySender'>>;

/** Sort order of deliveries and of lists: by time, then by id. */
export const IN_ORDER: Prisma.ScheduledMessageOrderByWithRelationInput[] = [{ scheduledAt: 'asc' }, { id: 'asc' }];

type Owner = Pick<Viewer, 'id' | 'realm'>;

const own = ({ id, realm }: Owner) => ({ realmId: realm.id, ownerId: id, kind: 'message' });

/** Returns the filter for all of the viewer's scheduled messages, including sent ones. */
export const visibleTo = ({ viewer }: Ctx): Prisma.ScheduledMessageWhereInput => own(viewer);

/** Returns the filter for the user's messages that are scheduled or failed. */
export const undelivered = (viewer: Owner): Prisma.ScheduledMessageWhereInput => ({
  ...own(viewer),
  state: { not: 'delivered' },
});

const noSuchMessage = () => new NotFoundError('Scheduled message does not exist');
const notInFuture = () => new BadRequestError('Scheduled delivery time must be in the future.');

/**
 * Converts the time of a delivery to a date, after checking it.
 *
 * @param timestamp UNIX seconds. Fractions are allowed.
 * @throws BadRequestError if the time is not in the future, or after the year 9999.
 */
export function requireFuture(now: Date, timestamp: number): Date {
  if (timestamp * 1000 <= now.getTime()) throw notInFuture();
  if (timestamp > LAST_TIMESTAMP)
    throw new BadRequestError('scheduled_delivery_timestamp is too large', 'scheduled_delivery_timestamp');
  return new Date(Math.round(timestamp * 1000));
}

/**
 * Reads one of the viewer's scheduled messages. Sent messages can be read for some weeks.
 *
 * @throws NotFoundError if no scheduled message has this id, or it belongs to another user.
 */
export async function accessScheduledMessage({ app, viewer }: Ctx, id: number): Promise<ScheduledMessage> {
  const row = isRowId(id) ? await app.db.scheduledMessage.findFirst({ where: { id, ...own(viewer) } }) : null;
  if (row === null) throw noSuchMessage();
  return row;
}

/** Reads the viewer's messages that are scheduled or failed, earliest first. */
export async function listScheduledMessages({ app, viewer }: Ctx): Promise<ScheduledMessage[]> {
  return app.db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
}

/**
 * Schedules a message that the viewer could send now, and notifies the viewer's clients. Permissions are checked again when the
 * message is sent.
 *
 * @returns Id of the scheduled message. The sent message has another id.
 * @throws BadRequestError if the time is not in the future, or `to` has an invalid form.
 * @throws TotalReachedError if the viewer's unsent messages would be too many, or too long in total.
 * @throws The errors of `prepareMessage`.
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
 * Changes one of the viewer's scheduled messages, and notifies the viewer's clients. A failed message is scheduled again and
 * requires a new time.
 *
 * @throws BadRequestError if nothing is to change, a new type is given without recipients or topic, the time is not in the
 * future, or the message was already sent.
 * @throws TotalReachedError if the message becomes longer, and the viewer's unsent messages would be too long in total.
 * @throws NotFoundError if no scheduled message has this id, or it belongs to another user.
 * @throws The errors of `prepareMessage`.
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

/** Checks an edit, except its target and content. Returns the new time, or undefined if the time does not change. */
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
 * Cancels one of the viewer's scheduled messages, or deletes a failed one, and notifies the viewer's clients.
 *
 * @throws NotFoundError if no scheduled message has this id, or it belongs to another user.
 * @throws BadRequestError if the message was sent.
 */
export async function cancelScheduledMessage(ctx: Ctx, id: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    await lockOwn(tx, ctx.viewer, id);
    await tx.scheduledMessage.delete({ where: { realmId_id: { realmId: ctx.realmId, id } } });
    emit(scheduledMessageRemoved(id), users([ctx.viewer.id]));
  });
}

/**
 * Locks one of the viewer's messages that was not sent yet. Waits for a delivery in progress.
 *
 * @throws NotFoundError if no scheduled message has this id, or it belongs to another user.
 * @throws BadRequestError if the message was sent.
 */
async function lockOwn(tx: Tx, viewer: Owner, id: number): Promise<ScheduledMessage> {
  if (!isRowId(id)) throw noSuchMessage();
  await lockScheduled(tx, { realmId: viewer.realm.id, ownerId: viewer.id }, id);
  const row = await tx.scheduledMessage.findFirst({ where: { id, ...own(viewer) } });
  if (row === null) throw noSuchMessage();
  if (row.state === 'delivered') throw new BadRequestError('Scheduled message was already sent');
  return row;
}

/**
 * Returns the columns that an edit changes, except the time. If the recipients or the content change, the message is checked
 * like a new one.
 */
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
  if (name !== row.topic) requireReadableTopic(name);
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
    // If the message is a note to self, the recipient is the owner.
    recipientIds: others.length === 0 ? [...(memberIds ?? [])] : others,
    topic: payload.topic,
    content: content.source,
    renderedContent: content.html,
  };
}

/** Returns the target of a stored message in the form that `prepareMessage` accepts. */
export function destinationOf({ channelId, recipientIds }: ScheduledMessage): ChannelKey | Recipients {
  return channelId === null ? { userIds: recipientIds } : { id: channelId };
}

/**
 * Checks and converts a target. Unlike for a message that is sent immediately, channels and users must be named by ids.
 *
 * @param typeBefore Type of the message if `to` has no type.
 * @throws BadRequestError if the value has another form.
 */
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
