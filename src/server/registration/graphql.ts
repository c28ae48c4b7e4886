import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { EventInterface, type EventSource, eventTypeEnum } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { BadEventQueueIdError } from '../../events/errors.ts';
import { ALL_CAPABILITIES, type QueueOptions, type RenderOptions } from '../../events/view.ts';
import { BadNarrowError } from '../../messages/narrow/errors.ts';
import { MessageNarrow, termsIn } from '../../messages/narrow/graphql.ts';
import { queueNarrow } from '../../messages/narrow/queue-narrow.ts';
import { LONGPOLL_TIMEOUT_SECONDS } from '../../platform/limits.ts';
import { queueDefaults } from './bot-defaults.ts';
import {
  acknowledgeEvents,
  DEFAULT_IDLE_SECONDS,
  deleteQueue,
  peekEvents,
  type QueuePage,
  registerQueue,
} from './service.ts';

/**
 * Rendering options of a queue that was registered over GraphQL. They affect only clients that read the queue over REST,
 * because events in GraphQL do not depend on them. All capabilities are on.
 */
const RENDER_OPTIONS: RenderOptions = {
  applyMarkdown: false,
  clientGravatar: false,
  includeSubscribers: 'false',
  slimPresence: false,
  capabilities: ALL_CAPABILITIES,
};

const QUEUE = 'Id of the queue, from `registerEventQueue`.';

mutation('registerEventQueue', {
  scope: 'events',
  ignoresIdempotencyKey: true,
  answersWithState: true,
  description:
    'Registers an event queue: a position in the event log, and a filter for the events after it. The `query` field ' +
    'of the payload reads the state at that position, in the same request. State that is read later can already ' +
    'include the first events. Events contain full new values, so applying one twice is harmless.',
  input: (t) => ({
    eventTypes: t.field({
      type: [eventTypeEnum()],
      required: false,
      description: 'Types of the events to receive. Default: all. Heartbeats are always sent.',
    }),
    idleTimeoutSeconds: t.int({
      required: false,
      description:
        'Idle timeout in seconds: the queue expires if it is not read for this time. At least 1, at most 604,800 (a ' +
        'week). Default: 600.',
    }),
    allPublicChannels: t.boolean({
      required: false,
      description:
        'Whether to receive messages of all public channels, including those that the viewer is not subscribed to. ' +
        'Not available to guests. Default: false, or for a bot the value that its owner set.',
    }),
    narrow: t.field({
      type: MessageNarrow,
      required: false,
      description:
        'Filter for messages: only messages that meet it when they are sent are received. Supports `channel`, `topic`, ' +
        '`topicNamed`, `senderId`, and `is` with DIRECT, MENTIONED, UNREAD and RESOLVED; other conditions are refused. At ' +
        'most 20 conditions. Default: none, or for a bot the channel that its owner set.',
    }),
  }),
  payload: () => ({
    queueId: { type: 'String', description: 'Id of the queue, for `events` over every transport.' },
    position: {
      type: 'LongId',
      isAlwaysThere: true,
      description: 'Position in the event log at which the queue begins. Its first event has a higher position.',
    },
    idleTimeoutSeconds: { type: 'Int', description: 'Idle timeout of the queue, in seconds.' },
    longPollTimeoutSeconds: {
      type: 'Int',
      description: 'Read timeout for clients, in seconds. Heartbeats are sent in shorter intervals.',
    },
    notice: {
      type: 'String',
      nullable: true,
      description: 'For a bot that is subscribed to no channel: how to receive messages. Otherwise null.',
    },
  }),
  errors: [BadNarrowError],
  async resolve(ctx, input) {
    const defaults = await queueDefaults(ctx);
    const options: QueueOptions = {
      ...RENDER_OPTIONS,
      eventTypes: input.eventTypes ?? null,
      allPublicChannels: input.allPublicChannels ?? defaults.allPublicChannels,
      narrow: input.narrow == null ? defaults.narrow : await queueNarrow(ctx, termsIn(input.narrow)),
    };
    const { queueId, lastEventId, idleTimeoutSecs, notice } = await registerQueue(ctx, {
      options,
      fetchEventTypes: [],
      idleTimeoutSecs: input.idleTimeoutSeconds ?? DEFAULT_IDLE_SECONDS,
    });
    return {
      queueId,
      position: lastEventId,
      idleTimeoutSeconds: idleTimeoutSecs,
      longPollTimeoutSeconds: LONGPOLL_TIMEOUT_SECONDS,
      notice: notice ?? null,
    };
  },
});

