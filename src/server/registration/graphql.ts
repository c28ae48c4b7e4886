import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { EventInterface, type EventSource, eventTypeEnum } from '../../api/graphql/event-types.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { BadEventQueueIdError } from '../../events/errors.ts';
import { ALL_CAPABILITIES, type QueueOptions, type RenderOptions } from '../../events/view.ts';
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

const QueueNarrowState = builder.enumType('QueueNarrowState', {
  description: 'What a message that was just sent can be.',
  values: {
    DIRECT: { value: 'dm', description: 'Among people.' },
    MENTIONED: {
      value: 'mentioned',
      description: 'It mentions the viewer: by name, through a group, or with everybody.',
    },
    UNREAD: { value: 'unread', description: 'The viewer did not send it, or has not read it.' },
    RESOLVED: { value: 'resolved', description: 'Its topic is marked as resolved.' },
  } as const,
});

const NarrowTerm = builder.inputType('QueueNarrowTermInput', {
  description: 'A condition a message must meet to be heard.',
  isOneOf: true,
  fields: (t) => ({
    channelName: t.string({ required: false, description: 'The name of its channel, in whatever case.' }),
    topic: t.string({ required: false, description: 'The name of its topic, in whatever case.' }),
    senderEmail: t.string({
      required: false,
      description: 'The address that the API knows its sender by, in whatever case.',
    }),
    is: t.field({ type: QueueNarrowState, required: false, description: 'What it must be.' }),
  }),
});

/** The operator of each field. */
const OPERATOR_OF = { channelName: 'channel', topic: 'topic', senderEmail: 'sender', is: 'is' } as const;

/** The term that the one field given stands for. */
function toTerm(input: typeof NarrowTerm.$inferInput): readonly [string, string] {
  const [[field, operand] = []] = Object.entries(given(input));
  return [OPERATOR_OF[field as keyof typeof OPERATOR_OF], operand ?? ''];
}

/**
 * How events look in a queue that is registered here, should it be read by long poll: with all there is to know, since
 * nothing of how GraphQL shows them depends on it.
 */
const AS_THEY_ARE: RenderOptions = {
  applyMarkdown: false,
  clientGravatar: false,
  includeSubscribers: 'false',
  slimPresence: false,
  capabilities: ALL_CAPABILITIES,
};

const QUEUE = 'The queue, as `registerEventQueue` named it.';

mutation('registerEventQueue', {
  ignoresIdempotencyKey: true,
  answersWithState: true,
  description:
    'Makes a queue: a place in the event log, and what is heard from there. `query` answers with the state that its first ' +
    'event follows, in the same request. State queried after this may already hold the effect of some of its first ' +
    'events; each event carries full new values, so applying one again is harmless.',
  input: (t) => ({
    eventTypes: t.field({
      type: [eventTypeEnum()],
      required: false,
      description: 'What kinds of events are heard. Absent: all. Heartbeats always are.',
    }),
    idleTimeoutSeconds: t.int({
      required: false,
      description:
        'How long the queue lives with nobody reading, in seconds: 1 or more, 600 when absent, a week (604,800) at most.',
    }),
    allPublicChannels: t.boolean({
      required: false,
      description:
        'Hear the messages of every public channel, of those the viewer is not in as well. Not for guests. Absent: ' +
        'false or, for a bot, what its owner chose.',
    }),
    narrow: t.field({
      type: [NarrowTerm],
      required: false,
      description:
        'Which messages are heard: those that meet all of these, at most 20. Absent: all or, for a bot, those of the ' +
        'channel its owner chose.',
    }),
  }),
  payload: () => ({
    queueId: { type: 'String', description: 'What `events` takes, over every transport.' },
    position: {
      type: 'LongId',
      isAlwaysThere: true,
      description: 'Where the queue begins, in the log: the first event has a higher position.',
    },
    idleTimeoutSeconds: { type: 'Int', description: 'How long the queue lives with nobody reading, in seconds.' },
    longPollTimeoutSeconds: {
      type: 'Int',
      description: 'Longer than any silence, in seconds: heartbeats come in between.',
    },
  }),
  async resolve(ctx, input) {
    const defaults = await queueDefaults(ctx);
    const options: QueueOptions = {
      ...AS_THEY_ARE,
      eventTypes: input.eventTypes ?? null,
      allPublicChannels: input.allPublicChannels ?? defaults.allPublicChannels,
      narrow: input.narrow?.map(toTerm) ?? defaults.narrow,
    };
    const { queueId, lastEventId, idleTimeoutSecs } = await registerQueue(ctx, {
      options,
      fetchEventTypes: [],
      idleTimeoutSecs: input.idleTimeoutSeconds ?? DEFAULT_IDLE_SECONDS,
    });
    return {
      queueId,
      position: lastEventId,
      idleTimeoutSeconds: idleTimeoutSecs,
      longPollTimeoutSeconds: LONGPOLL_TIMEOUT_SECONDS,
    };
  },
});

