import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { EventInterface, type EventSource } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { BadEventQueueIdError } from '../../events/errors.ts';
import { CAPABILITIES, type Capability, NO_CAPABILITIES, type QueueOptions } from '../../events/view.ts';
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

const IncludeSubscribers = builder.enumType('IncludeSubscribers', {
  description: 'Whether channels in events come with their subscribers.',
  values: {
    ALL: { value: 'true', description: 'With all of them.' },
    PARTIAL: { value: 'partial', description: 'With all of them where the channel is small, else with some.' },
    NONE: { value: 'false', description: 'Without.' },
  } as const,
});

const camelCase = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

const ClientCapabilities = builder.inputType('ClientCapabilitiesInput', {
  description: 'What the client can handle: what is not said is taken as false.',
  fields: (t) =>
    Object.fromEntries(CAPABILITIES.map((name) => [camelCase(name), t.boolean({ required: false })])) as Record<
      string,
      ReturnType<typeof t.boolean>
    >,
});

const NarrowTerm = builder.inputType('QueueNarrowTermInput', {
  description: 'A condition a message must meet to be heard.',
  fields: (t) => ({
    operator: t.string({ description: '"channel", "topic", "sender" or "is".' }),
    operand: t.string(),
  }),
});

const SHAPING_ONLY = 'Shapes how events look in this queue, not which there are.';

mutation('registerEventQueue', {
  ignoresIdempotencyKey: true,
  description:
    'Makes a queue: a place in the event log, and what is heard from there. State queried after this may already ' +
    'hold the effect of some of its first events; each event carries full new values, so applying one again is harmless.',
  input: (t) => ({
    eventTypes: t.stringList({
      required: false,
      description: 'The event types heard, named as over REST. Absent: all.',
    }),
    idleTimeoutSeconds: t.int({
      required: false,
      description: 'How long the queue lives with nobody reading: 600 when absent, a week at most.',
    }),
    applyMarkdown: t.boolean({ required: false, description: `Content as HTML, not source text. ${SHAPING_ONLY}` }),
    clientGravatar: t.boolean({ required: false, description: `Hosted avatars as null. ${SHAPING_ONLY}` }),
    includeSubscribers: t.field({ type: IncludeSubscribers, required: false }),
    allPublicChannels: t.boolean({ required: false, description: 'Hear the messages of every public channel.' }),
    narrow: t.field({ type: [NarrowTerm], required: false, description: 'Filters messages; all terms must hold.' }),
    capabilities: t.field({ type: ClientCapabilities, required: false }),
  }),
  payload: () => ({
    queueId: { type: 'String', description: 'For `events(queueId:)`, over every transport.' },
    position: { type: 'LongId', description: 'Where the queue begins: the first event has a higher position.' },
    idleTimeoutSeconds: { type: 'Int' },
    longPollTimeoutSeconds: { type: 'Int', description: 'Longer than any silence: heartbeats come in between.' },
  }),
  async resolve(ctx, input) {
    const defaults = await queueDefaults(ctx);
    const capabilities = input.capabilities as Readonly<Record<string, boolean | null | undefined>> | null | undefined;
    const options: QueueOptions = {
      applyMarkdown: input.applyMarkdown ?? false,
      clientGravatar: input.clientGravatar ?? true,
      includeSubscribers: input.includeSubscribers ?? 'false',
      slimPresence: false,
      eventTypes: input.eventTypes ?? null,
      allPublicChannels: input.allPublicChannels ?? defaults.allPublicChannels,
      narrow: input.narrow?.map(({ operator, operand }) => [operator, operand] as const) ?? defaults.narrow,
      capabilities: {
        ...NO_CAPABILITIES,
        ...(Object.fromEntries(CAPABILITIES.map((name) => [name, capabilities?.[camelCase(name)] ?? false])) as Record<
          Capability,
          boolean
        >),
      },
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
  } as const,
});

errorType(BadEventQueueIdError, 'The queue, or the position in it, is lost: register a new one.', (t) => ({
  queueId: t.string({ resolve: ({ data }) => data.queue_id }),
  reason: t.field({ type: QueueLossReason, resolve: ({ data }) => data.reason }),
}));

mutation('deleteEventQueue', {
  ignoresIdempotencyKey: true,
  description: 'Ends a queue. Its reader is told.',
  input: (t) => ({ queueId: t.string() }),
  payload: () => ({ queueId: { type: 'String' } }),
  errors: [BadEventQueueIdError],
  async resolve(ctx, { queueId }) {
    await deleteQueue(ctx, queueId);
    return { queueId };
  },
});

mutation('acknowledgeEvents', {
  ignoresIdempotencyKey: true,
  description: 'Says that everything up to a position has arrived: a reader that names no position resumes after it.',
  input: (t) => ({ queueId: t.string(), upTo: t.field({ type: 'LongId' }) }),
  payload: () => ({ queueId: { type: 'String' }, upTo: { type: 'LongId' } }),
  errors: [BadEventQueueIdError],
  async resolve(ctx, { queueId, upTo }) {
    await acknowledgeEvents(ctx, queueId, upTo);
    return { queueId, upTo };
  },
});

const EventPage = builder.objectRef<QueuePage>('EventPage').implement({
  description: 'Some events of a queue, in order.',
  fields: (t) => ({
    events: t.field({ type: [EventInterface], resolve: ({ pieces }): EventSource[] => [...pieces] }),
    endPosition: t.expose('endId', {
      type: 'LongId',
      description: 'Nothing up to here is missing: the next `after`.',
    }),
    hasMore: t.exposeBoolean('hasMore'),
  }),
});

builder.queryField('events', (t) =>
  t.field({
    type: EventPage,
    description: 'The next events of a queue, at once. Acknowledges nothing and leaves the reader of the queue alone.',
    args: {
      queueId: t.arg.string(),
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
      queueId: t.arg.string(),
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
