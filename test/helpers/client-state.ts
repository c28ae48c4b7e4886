import { FEATURES, gather } from './features.ts';
import type { Json } from './http.ts';
import {
  addUnread,
  dropAllUnread,
  dropUnread,
  dropUnreadIn,
  moveUnread,
  recountUnread,
  remention,
  unreadOf,
} from './unread-state.ts';

/**
 * The state of a client: the response of its registration in a form that can be compared. Lists are objects keyed by id and
 * sets of ids are sorted, because the server may return them in any order.
 */
export type ClientState = Record<string, Json>;

type ById = Record<number, Json>;

/** Lists of the registration's response, with the key field of their elements. */
const LISTS: Readonly<Record<string, string>> = {
  ...gather(FEATURES.map(({ lists }) => lists)),
  realm_users: 'user_id',
  realm_non_active_users: 'user_id',
  cross_realm_bots: 'user_id',
  streams: 'stream_id',
  subscriptions: 'stream_id',
  unsubscribed: 'stream_id',
  never_subscribed: 'stream_id',
};
/** Returns the key of a topic: its channel and its name in lower case. */
const topicKey = ({ stream_id, topic_name }: Json) => `${stream_id} ${topic_name.toLowerCase()}`;

/** Groups muted topics by channel name, as old clients do. */
function mutesByName(list: readonly (readonly [string, string, number])[]): Record<string, Json> {
  const byName = Map.groupBy(list, ([name]) => name);
  return Object.fromEntries([...byName].map(([name, entries]) => [name, entries.map(([, ...topic]) => topic)]));
}

/** Fields of the registration's response that describe the request or the queue. */
const ENVELOPE = ['result', 'msg', 'queue_id', 'last_event_id'];
/** Fields that clients send with their next presence request. Events do not update them. */
const OF_POLLING = ['server_timestamp', 'presence_last_update_id'];

const ascending = (ids: readonly number[]) => [...ids].sort((a, b) => a - b);

/** Converts the response of a registration to the state that it contains. */
export function stateOf(reply: Json): ClientState {
  const state: ClientState = structuredClone(reply);
  for (const name of [...ENVELOPE, ...OF_POLLING]) delete state[name];
  for (const [list, key] of Object.entries(LISTS)) {
    if (state[list] === undefined) continue;
    state[list] = Object.fromEntries(state[list].map((element: Json) => [element[key], withSortedIds(element)]));
  }
  if (state['user_topics'] !== undefined) {
    state['user_topics'] = Object.fromEntries(state['user_topics'].map((entry: Json) => [topicKey(entry), entry]));
  }
  if (state['muted_topics'] !== undefined) state['muted_topics'] = mutesByName(state['muted_topics']);
  if (state['realm_default_streams'] !== undefined) {
    state['realm_default_streams'] = ascending(state['realm_default_streams']);
  }
  if (state['unread_msgs'] !== undefined) state['unread_msgs'] = unreadOf(state['unread_msgs']);
  if (state['recent_private_conversations'] !== undefined) {
    state['recent_private_conversations'] = Object.fromEntries(
      state['recent_private_conversations'].map((one: Json) => [one.user_ids.join(), one.max_message_id]),
    );
  }
  return state;
}

function withSortedIds(element: Json): Json {
  const lists = Object.entries(element).filter(([name]) => name === 'subscribers' || name === 'partial_subscribers');
  return { ...element, ...Object.fromEntries(lists.map(([name, ids]) => [name, ascending(ids as number[])])) };
}

/** Registration options that change how a client applies events. */
export interface ClientOptions {
  readonly include_subscribers: 'true' | 'false' | 'partial';
}

/** Applies an event to the state, in place. */
export type Rule = (state: ClientState, event: Json, client: ClientOptions) => void;

const applied = new Set<string>();

/** The kinds of event applied so far, as `type` or `type/op`. `knownEvents` lists the kinds that have a rule. */
export const appliedEvents: ReadonlySet<string> = applied;
export const knownEvents = (): readonly string[] => Object.keys(RULES);