const QueueLossReason = builder.enumType('QueueLossReason', {
  description: 'Why an event queue, or a position in it, is lost.',
  values: {
    UNKNOWN: { value: 'unknown', description: "There is no such queue, or it is another user's." },
    EXPIRED: { value: 'expired', description: 'The queue was idle for too long, deleted, or ended by the service.' },
    PRUNED: { value: 'pruned', description: 'The position is older than what the log still holds.' },
    FROM_FUTURE: { value: 'from_future', description: 'The position is above every id given out so far.' },
    RESTORED: {
      value: 'restored',
      description: 'The service was restored from a back-up: what was read may be gone again. Read all of it anew.',
    },
  } as const,
});

errorType(BadEventQueueIdError, 'The queue, or the position in it, is lost: register a new one.', (t) => ({
  queueId: t.string({ description: 'The queue, as the client named it.', resolve: ({ data }) => data.queue_id }),
  reason: t.field({ type: QueueLossReason, description: 'Why it is lost.', resolve: ({ data }) => data.reason }),
}));

mutation('deleteEventQueue', {
  ignoresIdempotencyKey: true,
  description: 'Ends a queue. Its reader is told.',
  input: (t) => ({ queueId: t.string({ description: QUEUE }) }),
  payload: () => ({ queueId: { type: 'String', description: 'The queue that has ended.' } }),
  errors: [BadEventQueueIdError],
  async resolve(ctx, { queueId }) {
    await deleteQueue(ctx, queueId);
    return { queueId };
  },
});

mutation('acknowledgeEvents', {
  ignoresIdempotencyKey: true,
  description: 'Says that everything up to a position has arrived: a reader that names no position resumes after it.',
  input: (t) => ({
    queueId: t.string({ description: QUEUE }),
    upTo: t.field({ type: 'LongId', description: 'The position of the last event that has arrived.' }),
  }),
  payload: () => ({
    queueId: { type: 'String', description: 'The queue.' },
    upTo: { type: 'LongId', description: 'The position that was told.' },
  }),
  errors: [BadEventQueueIdError],
  async resolve(ctx, { queueId, upTo }) {
    await acknowledgeEvents(ctx, queueId, upTo);
    return { queueId, upTo };
  },
});

const EventPage = builder.objectRef<QueuePage>('EventPage').implement({
  description: 'Some events of a queue, in order.',
  fields: (t) => ({
    events: t.field({
      type: [EventInterface],
      description: 'The events, by rising position: of 500 changes at most.',
      resolve: ({ pieces }): EventSource[] => [...pieces],
    }),
    endPosition: t.expose('endId', {
      type: 'LongId',
      description: 'Nothing up to here is missing: the next `after`.',
    }),
    hasMore: t.exposeBoolean('hasMore', { description: 'Whether more has happened already.' }),
  }),
});

builder.queryField('events', (t) =>
  t.field({
    type: EventPage,
    nullable: true,
    description:
      'The next events of a queue, at once. Acknowledges nothing and leaves the reader of the queue alone. Null, with an ' +
      'error, where there is no such queue.',
    args: {
      queueId: t.arg.string({ description: QUEUE }),
      after: t.arg({
        type: 'LongId',
        required: false,
        description: 'Events with higher positions; -1 is the start of the queue, absent is what was acknowledged.',
      }),
    },
    resolve: (_root, { queueId, after }, ctx) => peekEvents(signedIn(ctx), queueId, after ?? undefined),
  }),
);

builder.subscriptionField('events', (t) =>
  t.field({
    type: EventInterface,
    description:
      'Each event of a queue as it happens, after those that happened meanwhile. A newer reader of the queue, over ' +
      'whatever transport, completes this one.',
    args: {
      queueId: t.arg.string({ description: QUEUE }),
      after: t.arg({
        type: 'LongId',
        required: false,
        description:
          'The subscription begins at the greatest of this, what was acknowledged, and what was told with the connection.',
      }),
    },
    // Run by the socket and by the event stream, which share one execution among all readers of the same rendering.
    subscribe: () => {
      throw new Error('Subscriptions run over WebSocket or server-sent events');
    },
    resolve: (piece) => piece as EventSource,
  }),
);
