import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { applyEvent, CHANNEL_LISTS, type ClientOptions, type ClientState, stateOf } from './client-state.ts';
import type { Json } from './http.ts';
import type { Person } from './person.ts';

const CAPABILITIES = [
  'notification_settings_null',
  'bulk_message_deletion',
  'user_avatar_url_field_optional',
  'stream_typing_notifications',
  'user_settings_object',
  'linkifier_url_template',
  'user_list_incomplete',
  'include_deactivated_groups',
  'archived_channels',
  'empty_topic_name',
  'simplified_presence_events',
  'individual_emoji_changes',
];

/** A kind of client, by its registration parameters. */
export interface Client extends ClientOptions {
  readonly name: string;
  readonly client_gravatar: boolean;
  readonly apply_markdown: boolean;
  readonly client_capabilities?: Readonly<Record<string, boolean>>;
}

const capable = Object.fromEntries(CAPABILITIES.map((name) => [name, true]));

/** The newest client: all capabilities, all data. */
export const MODERN: Client = {
  name: 'all capabilities',
  include_subscribers: 'true',
  client_gravatar: true,
  apply_markdown: true,
  client_capabilities: capable,
};

/** The oldest client: it sends no capabilities. */
export const LEGACY: Client = {
  name: 'no capabilities',
  include_subscribers: 'false',
  client_gravatar: false,
  apply_markdown: false,
};

/** A client that declares capabilities as false, and accepts partial lists of subscribers. */
export const PARTIAL: Client = {
  name: 'no capabilities, partial subscribers',
  include_subscribers: 'partial',
  client_gravatar: true,
  apply_markdown: true,
  client_capabilities: { ...Object.fromEntries(CAPABILITIES.map((name) => [name, false])), archived_channels: true },
};

/** A client without capabilities that requests full lists of subscribers. */
export const LEGACY_WITH_LISTS: Client = {
  ...LEGACY,
  name: 'no capabilities, all subscribers',
  include_subscribers: 'true',
};

export const CLIENTS: readonly Client[] = [MODERN, LEGACY];

/** Returns all combinations of viewer and client. */
const pairsOf = (viewers: readonly Person[], clients: readonly Client[] = CLIENTS) =>
  viewers.flatMap((viewer) => clients.map((client) => ({ viewer, client })));

/** Part of the client state that, by the rules of the interface, can change without an event. */
export interface EventlessChange {
  readonly fields?: readonly string[];
  /** Fields of channels that change without an event, in all lists of channels such as `streams` and `subscriptions`. */
  readonly channelFields?: readonly string[];
  readonly reason: string;
}

/**
 * All state that changes without an event, by the cause of the change. Tests name the causes after which such state is not
 * compared.
 */
export const WITHOUT_EVENT = {
  rightsOfRole: {
    fields: [
      'can_create_public_streams',
      'can_create_private_streams',
      'can_create_web_public_streams',
      'can_create_streams',
      'can_invite_others_to_realm',
    ],
    reason:
      'The event of a role change contains only the role. Clients compute these fields from the permissions of the ' +
      'organization and the user groups.',
  },
  channelActivity: {
    channelFields: ['first_message_id', 'is_recently_active', 'stream_weekly_traffic'],
    reason:
      'Only the recipients of a message receive its event. No event contains the new first message of a channel after the ' +
      'first one was moved or deleted. Activity and traffic also change with time.',
  },
  deletedMessages: {
    fields: ['max_message_id', 'recent_private_conversations'],
    reason: 'If the last message is deleted, no event contains the message that is then the last one.',
  },
  unreadOutside: {
    fields: ['unread_msgs'],
    reason:
      'Unread messages of a channel count only while the user is subscribed and the channel is not archived. No event ' +
      'lists the unread messages that count again after the channel is restored, after messages are moved back to a ' +
      'channel of the user, or after the user subscribes to the channel to which they were moved.',
  },
  mutedElsewhere: {
    fields: ['muted_topics'],
    reason:
      'The deprecated list of muted topics names only channels that are not archived and that the user can see. After a ' +
      'channel is restored, no event lists its muted topics. `user_topics` always contains them.',
  },
} satisfies Record<string, EventlessChange>;

export interface ReplayOptions {
  /** Kinds of clients that each viewer uses. Default: the newest and the oldest. */
  readonly clients?: readonly Client[];
  /** State that the tested changes affect without an event. */
  readonly eventless?: readonly EventlessChange[];
  /** Data groups to compare after each step. After the last step all are compared. */
  readonly groups?: readonly string[];
}

/** A change made through the service. */
export type Act = () => Promise<unknown>;

/** Data groups that are affected by changes of channels and subscriptions. */
export const CHANNEL_GROUPS = ['stream', 'subscription', 'default_streams'];

