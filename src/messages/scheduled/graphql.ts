import { signedIn } from '../../access/context.ts';
import { byKey, byKeyIfAny } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { given, mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel, nodeOf, nodesOf } from '../../api/graphql/schema/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { Message } from '../graphql.ts';
import { MessageTarget, placeIn } from '../sending/message-target.ts';
import { Topic, topicAt } from '../topics/graphql.ts';
import { deliveryFields } from './delivery-fields.ts';
import { projectionOf } from './event-projections.ts';
import { latestDelivery } from './lateness.ts';
import {
  accessScheduledMessage,
  cancelScheduledMessage,
  scheduleMessage,
  undelivered,
  updateScheduledMessage,
  visibleTo,
} from './service.ts';

export const ScheduledMessage = builder.prismaNode('ScheduledMessage', {
  ...byNumber,
  description: 'A message that the service sends for its owner at a given time.',
  fields: (t) => ({
    ...deliveryFields(t, {
      databaseId: 'Id in the REST API. The sent message has a different id.',
      content: 'Content as flavored Markdown.',
      renderedContent: '`content` as HTML. It is rendered again for the sent message.',
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Target channel. Null for a direct message, or if the viewer can no longer see the channel.',
      resolve: byKeyIfAny(visibleChannels, ({ channelId }) => channelId),
    }),
    recipients: t.field({
      type: [User],
      nullable: true,
      description: 'Recipients of a direct message. At most 250. Null for a channel message.',
      resolve: ({ channelId, recipientIds }, _args, ctx) =>
        channelId === null ? nodesOf(ctx, 'User', recipientIds) : null,
    }),
    topicName: t.exposeString('topic', { description: 'Name of the target topic. Empty for a direct message.' }),
    topic: t.field({
      type: Topic,
      nullable: true,
      description: 'Target topic. Null if it has no message that the viewer can read.',
      resolve: ({ channelId, topic }, _args, ctx) => topicAt(ctx, channelId, topic),
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'Latest time at which the message is sent. If it has not been sent by then, it fails.',
      resolve: ({ scheduledAt }) => latestDelivery(scheduledAt),
    }),
    readBySender: t.exposeBoolean('readBySender', {
      description: 'Whether the sent message is marked as read for the owner.',
    }),
    message: t.field({
      type: Message,
      nullable: true,
      description: 'The sent message. Null if it has not been sent, or if the viewer can no longer read it.',
      resolve: ({ deliveredMessageId: id }, _args, ctx) => nodeOf(ctx, 'Message', id === null ? null : Number(id)),
    }),
    owner: t.field({
      type: User,
      description: 'User who scheduled the message. It is sent in their name.',
      resolve: byKey(usersById, ({ ownerId }) => ownerId),
    }),
  }),
});
nodeModel('ScheduledMessage', 'ScheduledMessage', visibleTo);

const ScheduledMessageConnection = builder.connectionObject(
  { type: ScheduledMessage, name: 'ScheduledMessageConnection' },
  { name: 'ScheduledMessageEdge' },
);

const ScheduledMessageOrder = orderInput<'scheduledAt' | 'id'>('ScheduledMessage', 'scheduled messages', {
  SCHEDULED_AT: { value: 'scheduledAt', description: 'Delivery time.' },
  ID: { value: 'id', description: 'Order of creation.' },
});

const EARLIEST_FIRST: OrderBy<'scheduledAt' | 'id'> = { field: 'scheduledAt', direction: 'asc' };

builder.queryField('scheduledMessages', (t) =>
  t.connection(
    {
      type: ScheduledMessage,
      description: "The viewer's scheduled messages that have not been sent, including failed ones.",
      args: {
        orderBy: t.arg({
          type: ScheduledMessageOrder,
          required: false,
          defaultValue: EARLIEST_FIRST,
          description: 'Sort order.',
        }),
      },
      resolve: (_root, { orderBy, ...args }, ctx, info) => {
        const where = undelivered(signedIn(ctx).viewer);
        return pageOf('ScheduledMessage', { where, order: columnsBy(orderBy ?? EARLIEST_FIRST), args, ctx, info });
      },
    },
    ScheduledMessageConnection,
  ),
);

const toTimestamp = (date: Date): number => date.getTime() / 1000;

const CONTENT = 'Content as flavored Markdown. Truncated to 10,000 characters.';
const SCHEDULED_AT = 'Delivery time. Must be in the future.';