/**
 * Applies an event to the state, in place, by the documented rules for clients.
 *
 * @throws {Error} If no rule exists for the event, because a client would ignore it.
 */
export function applyEvent(state: ClientState, event: Json, client: ClientOptions): void {
  const name = event.op === undefined ? event.type : `${event.type}/${event.op}`;
  const rule = RULES[name];
  if (rule === undefined) throw new Error(`No client knows what to do with ${JSON.stringify(event)}`);
  applied.add(name);
  rule(state, event, client);
  recountUnread(state);
}

/** Rules of events that concern lists of several features. */
const SHARED_RULES: Readonly<Record<string, Rule>> = {
  heartbeat: () => {},
  restart: (state, { type: _, id: _id, ...service }) => {
    Object.assign(state, service);
  },
  'realm_user/add': (state, { person }) => {
    const { is_active, ...user } = person;
    if (is_active !== true) throw new Error('A user was added who is not active');
    state['realm_users'][user.user_id] = user;
  },
  'realm_user/remove': (state, { person }) => {
    delete state['realm_users'][person.user_id];
    delete state['realm_non_active_users'][person.user_id];
  },
  'realm_user/update': (state, { person }) => changePerson(state, person),
  'realm/update': (state, { property, value }) => {
    state[`realm_${property}`] = value;
  },
  'realm/update_dict': (state, { data: { rendered_description: _, ...data } }) => {
    for (const [property, value] of Object.entries(data)) state[`realm_${property}`] = value;
  },
  'user_settings/update': (state, { property, value }) => {
    state['user_settings'][property] = value;
    // The service deletes the stored drafts whenever synchronization is turned on or off.
    if (property === 'enable_drafts_synchronization') state['drafts'] = {};
  },
  'stream/create': (state, { streams }, client) => {
    for (const channel of streams) {
      state['streams'][channel.stream_id] = channel;
      const list = client.include_subscribers === 'false' ? {} : { subscribers: [] };
      state['never_subscribed'][channel.stream_id] = { ...channel, ...list };
    }
  },
  'stream/delete': (state, { stream_ids }) => {
    for (const id of stream_ids) {
      dropUnreadIn(state, id);
      forgetMutesIn(state, id);
      for (const list of CHANNEL_LISTS) delete state[list][id];
    }
    state['realm_default_streams'] = state['realm_default_streams'].filter((id: number) => !stream_ids.includes(id));
  },
  'stream/update': (state, event) => {
    const { type: _, op: _op, id: _id, stream_id, name: _name, property, value, ...along } = event;
    if (property === 'name') renameMutesIn(state, stream_id, value);
    for (const channel of everywhere(state, stream_id)) Object.assign(channel, { [property]: value }, along);
    if (property !== 'is_archived' || value !== true) return;
    dropUnreadIn(state, stream_id);
    forgetMutesIn(state, stream_id);
  },
  'subscription/add': (state, { subscriptions }) => {
    for (const subscription of subscriptions) {
      const id = subscription.stream_id;
      for (const list of ['unsubscribed', 'never_subscribed']) delete state[list][id];
      state['subscriptions'][id] = withSortedIds(subscription);
      // `streams` contains the number of subscribers, too.
      if (state['streams'][id] !== undefined) state['streams'][id].subscriber_count = subscription.subscriber_count;
    }
  },
  'subscription/remove': (state, { subscriptions }) => {
    for (const { stream_id } of subscriptions) {
      const subscription = state['subscriptions'][stream_id];
      if (subscription === undefined) throw new Error(`Left channel ${stream_id} without being in it`);
      dropUnreadIn(state, stream_id);
      delete state['subscriptions'][stream_id];
      state['unsubscribed'][stream_id] = subscription;
      for (const channel of everywhere(state, stream_id)) channel.subscriber_count -= 1;
    }
  },
  'subscription/update': (state, { stream_id, property, value }) => {
    for (const list of ['subscriptions', 'unsubscribed']) {
      if (state[list][stream_id] !== undefined) state[list][stream_id][property] = value;
    }
  },
  'subscription/peer_add': (state, { stream_ids, user_ids }) => {
    for (const channel of stream_ids.flatMap((id: number) => everywhere(state, id))) {
      const known: number[] | undefined = channel.subscribers;
      const fresh = user_ids.filter((id: number) => known?.includes(id) !== true);
      channel.subscriber_count += fresh.length;
      if (known !== undefined) channel.subscribers = ascending([...known, ...fresh]);
    }
  },
  'subscription/peer_remove': (state, { stream_ids, user_ids }) => {
    for (const channel of stream_ids.flatMap((id: number) => everywhere(state, id))) {
      channel.subscriber_count -= user_ids.length;
      channel.subscribers = channel.subscribers?.filter((id: number) => !user_ids.includes(id));
      if (channel.subscribers === undefined) delete channel.subscribers;
    }
  },
  default_streams: (state, { default_streams }) => {
    state['realm_default_streams'] = ascending(default_streams);
  },
  message: (state, { message, flags }) => {
    addMessage(state, message, flags);
    for (const channel of message.stream_id === undefined ? [] : everywhere(state, message.stream_id)) {
      channel.first_message_id ??= message.id;
      channel.is_recently_active = true;
    }
  },
  update_message: (state, event) => {
    const { message_id, message_ids, flags, stream_id, new_stream_id, orig_subject, subject } = event;
    if (orig_subject !== undefined) {
      moveUnread(state, message_ids, new_stream_id ?? stream_id, subject ?? orig_subject);
    }
    if (event.content !== undefined) remention(state, message_id, flags);
  },
  delete_message: (state, { message_id, message_ids = [message_id] }) => {
    dropUnread(state, message_ids);
    const isLeft = (id: number) => !message_ids.includes(id);
    state['starred_messages'] = state['starred_messages']?.filter(isLeft);
  },
  'update_message_flags/add': (state, { flag, messages, all }) => {
    if (flag === 'starred' && state['starred_messages'] !== undefined) {
      state['starred_messages'] = ascending([...state['starred_messages'], ...messages]);
    }
    if (flag === 'read' && all) dropAllUnread(state);
    if (flag === 'read') dropUnread(state, messages);
  },
  'update_message_flags/remove': (state, { flag, messages, message_details = {} }) => {
    if (flag === 'starred') {
      state['starred_messages'] = state['starred_messages']?.filter((id: number) => !messages.includes(id));
    }
    for (const [id, details] of Object.entries<Json>(message_details)) {
      const { type, stream_id, topic, user_ids, mentioned } = details;
      const place = type === 'private' ? { userIds: user_ids } : { stream_id, topic };
      addUnread(state, Number(id), place, mentioned === true ? ['mentioned'] : []);
    }
  },
  user_topic: (state, { type: _, id: _id, ...entry }) => {
    if (entry['visibility_policy'] === 0) delete state['user_topics'][topicKey(entry)];
    else state['user_topics'][topicKey(entry)] = entry;
  },
  muted_topics: (state, { muted_topics }) => {
    state['muted_topics'] = mutesByName(muted_topics);
  },
};