/**
 * Checks that events describe the changes in `acts` completely. The state fetched before a change, with later events applied,
 * must equal the state fetched after the change. Runs for every viewer, with more than one kind of client.
 *
 * @param acts One change, or several by name, in order. The state is compared once after all changes of an array, which is
 *   faster and proves as much if they affect different things.
 * @throws {Error} If no viewer receives an event of a change, because such a check proves nothing.
 */
export async function expectReplay(
  viewers: Person | readonly Person[],
  acts: Act | Readonly<Record<string, Act | readonly Act[]>>,
  { clients, eventless = [], groups }: ReplayOptions = {},
): Promise<void> {
  const all = [viewers].flat();
  let observers = await Promise.all(pairsOf(all, clients).map(observe));
  const steps = Object.entries(typeof acts === 'function' ? { 'the act': acts } : acts);
  for (const [i, [name, act]] of steps.entries()) {
    for (const one of [act].flat()) await one();
    for (const { viewer } of observers.slice(0, 1)) await settle(viewer);
    const step = { name, eventless, groups: i < steps.length - 1 ? groups : undefined };
    const checked = await Promise.all(observers.map((observer) => check(observer, step)));
    if (checked.every(({ events }) => events.length === 0)) throw new Error(`No viewer received an event of ${name}`);
    observers = checked.map(({ fresh }) => fresh);
  }
}

/** One viewer with one kind of client, and the state after its last registration. */
interface Observer {
  readonly viewer: Person;
  readonly client: Client;
  /** The queue of the first registration. All events are read from it. */
  readonly queueId: string;
  readonly lastEventId: number;
  readonly state: ClientState;
}

async function observe({ viewer, client }: Pick<Observer, 'viewer' | 'client'>): Promise<Observer> {
  const reply = await register({ viewer, client }, undefined);
  return { viewer, client, queueId: reply.queue_id, lastEventId: reply.last_event_id, state: stateOf(reply) };
}

function register(
  { viewer, client: { name: _, ...parameters } }: Pick<Observer, 'viewer' | 'client'>,
  groups: readonly string[] | undefined,
): Promise<Json> {
  return viewer.register({ ...parameters, fetch_event_types: groups });
}

interface Step {
  readonly name: string;
  readonly eventless: readonly EventlessChange[];
  readonly groups: readonly string[] | undefined;
}

async function check(observer: Observer, step: Step): Promise<{ fresh: Observer; events: Json[] }> {
  const { viewer, client } = observer;
  const reply = await register(observer, step.groups);
  const events = await eventsUpTo(observer, reply.last_event_id);
  const replayed = structuredClone(observer.state);
  for (const event of events) applyEvent(replayed, event, client);
  // Data groups that this registration did not fetch are compared after a later step.
  const state = { ...replayed, ...stateOf(reply) };
  const [fromEvents, fetched] = [withoutEventless(replayed, step), withoutEventless(state, step)];
  // The matcher of vitest is much slower, and is only needed to describe a difference.
  if (!isDeepStrictEqual(fromEvents, fetched)) {
    const who = `${viewer.name} with ${client.name}, after ${step.name}: ${JSON.stringify(events)}`;
    expect(fromEvents, who).toEqual(fetched);
  }
  return { fresh: { ...observer, lastEventId: reply.last_event_id, state }, events };
}

function withoutEventless({ ...state }: ClientState, { eventless }: Step): ClientState {
  for (const field of eventless.flatMap(({ fields = [] }) => fields)) delete state[field];
  const ofChannels = eventless.flatMap(({ channelFields = [] }) => channelFields);
  if (ofChannels.length === 0) return state;
  for (const list of CHANNEL_LISTS) {
    const channels = Object.entries<Json>(state[list] ?? {});
    state[list] = Object.fromEntries(channels.map(([id, channel]) => [id, without(channel, ofChannels)]));
  }
  return state;
}

const without = (element: Json, fields: readonly string[]): Json =>
  Object.fromEntries(Object.entries(element).filter(([name]) => !fields.includes(name)));

/**
 * Waits until the server has read its log up to the current position, so that no committed event is pending. Polling
 * from that position has this effect.
 */
async function settle(viewer: Person): Promise<void> {
  const { queue_id, last_event_id } = await viewer.register({ fetch_event_types: [] });
  await viewer.poll(queue_id, last_event_id, { dontBlock: true });
}

/** Number of events below which a page is the last one. All other pages have several hundred events. */
const SHORT_PAGE = 100;

/** Returns all events of the queue up to an id of the log. */
async function eventsUpTo({ viewer, queueId, lastEventId }: Observer, until: number): Promise<Json[]> {
  const events: Json[] = [];
  for (let after = lastEventId; ; ) {
    const page = await viewer.poll(queueId, after, { dontBlock: true });
    events.push(...page);
    if (page.length < SHORT_PAGE) return events.filter(({ id }) => id <= until);
    after = page.at(-1).id;
  }
}