mutation('scheduleMessage', {
  description: 'Schedules a message. The viewer must be permitted to send it, now and at the delivery time.',
  input: (t) => ({
    to: t.field({ type: MessageTarget, description: 'Target of the message.' }),
    content: t.string({ description: CONTENT }),
    scheduledAt: t.field({ type: 'DateTime', description: SCHEDULED_AT }),
    readBySender: t.boolean({
      required: false,
      description:
        'Whether the sent message is marked as read for the viewer. Absent: true if the message has other recipients and ' +
        'this request comes from a web, desktop, mobile or terminal client. Clients are recognized by their name, in ' +
        'general the start of the User-Agent.',
    }),
  }),
  payload: () => ({ scheduledMessage: { type: ScheduledMessage, description: 'The new scheduled message.' } }),
  resolve: async (ctx, { to, content, scheduledAt, readBySender }) => {
    const message = { ...(await placeIn(ctx, to)), content, ...given({ readBySender }) };
    const id = await scheduleMessage(ctx, { ...message, timestamp: toTimestamp(scheduledAt) });
    return { scheduledMessage: await accessScheduledMessage(ctx, id) };
  },
});

mutation('updateScheduledMessage', {
  description: 'Changes a scheduled message. A failed message is scheduled again and requires a new delivery time.',
  input: (t) => ({
    scheduledMessageId: t.id({
      ...refersTo('ScheduledMessage'),
      description: "Id of one of the viewer's scheduled messages that has not been sent.",
    }),
    to: t.field({ type: MessageTarget, required: false, description: 'Target of the message. Absent: unchanged.' }),
    content: t.string({ required: false, description: CONTENT }),
    scheduledAt: t.field({ type: 'DateTime', required: false, description: SCHEDULED_AT }),
  }),
  payload: () => ({ scheduledMessage: { type: ScheduledMessage, description: 'The updated scheduled message.' } }),
  resolve: async (ctx, { scheduledMessageId, to, content, scheduledAt }) => {
    const timestamp = scheduledAt == null ? {} : { timestamp: toTimestamp(scheduledAt) };
    const edit = { ...(to != null && (await placeIn(ctx, to))), ...given({ content }), ...timestamp };
    await updateScheduledMessage(ctx, scheduledMessageId, edit);
    return { scheduledMessage: await accessScheduledMessage(ctx, scheduledMessageId) };
  },
});

mutation('cancelScheduledMessage', {
  description: 'Cancels a scheduled message, or deletes a failed one.',
  input: (t) => ({
    scheduledMessageId: t.id({
      ...refersTo('ScheduledMessage'),
      description: "Id of one of the viewer's scheduled messages that has not been sent.",
    }),
  }),
  payload: () => ({
    scheduledMessageId: {
      type: 'ID',
      refersTo: 'ScheduledMessage',
      description: 'Id of the deleted scheduled message.',
    },
  }),
  resolve: async (ctx, { scheduledMessageId }) => {
    await cancelScheduledMessage(ctx, scheduledMessageId);
    return { scheduledMessageId };
  },
});

eventType(
  'scheduled_messages',
  'add',
  'ScheduledMessagesAddedEvent',
  (t) => ({
    scheduledMessages: t.field({
      type: [ScheduledMessage],
      nullable: { list: false, items: true },
      description: 'The new scheduled messages.',
      ...projectedFromEvent(projectionOf),
      // An event contains only one message.
      complexity: { field: 1, multiplier: 1 },
    }),
  }),
  { description: 'The user scheduled messages.', outdates: ['scheduledMessages'] },
);

eventType(
  'scheduled_messages',
  'update',
  'ScheduledMessageUpdatedEvent',
  (t) => ({
    scheduledMessage: t.field({
      type: ScheduledMessage,
      nullable: true,
      description: 'The updated scheduled message.',
      ...projectedFromEvent(projectionOf),
    }),
  }),
  { description: 'The user edited a scheduled message, or its delivery failed.' },
);

eventType<{ scheduled_message_id: number }>(
  'scheduled_messages',
  'remove',
  'ScheduledMessageRemovedEvent',
  (t) => ({
    scheduledMessageId: t.id({
      ...refersTo('ScheduledMessage'),
      description: 'Id of the removed scheduled message.',
      resolve: ({ event }) => event.scheduled_message_id,
    }),
  }),
  { description: 'A scheduled message was sent or canceled.', outdates: ['scheduledMessages'] },
);
