import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { nodeModel, nodeOf, nodesOf } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { ChannelDoesNotExistError } from '../../channels/errors.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { User } from '../../people/graphql.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { Message } from '../graphql.ts';
import { WildcardMentionNotAllowedError } from '../sending/errors.ts';
import { LATENESS_MS } from './delivery.ts';
import {
  accessScheduledMessage,
  cancelScheduledMessage,
  LAST_TIMESTAMP,
  scheduleMessage,
  undelivered,
  updateScheduledMessage,
  visibleTo,
} from './service.ts';
import type { WireScheduledMessage } from './wire.ts';

/** Of what waits to be delivered, and of reminders as well. */
export const DeliveryState = builder.enumType('DeliveryState', {
  description: 'What has become of something that was to be delivered at a time.',
  values: {
    SCHEDULED: { value: 'scheduled', description: 'Its time has not come.' },
    DELIVERED: { value: 'delivered', description: 'It was sent.' },
    FAILED: { value: 'failed', description: 'It could not be sent, and is not tried again by itself.' },
  } as const,
});

export type State = 'scheduled' | 'delivered' | 'failed';

const DIRECT_TO = 'Those it is for; null for a channel message.';
const DUE = 'When it is to be sent.';

export const ScheduledMessage = builder.prismaNode('ScheduledMessage', {
  id: { field: 'id' },
  description: 'A message that is sent in the name of its owner when its time comes.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', {
      description: 'The number that the REST API knows it by. Not that of the message it becomes.',
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description:
        'The channel it is for; null for a direct message, and when the viewer does not see the channel any more.',
      resolve: ({ channelId }, _args, ctx) => (channelId === null ? null : visibleChannels(ctx).load(channelId)),
    }),
    recipients: t.field({
      type: [User],
      nullable: true,
      description: `${DIRECT_TO} At most 250.`,
      resolve: ({ channelId, recipientIds }, _args, ctx) =>
        channelId === null ? nodesOf(ctx, 'User', recipientIds) : null,
    }),
    topic: t.exposeString('topic', { description: 'The topic it is for; empty unless it is for a channel.' }),
    content: t.exposeString('content', { description: 'What it says, as flavored Markdown.' }),
    renderedContent: t.exposeString('renderedContent', {
      description: '`content` as HTML. Rendered again when it is sent.',
    }),
    scheduledAt: t.expose('scheduledAt', { type: 'DateTime', description: DUE }),
    sentUntil: t.field({
      type: 'DateTime',
      description: 'Should the service not come to send it until then, it fails.',
      resolve: ({ scheduledAt }) => new Date(Math.min(scheduledAt.getTime() + LATENESS_MS, LAST_TIMESTAMP * 1000)),
    }),
    readBySender: t.exposeBoolean('readBySender', { description: 'Whether its owner will have read it.' }),
    state: t.field({
      type: DeliveryState,
      description: 'Whether it was sent.',
      resolve: ({ state }) => state as State,
    }),
    failureReason: t.exposeString('failureMessage', {
      nullable: true,
      description: 'Why it could not be sent; null unless it failed.',
    }),
    message: t.field({
      type: Message,
      nullable: true,
      description:
        'The message it became; null until it is sent, and when that is not for the viewer to read any more.',
      resolve: ({ deliveredMessageId: id }, _args, ctx) => nodeOf(ctx, 'Message', id === null ? null : Number(id)),
    }),
    owner: t.relation('owner', { description: 'Who scheduled it, and in whose name it is sent.' }),
  }),
});
nodeModel('ScheduledMessage', 'ScheduledMessage', visibleTo);

const ScheduledMessageConnection = builder.connectionObject(
  { type: ScheduledMessage, name: 'ScheduledMessageConnection' },
  { name: 'ScheduledMessageEdge' },
);

builder.queryField('scheduledMessages', (t) =>
  t.connection(
    {
      type: ScheduledMessage,
      description: 'What the viewer has scheduled and is not sent, the earliest first.',
      resolve: (_root, args, ctx, info) => {
        const where = undelivered(signedIn(ctx).viewer);
        return pageOf('ScheduledMessage', { where, order: { scheduledAt: 'asc', id: 'asc' }, args, ctx, info });
      },
    },
    ScheduledMessageConnection,
  ),
);

const toTimestamp = (date: Date): number => date.getTime() / 1000;

interface Destinations {
  readonly channelId?: number | null | undefined;
  readonly directTo?: readonly number[] | null | undefined;
}

/** Where it is to go, if that is said. */
function destinationIn({ channelId, directTo }: Destinations) {
  if (channelId != null && directTo != null) throw new BadRequestError('Give one of channelId and directTo');
  if (channelId != null) return { type: 'channel', to: channelId } as const;
  return directTo == null ? undefined : ({ type: 'direct', to: directTo } as const);
}

