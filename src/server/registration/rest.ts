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
import { ValidationError } from '../../platform/errors.ts';
import { writeJson } from '../../platform/json-bytes.ts';
import { queueDefaults } from './bot-defaults.ts';
import { DEFAULT_IDLE_SECONDS, deleteQueue, getEvents, MOBILE_IDLE_SECONDS, registerQueue } from './service.ts';

const Capabilities = z.object({
  ...Object.fromEntries(CAPABILITIES.map((name) => [name, z.boolean().optional()])),
  // The only required capability. A client without it would misread null in notification settings.
  notification_settings_null: z.boolean(),
});

/** Parameters for the registration of a queue, in POST /register and in GET /events without a queue id. */
const registration = {
  apply_markdown: json(z.boolean(), {
    description: 'Whether events contain message content as HTML. Default: false.',
  }).optional(),
  client_gravatar: json(z.boolean().nullable(), {
    description: 'Accepted but ignored: `avatar_url` is always present.',
  }).optional(),
  include_subscribers: text(z.enum(['true', 'false', 'partial']), {
    description:
      'Whether channels include their `subscribers`. partial: for large channels, only some of the subscribers.',
  }).optional(),
  slim_presence: json(z.boolean(), {
    description: 'Whether presences are listed by user id instead of email address.',
  }).optional(),
  presence_history_limit_days: json(z.int().min(0).nullable(), {
    description: 'Maximum age of the presences in the response, in days. null: the default of the server.',
  }).optional(),
  event_types: json(z.array(z.string()).nullable(), {
    description: 'Types of the events to receive. null or absent: all. Heartbeats are always sent.',
    example: '["message"]',
  }).optional(),
  fetch_event_types: json(z.array(z.string()).nullable(), {
    description: 'Event types whose state the response contains. Default: `event_types`.',
  }).optional(),
  all_public_streams: json(z.boolean().nullable(), {
    description:
      'Whether to receive messages of all public channels, including those that you are not subscribed to. Not ' +
      'available to guests.',
  }).optional(),
  narrow: json(z.array(z.tuple([z.string(), z.string()])), {
    description: 'Terms for messages, at most 20. Only messages that match all of them are received.',
    example: '[["channel", "general"]]',
  }).optional(),
  client_capabilities: json(Capabilities, {
    description: 'Capabilities of the client: newer formats of events that it supports.',
    example: '{"notification_settings_null": true}',
  }).optional(),
  idle_queue_timeout: json(z.union([z.int().min(1), z.literal('mobile')]), {
    description:
      'Idle timeout in seconds: the queue expires if it is not read for this time. "mobile" is 12 hours. At most a ' +
      'week. Default: 600.',
  }).optional(),
  queue_lifespan_secs: json(z.int().min(0), {
    description: 'The same as `idle_queue_timeout`, which takes precedence. 0 is ignored.',
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
  equivalents: [
    'registerEventQueue',
    'organization',
    'ownSettings',
    'userSettingsDefaults',
    'userTopics',
    'hasVideoCallToken',
  ],
  scope: 'events',
  summary: 'Register an event queue',
  params: registration,
  reply: {
    queue_id: z.string(),
    last_event_id: z.int(),
    idle_queue_timeout_secs: z.int(),
    notice: z.string().optional().describe('For a bot that is subscribed to no channel: how to receive messages.'),
    service_feature_level: z.int(),
    service_version: z.string(),
    service_merge_base: z.string(),
  },
  replyIsOpen: true,
  async handle(ctx, values) {
    const { queueId, lastEventId, idleTimeoutSecs, state, notice } = await register(ctx, values);
    const body = {
      result: 'success',
      msg: '',
      queue_id: queueId,
      last_event_id: lastEventId,
      idle_queue_timeout_secs: idleTimeoutSecs,
      ...(notice !== undefined && { notice }),
      service_feature_level: SERVICE_FEATURE_LEVEL,
      service_version: SERVICE_VERSION,
      service_merge_base: SERVICE_MERGE_BASE,
      ...state,
    };
    return new RawJson(await writeJson(body));
  },
});

/**
 * Fields of the reply to a request whose queue a newer request reads. The reply is a success, not an error, because clients of
 * this interface expect that.
 */
const DISPLACED = ',"code":"BAD_EVENT_QUEUE_ID","reason":"displaced"';

export const getEventsEndpoint = endpoint({
  method: 'GET',
  path: '/events',
  waits: true,
  auth: 'basic',
  equivalents: ['events', 'acknowledgeEvents'],
  scope: 'events',
  summary: 'Get events from a queue',
  params: {
    queue_id: text(z.string(), {
      description:
        'Id of the queue, from `POST /register`. If absent, a queue is registered with the parameters below.',
    }).optional(),
    last_event_id: json(z.int().min(-1), {
      description:
        'Id of the last received event. Acknowledges all events up to it. -1 at the start. Default: the last ' +
        'acknowledged event.',
    }).optional(),
    dont_block: json(z.boolean(), {
      description: 'Whether to respond immediately, even if there are no events.',
    }).default(false),
    ...registration,
  },
  reply: {
    events: z.array(wireEvent),
    queue_id: z.string(),
    code: z
      .literal('BAD_EVENT_QUEUE_ID')
      .optional()
      .describe(
        'Present, together with `reason`, if a newer request has started to read the queue. The response then ' +
          'contains no events. Register another queue.',
      ),
    reason: z.literal('displaced').optional(),
  },
  async handle(ctx, { queue_id, last_event_id, dont_block, ...values }, { signal, budget }) {
    if (queue_id === undefined && !dont_block && Object.keys(values).length === 0) {
      throw new ValidationError("Missing 'queue_id' argument", { parameter: 'queue_id' });
    }
    const queueId =
      queue_id ?? (await register(ctx, { client_gravatar: false, fetch_event_types: [], ...values })).queueId;
    const { pieces, isDisplaced } = await getEvents(ctx, queueId, {
      ...{ lastEventId: last_event_id, block: !dont_block, signal, budget },
    });
    // `json` is serialized once. All queues that receive this rendering of the event share it.
    const events = pieces.map((piece) => piece.json).join(',');
    const end = isDisplaced ? DISPLACED : '';
    return new RawJson(`{"result":"success","msg":"","events":[${events}],"queue_id":"${queueId}"${end}}`);
  },
});

export const deleteEvents = endpoint({
  method: 'DELETE',
  path: '/events',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  equivalents: ['deleteEventQueue'],
  scope: 'events',
  summary: 'Delete an event queue',
  params: { queue_id: text(z.string(), { description: 'Id of the queue.' }) },
  reply: {},
  async handle(ctx, { queue_id }) {
    await deleteQueue(ctx, queue_id);
  },
});
