import { z } from 'zod';
import type { Ctx } from '../../access/context.ts';
import {
  SERVICE_FEATURE_LEVEL,
  SERVICE_MERGE_BASE,
  SERVICE_VERSION,
} from '../../administration/organization/feature-level.ts';
import { endpoint, RawJson } from '../../api/rest/endpoint.ts';
import { json, type Param, text, type Values } from '../../api/rest/params.ts';
import { CAPABILITIES, NO_CAPABILITIES, type QueueOptions } from '../../events/view.ts';
import { wireEvent } from '../../events/wire.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { writeJson } from '../../platform/json-bytes.ts';
import { queueDefaults } from './bot-defaults.ts';
import { DEFAULT_IDLE_SECONDS, deleteQueue, getEvents, MOBILE_IDLE_SECONDS, registerQueue } from './service.ts';

const Capabilities = z.object({
  ...Object.fromEntries(CAPABILITIES.map((name) => [name, z.boolean().optional()])),
  // The one key that must be said: clients from before it existed would misread null.
  notification_settings_null: z.boolean(),
});

/** What POST /register takes, and GET /events in place of a queue. */
const registration = {
  apply_markdown: json(z.boolean(), {
    description: 'Whether events have message content as HTML; false if absent.',
  }).optional(),
  client_gravatar: json(z.boolean().nullable(), {
    description: 'Whether `avatar_url` is null where the client can work it out; true if absent.',
  }).optional(),
  include_subscribers: text(z.enum(['true', 'false', 'partial']), {
    description: 'Whether channels have `subscribers`; partial: of large channels, only some.',
  }).optional(),
  slim_presence: json(z.boolean(), {
    description: 'Whether presence is by user id, and not by e-mail address.',
  }).optional(),
  presence_history_limit_days: json(z.int().min(0).nullable(), {
    description: 'How far back presence is told, in days; null: what the server tells by itself.',
  }).optional(),
  event_types: json(z.array(z.string()).nullable(), {
    description: 'Which types of events are heard; null or absent: all. Heartbeats always are.',
    example: '["message"]',
  }).optional(),
  fetch_event_types: json(z.array(z.string()).nullable(), {
    description: 'Of which types the reply has the state; absent: as `event_types`.',
  }).optional(),
  all_public_streams: json(z.boolean().nullable(), {
    description: 'Whether messages of all public channels are heard, not only of your own. Not for guests.',
  }).optional(),
  narrow: json(z.array(z.tuple([z.string(), z.string()])), {
    description: 'Which messages are heard: those that match every term, at most 20.',
    example: '[["channel", "general"]]',
  }).optional(),
  client_capabilities: json(Capabilities, {
    description: 'What the client understands: the shapes of events that came later.',
    example: '{"notification_settings_null": true}',
  }).optional(),
  idle_queue_timeout: json(z.union([z.int().min(1), z.literal('mobile')]), {
    description:
      'How long the queue lives with nobody reading, in seconds; 600 if absent, "mobile" is 12 hours, a week at most.',
  }).optional(),
  queue_lifespan_secs: json(z.int().min(0), {
    description: 'As `idle_queue_timeout`, which wins; 0 is none.',
  }).optional(),
} satisfies Record<string, Param>;

type RegistrationValues = Values<typeof registration>;

async function register(ctx: Ctx, values: RegistrationValues) {
  const defaults = await queueDefaults(ctx);
  const options: QueueOptions = {
    applyMarkdown: values.apply_markdown ?? false,
    clientGravatar: values.client_gravatar ?? true,
    includeSubscribers: values.include_subscribers ?? 'false',
    slimPresence: values.slim_presence ?? false,
    eventTypes: values.event_types ?? null,
    allPublicChannels: values.all_public_streams ?? defaults.allPublicChannels,
    narrow: values.narrow ?? defaults.narrow,
    capabilities: { ...NO_CAPABILITIES, ...values.client_capabilities },
  };
  return registerQueue(ctx, {
    options,
    fetchEventTypes: values.fetch_event_types ?? null,
    presenceHistoryDays: values.presence_history_limit_days ?? null,
    idleTimeoutSecs: idleSeconds(values),
  });
}

function idleSeconds({ idle_queue_timeout, queue_lifespan_secs }: RegistrationValues): number {
  if (idle_queue_timeout === 'mobile') return MOBILE_IDLE_SECONDS;
  return idle_queue_timeout ?? (queue_lifespan_secs || DEFAULT_IDLE_SECONDS);
}

export const postRegister = endpoint({
  method: 'POST',
  path: '/register',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  twins: [
    'registerEventQueue',
    'organization',
    'ownSettings',
    'userSettingsDefaults',
    'userTopics',
    'hasVideoCallToken',
  ],
  summary: 'Register an event queue',
  params: registration,
  reply: {
    queue_id: z.string(),
    last_event_id: z.int(),
    idle_queue_timeout_secs: z.int(),
    service_feature_level: z.int(),
    service_version: z.string(),
    service_merge_base: z.string(),
  },
  replyIsOpen: true,
  async handle(ctx, values) {
    const { queueId, lastEventId, idleTimeoutSecs, state } = await register(ctx, values);
    const body = {
      result: 'success',
      msg: '',
      queue_id: queueId,
      last_event_id: lastEventId,
      idle_queue_timeout_secs: idleTimeoutSecs,
      service_feature_level: SERVICE_FEATURE_LEVEL,
      service_version: SERVICE_VERSION,
      service_merge_base: SERVICE_MERGE_BASE,
      ...state,
    };
    return new RawJson(await writeJson(body));
  },
});

export const getEventsEndpoint = endpoint({
  method: 'GET',
  path: '/events',
  waits: true,
  auth: 'basic',
  twins: ['events', 'acknowledgeEvents'],
  summary: 'Get events from a queue',
  params: {
    queue_id: text(z.string(), {
      description: 'The queue, as `POST /register` answered. Absent: a queue is registered, with the options below.',
    }).optional(),
    last_event_id: json(z.int().min(-1), {
      description:
        'The last event you have, which is acknowledged with all before it; -1 at the start. Absent: what was acknowledged last.',
    }).optional(),
    dont_block: json(z.boolean(), { description: 'Whether to answer at once, although there is nothing.' }).default(
      false,
    ),
    ...registration,
  },
  reply: { events: z.array(wireEvent), queue_id: z.string() },
  async handle(ctx, { queue_id, last_event_id, dont_block, ...values }, { signal }) {
    if (queue_id === undefined && !dont_block && Object.keys(values).length === 0) {
      throw new BadRequestError("Missing 'queue_id' argument");
    }
    const queueId =
      queue_id ?? (await register(ctx, { client_gravatar: false, fetch_event_types: [], ...values })).queueId;
    const pieces = await getEvents(ctx, queueId, { lastEventId: last_event_id, block: !dont_block, signal });
    // Each piece is JSON already, made once for all queues that see it alike.
    const events = pieces.map((piece) => piece.json).join(',');
    return new RawJson(`{"result":"success","msg":"","events":[${events}],"queue_id":"${queueId}"}`);
  },
});

export const deleteEvents = endpoint({
  method: 'DELETE',
  path: '/events',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  twins: ['deleteEventQueue'],
  summary: 'Delete an event queue',
  params: { queue_id: text(z.string(), { description: 'The queue.' }) },
  reply: {},
  async handle(ctx, { queue_id }) {
    await deleteQueue(ctx, queue_id);
  },
});