const QueueLossReason = builder.enumType('QueueLossReason', {
  description: 'Reason why an event queue, or a position in it, is invalid.',
  values: {
    UNKNOWN: { value: 'unknown', description: 'The queue does not exist, or belongs to another user.' },
    EXPIRED: { value: 'expired', description: 'The queue expired, was deleted, or was ended by the service.' },
    DISPLACED: {
      value: 'displaced',
      description: 'Another client started to read the queue. The queue continues for that client.',
    },
    PRUNED: { value: 'pruned', description: 'The event log no longer contains the events after the position.' },
    FROM_FUTURE: { value: 'from_future', description: 'The position is higher than that of any event.' },
    RESTORED: {
      value: 'restored',
      description:
        'The service was restored from a backup, so received events may no longer exist. Read the state again.',
    },
  } as const,
});

errorType(BadEventQueueIdError, 'The event queue, or the position in it, is invalid. Register a new queue.', (t) => ({
  queueId: t.string({ description: 'The given queue id.', resolve: ({ data }) => data.queue_id }),
  reason: t.field({
    type: QueueLossReason,
    description: 'Reason why the queue or the position is invalid.',
    resolve: ({ data }) => data.reason,
  }),
}));

mutation('deleteEventQueue', {
  scope: 'events',
  ignoresIdempotencyKey: true,
  description: 'Deletes an event queue. A subscription to its events completes.',
  input: (t) => ({ queueId: t.string({ description: QUEUE }) }),
  payload: () => ({ queueId: { type: 'String', description: 'Id of the deleted queue.' } }),
  errors: [BadEventQueueIdError],
  async resolve(ctx, { queueId }) {
    await deleteQueue(ctx, queueId);
    return { queueId };
  },
});

mutation('acknowledgeEvents', {
  scope: 'events',
  ignoresIdempotencyKey: true,
  description:
    'Acknowledges all events up to a position. A client that reads the queue without giving a position ' +
    'continues after the acknowledged one.',
  input: (t) => ({
    queueId: t.string({ description: QUEUE }),
    upTo: t.field({ type: 'LongId', description: 'Position of the last received event.' }),
  }),
  payload: () => ({
    queueId: { type: 'String', description: 'Id of the queue.' },
    upTo: { type: 'LongId', description: 'The acknowledged position.' },
  }),
  errors: [BadEventQueueIdError],
  async resolve(ctx, { queueId, upTo }) {
    await acknowledgeEvents(ctx, queueId, upTo);
    return { queueId, upTo };
  },
});

const EventPage = builder.objectRef<QueuePage>('EventPage').implement({
  description: 'A page of events of a queue.',
  fields: (t) => ({
    events: t.field({
      type: [EventInterface],
      description: 'Events, ascending by position. They come from at most 500 changes.',
      resolve: ({ pieces }): EventSource[] => [...pieces],
    }),
    endPosition: t.expose('endId', {
      type: 'LongId',
      description: 'Position up to which the page is complete. Pass it as the next `after`.',
    }),
    hasMore: t.exposeBoolean('hasMore', { description: 'Whether there are more events.' }),
  }),
});

builder.queryField('events', (t) =>
  t.field({
    type: EventPage,
    nullable: true,
    extensions: { scope: ['read', 'events'] },
    description:
      'The next events of a queue, without waiting. Does not acknowledge them, and does not end a subscription or ' +
      'request that reads the queue. Null, with an error, if the queue does not exist.',
    args: {
      queueId: t.arg.string({ description: QUEUE }),
      after: t.arg({
        type: 'LongId',
        required: false,
        description:
          'Position after which the page begins. -1 is the start of the queue. Default: the acknowledged position.',
      }),
    },
    resolve: (_root, { queueId, after }, ctx) => peekEvents(signedIn(ctx), queueId, after ?? undefined),
  }),
);

builder.subscriptionField('events', (t) =>
  t.field({
    type: EventInterface,
    description:
      'Events of a queue: first the stored ones, then each new one as it happens. If another client starts to ' +
      'read the queue, over any transport, this subscription completes.',
    args: {
      queueId: t.arg.string({ description: QUEUE }),
      after: t.arg({
        type: 'LongId',
        required: false,
        description:
          'Position after which the subscription begins. If the acknowledged position, or the position given when the ' +
          'connection was opened, is higher, it is used instead.',
      }),
    },
    // The executor of graphql-js never runs subscriptions. The transports run them, and share one execution among all readers
    // that are sent the same rendering of an event.
    subscribe: () => {
      throw new Error('Subscriptions require WebSocket or server-sent events');
    },
    resolve: (piece) => piece as EventSource,
  }),
);
