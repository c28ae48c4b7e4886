import type { Ctx, Viewer } from '../../access/context.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { users } from '../../events/audience.ts';
import { requireLive } from '../../events/context.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, ScheduledMessage } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { lengthOf } from '../../platform/text.ts';
import type { Recipients } from '../direct.ts';
import { invalidRecipients, isChannelType, type MessageType } from '../sending/destination.ts';
import { prepareMessage } from '../sending/send.ts';
import { requireReadableTopic, requireTopic, requireTopicPolicy } from '../sending/target.ts';
import type { PreparedMessage } from '../sending/write.ts';
import { scheduledMessageAdded, scheduledMessageRemoved, scheduledMessageUpdated } from './events.ts';
import { LAST_TIMESTAMP } from './lateness.ts';
import { lockScheduled } from './queries.ts';
import { requireWaitingWithin } from './totals.ts';

/**
 * Target of a message as received from a REST client. The target was not checked yet, because the service must check the
 * delivery time before the target.
 */
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
   * Whether the sent message is marked as read for its owner. Absent: true if a person operates the client (see `INTERACTIVE`
   * in sending/send.ts) and the message is not a note to self.
   */
  readonly readBySender?: boolean | undefined;
}

/** Changes to a scheduled message. An absent field does not change. */
export type ScheduledMessageEdit = Partial<Omit<NewScheduledMessage, 'readBySender'>>;

/** Order in which messages are delivered and listed: by scheduled time, then by id. */
export const IN_ORDER: Prisma.ScheduledMessageOrderByWithRelationInput[] = [{ scheduledAt: 'asc' }, { id: 'asc' }];

type Owner = Pick<Viewer, 'id' | 'organization'>;

const own = ({ id, organization }: Owner) => ({ organizationId: organization.id, ownerId: id, kind: 'message' });

/** Returns the filter for all of the viewer's scheduled messages, including sent ones. */
export const visibleTo = ({ viewer }: Ctx): Prisma.ScheduledMessageWhereInput => own(viewer);

/** Returns the filter for the user's messages that are scheduled or failed. */
export const undelivered = (viewer: Owner): Prisma.ScheduledMessageWhereInput => ({
  ...own(viewer),
  state: { not: 'delivered' },
});

const noSuchMessage = (id: number): NotFoundError =>
  new NotFoundError('Scheduled message does not exist', {
    type: 'ScheduledMessage',
    id,
    parameter: 'scheduled_message_id',
    status: 404,
  });
const notInFuture = (): ValidationError =>
  new ValidationError('Scheduled delivery time must be in the future.', { parameter: 'scheduled_delivery_timestamp' });

/**
 * Converts the time of a delivery to a date, after checking it.
 *
 * @param timestamp UNIX seconds. Fractions are allowed.
 * @throws ValidationError if the time is not in the future, or after the year 9999.
 */
export function requireFuture(now: Date, timestamp: number): Date {
  if (timestamp * 1000 <= now.getTime()) throw notInFuture();
  if (timestamp > LAST_TIMESTAMP)
    throw new ValidationError('scheduled_delivery_timestamp is too large', {
      parameter: 'scheduled_delivery_timestamp',
    });
  return new Date(Math.round(timestamp * 1000));
}

/**
 * Reads one of the viewer's scheduled messages. Sent messages can be read until 30 days after their scheduled time.
 *
 * @throws NotFoundError if no scheduled message has this id, or it belongs to another user.
 */
export async function accessScheduledMessage({ work, viewer }: Ctx, id: number): Promise<ScheduledMessage> {
  const row = isRowId(id) ? await work.db.scheduledMessage.findFirst({ where: { id, ...own(viewer) } }) : null;
  if (row === null) throw noSuchMessage(id);
  return row;
}

/** Reads the viewer's messages that are scheduled or failed, earliest first. */
export async function listScheduledMessages({ work, viewer }: Ctx): Promise<ScheduledMessage[]> {
  return work.db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
}

/**
 * Schedules a message that the viewer could send now, and notifies the viewer's clients. Permissions are checked again when the
 * message is sent.
 *
 * @returns Id of the scheduled message. The sent message has another id.
 * @throws ValidationError if the time is not in the future, or `to` has an invalid form.
 * @throws TotalReachedError if the viewer's unsent messages would be too many, or too long in total.
 * @throws ValidationError, NotFoundError, ConflictError, ForbiddenError, ChannelDoesNotExistError, TopicPolicyError or
 *   WildcardMentionNotAllowedError if the viewer could not send the message now.
 */
export async function scheduleMessage(ctx: Ctx, message: NewScheduledMessage): Promise<number> {
  const { app, work, viewer } = ctx;
  const { to, topic, content, readBySender } = message;
  const scheduledAt = requireFuture(app.now(), message.timestamp);
  const destination = destinationIn(to);
  const prepared = await prepareMessage(work.db, app, viewer, { to: destination, topic, content, readBySender });
  const id = await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const saved = await tx.scheduledMessage.create({
      data: {
        ...toColumns(prepared),
        scheduledAt,
        readBySender: prepared.payload.readBySender,
        organizationId: viewer.organization.id,
        ownerId: viewer.id,
        clientName: viewer.clientName,
        createdAt: app.now(),
      },
    });
    await requireWaitingWithin(tx, viewer, 'message', 'added');
    emit(scheduledMessageAdded(saved, viewer.organization), users([viewer.id]));
    return saved.id;
  });
  requireLive(work).deliveries.wake(scheduledAt);
  return id;
}

