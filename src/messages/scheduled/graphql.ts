import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel, nodeOf, nodesOf } from '../../api/graphql/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { byKey, byKeyIfAny } from '../../api/graphql/together.ts';
import { ChannelDoesNotExistError } from '../../channels/errors.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { Message } from '../graphql.ts';
import { WildcardMentionNotAllowedError } from '../sending/errors.ts';
import { MessageTarget, placeOf } from '../sending/message-target.ts';
import { Topic, topicAt } from '../topics/graphql.ts';
import { deliveryFields } from './delivery-fields.ts';
import { factsAbout } from './entity-facts.ts';
import { lastMoment } from './lateness.ts';
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
  description: 'A message that is sent in the name of its owner when its time comes.',
  fields: (t) => ({
    ...deliveryFields(t, {
      databaseId: 'The number that the REST API knows it by. Not that of the message it becomes.',
      content: 'What it says, as flavored Markdown.',
      renderedContent: '`content` as HTML. Rendered again when it is sent.',
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description:
        'The channel it is for; null for a direct message, and when the viewer does not see the channel any more.',
      resolve: byKeyIfAny(visibleChannels, ({ channelId }) => channelId),
    }),
    recipients: t.field({
      type: [User],
      nullable: true,
      description: 'Those it is for, 250 at most; null for a channel message.',
      resolve: ({ channelId, recipientIds }, _args, ctx) =>
        channelId === null ? nodesOf(ctx, 'User', recipientIds) : null,
    }),
    topicName: t.exposeString('topic', { description: 'The topic it is for; empty unless it is for a channel.' }),
    topic: t.field({
      type: Topic,
      nullable: true,
      description: 'The topic it is for; null as long as that holds no message that the viewer may read.',
      resolve: ({ channelId, topic }, _args, ctx) => topicAt(ctx, channelId, topic),
    }),
    sentUntil: t.field({
      type: 'DateTime',
      description: 'Should the service not come to send it until then, it fails.',
      resolve: ({ scheduledAt }) => lastMoment(scheduledAt),
    }),
    readBySender: t.exposeBoolean('readBySender', { description: 'Whether its owner will have read it.' }),
    message: t.field({
      type: Message,
      nullable: true,
      description:
        'The message it became; null until it is sent, and when that is not for the viewer to read any more.',
      resolve: ({ deliveredMessageId: id }, _args, ctx) => nodeOf(ctx, 'Message', id === null ? null : Number(id)),
    }),
    owner: t.field({
      type: User,
      description: 'Who scheduled it, and in whose name it is sent.',
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
  SCHEDULED_AT: { value: 'scheduledAt', description: 'When they are to be sent.' },
  ID: { value: 'id', description: 'The order in which they were made.' },
});

const EARLIEST_FIRST: OrderBy<'scheduledAt' | 'id'> = { field: 'scheduledAt', direction: 'asc' };

builder.queryField('scheduledMessages', (t) =>
  t.connection(
    {
      type: ScheduledMessage,
      description: 'What the viewer has scheduled and is not sent.',
      args: {
        orderBy: t.arg({
          type: ScheduledMessageOrder,
          required: false,
          defaultValue: EARLIEST_FIRST,
          description: 'How they are sorted.',
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

const CONTENT = 'What it says, as flavored Markdown. Cut to 10,000 characters.';
const SCHEDULED_AT = 'When it is to be sent: in the future.';

mutation('scheduleMessage', {
  description: 'Schedules a message that the viewer could send now. Whether they may is asked again when it is sent.',
  input: (t) => ({
    to: t.field({ type: MessageTarget, description: 'Where it is to go.' }),
    content: t.string({ description: CONTENT }),
    scheduledAt: t.field({ type: 'DateTime', description: SCHEDULED_AT }),
    readBySender: t.boolean({
      required: false,
      description: 'Whether the viewer has read it. Absent: whether an interactive client sends it to somebody else.',
    }),
  }),
  payload: () => ({ scheduledMessage: { type: ScheduledMessage, description: 'What is scheduled now.' } }),
  errors: [ChannelDoesNotExistError, WildcardMentionNotAllowedError],
  resolve: async (ctx, { to, content, scheduledAt, readBySender }) => {
    const message = { ...placeOf(to), content, ...given({ readBySender }) };
    const id = await scheduleMessage(ctx, { ...message, timestamp: toTimestamp(scheduledAt) });
    return { scheduledMessage: await accessScheduledMessage(ctx, id) };
  },
});

mutation('updateScheduledMessage', {
  description:
    'Changes a scheduled message. One that could not be sent is to be sent again, at the new time it must be given.',
  input: (t) => ({
    scheduledMessageId: t.id({
      ...refersTo('ScheduledMessage'),
      description: 'What the viewer has scheduled, and is not sent yet.',
    }),
    to: t.field({ type: MessageTarget, required: false, description: 'Where it is to go. Absent: as it is.' }),
    content: t.string({ required: false, description: CONTENT }),
    scheduledAt: t.field({ type: 'DateTime', required: false, description: SCHEDULED_AT }),
  }),
  payload: () => ({ scheduledMessage: { type: ScheduledMessage, description: 'As it is now.' } }),
  errors: [ChannelDoesNotExistError, WildcardMentionNotAllowedError],
  resolve: async (ctx, { scheduledMessageId, to, content, scheduledAt }) => {
    const timestamp = scheduledAt == null ? {} : { timestamp: toTimestamp(scheduledAt) };
    const edit = { ...(to != null && placeOf(to)), ...given({ content }), ...timestamp };
    await updateScheduledMessage(ctx, scheduledMessageId, edit);
    return { scheduledMessage: await accessScheduledMessage(ctx, scheduledMessageId) };
  },
});

mutation('cancelScheduledMessage', {
  description: 'Cancels a scheduled message, or deletes one that could not be sent.',
  input: (t) => ({
    scheduledMessageId: t.id({
      ...refersTo('ScheduledMessage'),
      description: 'What the viewer has scheduled, and is not sent yet.',
    }),
  }),
  payload: () => ({
    scheduledMessageId: {
      type: 'ID',
      refersTo: 'ScheduledMessage',
      description: 'Of the scheduled message that is gone.',
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
      description: 'What is scheduled now.',
      ...fromEvent(factsAbout),
      // One at a time.
      complexity: { field: 1, multiplier: 1 },
    }),
  }),
  { description: 'The user scheduled messages.' },
);

eventType(
  'scheduled_messages',
  'update',
  'ScheduledMessageUpdatedEvent',
  (t) => ({
    scheduledMessage: t.field({
      type: ScheduledMessage,
      nullable: true,
      description: 'As it is now.',
      ...fromEvent(factsAbout),
    }),
  }),
  { description: 'The user edited a scheduled message, or it could not be sent.' },
);

eventType<{ scheduled_message_id: number }>(
  'scheduled_messages',
  'remove',
  'ScheduledMessageRemovedEvent',
  (t) => ({
    scheduledMessageId: t.id({
      ...refersTo('ScheduledMessage'),
      description: 'The scheduled message that is gone.',
      resolve: ({ event }) => event.scheduled_message_id,
    }),
  }),
  { description: 'A scheduled message was sent, or the user cancelled it.' },
);