const RULES = gather([SHARED_RULES, ...FEATURES.map(({ rules }) => rules)]);

/** Returns the name of a channel, which is its key in the list of muted topics. */
const nameOf = (state: ClientState, channelId: number): string | undefined => everywhere(state, channelId)[0]?.name;

/** Removes a channel from the list of muted topics, which omits archived channels and channels that the user cannot see. */
function forgetMutesIn(state: ClientState, channelId: number): void {
  delete state['muted_topics']?.[nameOf(state, channelId) ?? ''];
}

function renameMutesIn(state: ClientState, channelId: number, name: string): void {
  const { [nameOf(state, channelId) ?? '']: here, ...elsewhere } = state['muted_topics'] ?? {};
  if (here !== undefined) state['muted_topics'] = { ...elsewhere, [name]: here };
}

/** Applies a received message: its unread state, the newest message id and the recent direct conversations. */
function addMessage(state: ClientState, message: Json, flags: readonly string[]): void {
  const { id, type, stream_id, subject, display_recipient } = message;
  const userIds: number[] = type === 'private' ? display_recipient.map((user: Json) => user.id) : [];
  const place = type === 'private' ? { userIds } : { stream_id, topic: subject };
  if (!flags.includes('read')) addUnread(state, id, place, flags);
  if (state['max_message_id'] !== undefined) state['max_message_id'] = id;
  if (type === 'private' && state['recent_private_conversations'] !== undefined) {
    const others = userIds.filter((userId) => userId !== state['user_id']);
    state['recent_private_conversations'][others.join()] = id;
  }
}