/**
 * Changes one of the viewer's scheduled messages, and notifies the viewer's clients. A failed message is scheduled again and
 * requires a new time.
 *
 * @throws ValidationError if nothing is to change, a new type is given without recipients or topic, or the time is not in the
 *   future.
 * @throws ConflictError if the message was already sent.
 * @throws TotalReachedError if the message becomes longer, and the viewer's unsent messages would be too long in total.
 * @throws NotFoundError if no scheduled message has this id, or it belongs to another user.
 * @throws ValidationError, NotFoundError, ConflictError, ForbiddenError, ChannelDoesNotExistError, TopicPolicyError or
 *   WildcardMentionNotAllowedError if the viewer could not send the edited message now.
 */
export async function updateScheduledMessage(ctx: Ctx, id: number, edit: ScheduledMessageEdit): Promise<void> {
  const { app, work, viewer } = ctx;
  const scheduledAt = requireEdit(edit, app.now());
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const row = await lockOwn(tx, viewer, id);
    if (row.state === 'failed' && scheduledAt === undefined) throw notInFuture();
    const content = await changesOf(tx, ctx, row, edit);
    const saved = await tx.scheduledMessage.update({
      where: { organizationId_id: { organizationId: row.organizationId, id } },
      data: {
        ...content,
        clientName: viewer.clientName,
        state: 'scheduled',
        failureMessage: null,
        ...(scheduledAt !== undefined && { scheduledAt }),
      },
    });
    if (lengthIn(saved) > lengthIn(row)) await requireWaitingWithin(tx, viewer, 'message', 'longer');
    emit(scheduledMessageUpdated(saved, viewer.organization), users([viewer.id]));
  });
  if (scheduledAt !== undefined) requireLive(work).deliveries.wake(scheduledAt);
}

const lengthIn = ({ content, renderedContent }: ScheduledMessage) => lengthOf(content) + lengthOf(renderedContent);

/** Checks an edit, except its target and content. Returns the new time, or undefined if the time does not change. */
function requireEdit(edit: ScheduledMessageEdit, now: Date): Date | undefined {
  const { to, topic, timestamp } = edit;
  const { type, sent } = to !== undefined && 'sent' in to ? to : { type: undefined, sent: to };
  if (Object.values(edit).every((value) => value === undefined)) throw new ValidationError('Nothing to change');
  if (type !== undefined && sent === undefined) {
    throw new ValidationError('Recipient required when updating type of scheduled message.', { parameter: 'to' });
  }
  if (type !== undefined && isChannelType(type) && topic === undefined) {
    throw new ValidationError('Topic required when updating scheduled message type to channel.', {
      parameter: 'topic',
    });
  }
  return timestamp === undefined ? undefined : requireFuture(now, timestamp);
}

/**
 * Cancels one of the viewer's scheduled messages, or deletes a failed one, and notifies the viewer's clients.
 *
 * @throws NotFoundError if no scheduled message has this id, or it belongs to another user.
 * @throws ConflictError if the message was sent.
 */
export async function cancelScheduledMessage(ctx: Ctx, id: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    await lockOwn(tx, ctx.viewer, id);
    await tx.scheduledMessage.delete({ where: { organizationId_id: { organizationId: ctx.organizationId, id } } });
    emit(scheduledMessageRemoved(id), users([ctx.viewer.id]));
  });
}

/**
 * Locks one of the viewer's messages that was not sent yet. If the message is being delivered, waits until the delivery has
 * ended.
 *
 * @throws NotFoundError if no scheduled message has this id, or it belongs to another user.
 * @throws ConflictError if the message was sent.
 */
async function lockOwn(tx: Tx, viewer: Owner, id: number): Promise<ScheduledMessage> {
  if (!isRowId(id)) throw noSuchMessage(id);
  await lockScheduled(tx, { organizationId: viewer.organization.id, ownerId: viewer.id }, id);
  const row = await tx.scheduledMessage.findFirst({ where: { id, ...own(viewer) } });
  if (row === null) throw noSuchMessage(id);
  if (row.state === 'delivered') {
    throw new ConflictError('Scheduled message was already sent', { parameter: 'scheduled_message_id' });
  }
  return row;
}

/**
 * Returns the new values of the columns that an edit changes, except the time. If the recipients or the content change, the
 * message is checked like a new one.
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
  const name = requireTopic(viewer.organization, topic);
  if (name !== row.topic) requireReadableTopic(name);
  const channel = await tx.channel.findFirstOrThrow({
    where: { organizationId: viewer.organization.id, id: channelId },
    select: { topicsPolicy: true },
  });
  requireTopicPolicy(viewer.organization, channel, name);
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
 * Converts the target of a scheduled message to the form that `prepareMessage` accepts. A target received from a REST client
 * must name channels and users by ids, unlike the target of a message that is sent immediately.
 *
 * @param typeBefore Type of the message if `to` has no type.
 * @throws ValidationError if `to` is not one channel id, or not ids of users, depending on the type.
 */
function destinationIn(to: NewScheduledMessage['to'], typeBefore: MessageType = 'direct'): ChannelKey | Recipients {
  if (!('sent' in to)) return to;
  const { type = typeBefore, sent } = to;
  if (isChannelType(type)) {
    const id: unknown = Array.isArray(sent) && sent.length === 1 ? sent[0] : sent;
    if (!isInteger(id)) throw new ValidationError('Invalid data type for channel ID', { parameter: 'to' });
    return { id };
  }
  const userIds: readonly unknown[] = Array.isArray(sent) ? sent : [sent];
  if (!userIds.every(isInteger)) throw invalidRecipients();
  return { userIds };
}

const isInteger = (value: unknown): value is number => Number.isInteger(value);