const INTO = {
  channelId: 'The channel it is for.',
  directTo: 'Those it is for, instead; the viewer need not be named. Alone, it is a note to self.',
  topic: 'The topic of a channel message. Cut to 60 characters.',
  content: 'What it says, as flavored Markdown. Cut to 10,000 characters.',
  scheduledAt: 'When it is to be sent: in the future.',
} as const;

mutation('scheduleMessage', {
  description: 'Schedules a message that the viewer could send now. Whether they may is asked again when it is sent.',
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), required: false, description: INTO.channelId }),
    directTo: t.idList({ ...refersTo('User'), required: false, description: INTO.directTo }),
    topic: t.string({ required: false, description: INTO.topic }),
    content: t.string({ description: INTO.content }),
    scheduledAt: t.field({ type: 'DateTime', description: INTO.scheduledAt }),
    readBySender: t.boolean({
      required: false,
      description: 'Whether the viewer has read it. Absent: whether an interactive client sends it to somebody else.',
    }),
  }),
  payload: () => ({ scheduledMessage: { type: ScheduledMessage, description: 'What is scheduled now.' } }),
  errors: [ChannelDoesNotExistError, WildcardMentionNotAllowedError],
  resolve: async (ctx, { channelId, directTo, topic, content, scheduledAt, readBySender }) => {
    const destination = destinationIn({ channelId, directTo });
    if (destination === undefined) throw new BadRequestError('Give one of channelId and directTo');
    const message = { ...destination, content, ...given({ topic, readBySender }) };
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
    channelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: `${INTO.channelId} Give its topic as well.`,
    }),
    directTo: t.idList({ ...refersTo('User'), required: false, description: INTO.directTo }),
    topic: t.string({ required: false, description: INTO.topic }),
    content: t.string({ required: false, description: INTO.content }),
    scheduledAt: t.field({ type: 'DateTime', required: false, description: INTO.scheduledAt }),
  }),
  payload: () => ({ scheduledMessage: { type: ScheduledMessage, description: 'As it is now.' } }),
  errors: [ChannelDoesNotExistError, WildcardMentionNotAllowedError],
  resolve: async (ctx, { scheduledMessageId, channelId, directTo, topic, content, scheduledAt }) => {
    const timestamp = scheduledAt == null ? {} : { timestamp: toTimestamp(scheduledAt) };
    const edit = { ...destinationIn({ channelId, directTo }), ...given({ topic, content }), ...timestamp };
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

const ScheduledMessageValue = builder.objectRef<WireScheduledMessage>('ScheduledMessageValue').implement({
  description: 'A scheduled message as it was when the event happened.',
  fields: (t) => ({
    id: t.expose('scheduled_message_id', {
      type: 'ID',
      ...refersTo('ScheduledMessage'),
      description: 'The `id` of the ScheduledMessage.',
    }),
    databaseId: t.exposeInt('scheduled_message_id', { description: 'The number that the REST API knows it by.' }),
    channelId: t.id({
      ...refersTo('Channel'),
      nullable: true,
      description: 'The channel it is for; null for a direct message.',
      resolve: ({ to }) => (typeof to === 'number' ? to : null),
    }),
    directTo: t.idList({
      ...refersTo('User'),
      nullable: true,
      description: DIRECT_TO,
      resolve: ({ to }) => (typeof to === 'number' ? null : to),
    }),
    topic: t.string({
      description: 'The topic it is for; empty unless it is for a channel.',
      resolve: ({ topic }) => topic ?? '',
    }),
    content: t.exposeString('content', { description: 'What it says, as flavored Markdown.' }),
    renderedContent: t.exposeString('rendered_content', { description: '`content` as HTML.' }),
    scheduledAt: t.field({
      type: 'DateTime',
      description: DUE,
      resolve: (message) => fromUnix(message.scheduled_delivery_timestamp),
    }),
    failed: t.exposeBoolean('failed', { description: 'Whether it could not be sent, and is not tried again.' }),
  }),
});

eventType<{ scheduled_messages: readonly WireScheduledMessage[] }>(
  'scheduled_messages',
  'add',
  'ScheduledMessagesAddedEvent',
  (t) => ({
    scheduledMessages: t.field({
      type: [ScheduledMessageValue],
      description: 'What is scheduled now.',
      resolve: ({ event }) => event.scheduled_messages,
    }),
  }),
  { description: 'The user scheduled messages.' },
);

eventType<{ scheduled_message: WireScheduledMessage }>(
  'scheduled_messages',
  'update',
  'ScheduledMessageUpdatedEvent',
  (t) => ({
    scheduledMessage: t.field({
      type: ScheduledMessageValue,
      description: 'As it is now.',
      resolve: ({ event }) => event.scheduled_message,
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