/** The lists in which a client keeps channels. */
export const CHANNEL_LISTS = ['streams', 'subscriptions', 'unsubscribed', 'never_subscribed'];

/** Returns the entries of a channel in all lists of channels. */
function everywhere(state: ClientState, channelId: number): Json[] {
  return CHANNEL_LISTS.map((list) => (state[list] as ById)[channelId]).filter((channel) => channel !== undefined);
}

/** Returns the role flags, as in a user object and in the state of the viewer. */
const ownerToGuest = (role: number) => ({ is_owner: role <= 100, is_admin: role <= 200, is_guest: role >= 600 });

function changePerson(state: ClientState, { user_id, ...change }: Json): void {
  const isOwn = user_id === state['user_id'];
  const user = state['realm_users'][user_id] ?? state['realm_non_active_users'][user_id];
  if (user === undefined) throw new Error(`User ${user_id} changed, whom the client does not know`);
  // `avatar_url_medium` and `avatar_source` occur only in events about the viewer's own avatar.
  const { is_active, new_email, custom_profile_field, avatar_url_medium: _, avatar_source: _source, ...plain } = change;
  if (custom_profile_field !== undefined) changeProfile(user, custom_profile_field);
  Object.assign(user, plain, plain.role !== undefined && ownerToGuest(plain.role));
  if (new_email !== undefined) {
    // For some clients, `presences` is keyed by email address.
    const { [user.email]: presence, ...others } = state['presences'] ?? {};
    if (presence !== undefined) state['presences'] = { ...others, [new_email]: presence };
    user.email = new_email;
  }
  if (isOwn) changeCaller(state, change);
  if (is_active === undefined) return;
  const [from, to] = is_active ? ['realm_non_active_users', 'realm_users'] : ['realm_users', 'realm_non_active_users'];
  delete state[from as string][user_id];
  state[to as string][user_id] = user;
  if (is_active) return;
  // Deactivated users have no group memberships, no status and no presence.
  for (const group of Object.values<Json>(state['realm_user_groups'] ?? {})) {
    group.members = group.members.filter((id: number) => id !== user_id);
  }
  delete state['user_status']?.[user_id];
  // `presences` is keyed by user id or by email address.
  for (const key of [user_id, user.email]) delete state['presences']?.[key];
}

function changeProfile(user: Json, { id, ...now }: Json): void {
  const { [id]: _, ...others } = user.profile_data;
  user.profile_data = now.value === null ? others : { ...others, [id]: now };
}

function changeCaller(state: ClientState, change: Json): void {
  for (const field of ['full_name', 'delivery_email', 'avatar_url', 'avatar_url_medium', 'avatar_source']) {
    if (change[field] !== undefined) state[field] = change[field];
  }
  if (change.new_email !== undefined) state['email'] = change.new_email;
  if (change.role !== undefined) Object.assign(state, ownerToGuest(change.role), { is_moderator: change.role <= 300 });
}
