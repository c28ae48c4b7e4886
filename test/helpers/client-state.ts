import type { Json } from './http.ts';

/**
 * What a client holds: the registration's reply, with lists as objects by id and sets of ids in order, so that two can
 * be compared. The order of a list is the server's to choose; clients sort by what they show.
 */
export type ClientState = Record<string, Json>;

type ById = Record<number, Json>;

/** Lists of the registration's reply, and what their elements are known by. */
const LISTS: Readonly<Record<string, string>> = {
  realm_users: 'user_id',
  realm_non_active_users: 'user_id',
  cross_realm_bots: 'user_id',
  streams: 'stream_id',
  subscriptions: 'stream_id',
  unsubscribed: 'stream_id',
  never_subscribed: 'stream_id',
  channel_folders: 'id',
  drafts: 'id',
  saved_snippets: 'id',
};
/** What belongs to the queue, not to the state. */
const ENVELOPE = ['result', 'msg', 'queue_id', 'last_event_id'];

const ascending = (ids: readonly number[]) => [...ids].sort((a, b) => a - b);

/** The state a registration's reply holds. */
export function stateOf(reply: Json): ClientState {
  const state: ClientState = structuredClone(reply);
  for (const name of ENVELOPE) delete state[name];
  for (const [list, key] of Object.entries(LISTS)) {
    if (state[list] === undefined) continue;
    state[list] = Object.fromEntries(state[list].map((element: Json) => [element[key], withSortedIds(element)]));
  }
  if (state['realm_default_streams'] !== undefined) {
    state['realm_default_streams'] = ascending(state['realm_default_streams']);
  }
  return state;
}

function withSortedIds(element: Json): Json {
  const lists = Object.entries(element).filter(([name]) => name === 'subscribers' || name === 'partial_subscribers');
  return { ...element, ...Object.fromEntries(lists.map(([name, ids]) => [name, ascending(ids as number[])])) };
}

/** How a client was registered, as far as it changes what it does with events. */
export interface ClientOptions {
  readonly include_subscribers: 'true' | 'false' | 'partial';
}

type Rule = (state: ClientState, event: Json, client: ClientOptions) => void;

const applied = new Set<string>();

/** The kinds of event that were applied so far, and those for which there is a rule: `type`, or `type/op`. */
export const appliedEvents: ReadonlySet<string> = applied;
export const knownEvents = (): readonly string[] => Object.keys(RULES);

/**
 * The state after an event, as any client would work it out from the documents. An event nothing is known of is an
 * error: a client would miss it.
 */
export function applyEvent(state: ClientState, event: Json, client: ClientOptions): void {
  const name = event.op === undefined ? event.type : `${event.type}/${event.op}`;
  const rule = RULES[name];
  if (rule === undefined) throw new Error(`No client knows what to do with ${JSON.stringify(event)}`);
  applied.add(name);
  rule(state, event, client);
}

const RULES: Readonly<Record<string, Rule>> = {
  heartbeat: () => {},
  restart: () => {},
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
  'realm/update_dict': (state, { data }) => {
    for (const [property, value] of Object.entries(data)) state[`realm_${property}`] = value;
  },
  'user_settings/update': (state, { property, value }) => {
    state['user_settings'][property] = value;
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
      for (const list of CHANNEL_LISTS) delete state[list][id];
    }
    state['realm_default_streams'] = state['realm_default_streams'].filter((id: number) => !stream_ids.includes(id));
  },
  'stream/update': (state, event) => {
    const { type: _, op: _op, id: _id, stream_id, name: _name, property, value, ...along } = event;
    for (const channel of everywhere(state, stream_id)) Object.assign(channel, { [property]: value }, along);
  },
  'subscription/add': (state, { subscriptions }) => {
    for (const subscription of subscriptions) {
      const id = subscription.stream_id;
      for (const list of ['unsubscribed', 'never_subscribed']) delete state[list][id];
      state['subscriptions'][id] = withSortedIds(subscription);
      // The same fact in another list.
      if (state['streams'][id] !== undefined) state['streams'][id].subscriber_count = subscription.subscriber_count;
    }
  },
  'subscription/remove': (state, { subscriptions }) => {
    for (const { stream_id } of subscriptions) {
      const subscription = state['subscriptions'][stream_id];
      if (subscription === undefined) throw new Error(`Left channel ${stream_id} without being in it`);
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
  'channel_folder/add': (state, { channel_folder }) => {
    state['channel_folders'][channel_folder.id] = channel_folder;
  },
  'channel_folder/update': (state, { channel_folder_id, data }) => {
    Object.assign(state['channel_folders'][channel_folder_id], data);
  },
  'channel_folder/reorder': (state, { order }) => {
    for (const [place, id] of order.entries()) state['channel_folders'][id].order = place;
  },
  'drafts/add': (state, { drafts }) => {
    for (const draft of drafts) state['drafts'][draft.id] = draft;
  },
  'drafts/update': (state, { draft }) => {
    state['drafts'][draft.id] = draft;
  },
  'drafts/remove': (state, { draft_id }) => {
    delete state['drafts'][draft_id];
  },
  'saved_snippets/add': (state, { saved_snippet }) => {
    state['saved_snippets'][saved_snippet.id] = saved_snippet;
  },
  'saved_snippets/update': (state, { saved_snippet }) => {
    state['saved_snippets'][saved_snippet.id] = saved_snippet;
  },
  'saved_snippets/remove': (state, { saved_snippet_id }) => {
    delete state['saved_snippets'][saved_snippet_id];
  },
};

const CHANNEL_LISTS = ['streams', 'subscriptions', 'unsubscribed', 'never_subscribed'];

/** The channel wherever the client keeps it. */
function everywhere(state: ClientState, channelId: number): Json[] {
  return CHANNEL_LISTS.map((list) => (state[list] as ById)[channelId]).filter((channel) => channel !== undefined);
}

/** What follows from a role, in the user object and for the caller. */
const ownerToGuest = (role: number) => ({ is_owner: role <= 100, is_admin: role <= 200, is_guest: role >= 600 });

function changePerson(state: ClientState, { user_id, ...change }: Json): void {
  const isOwn = user_id === state['user_id'];
  const user = state['realm_users'][user_id] ?? state['realm_non_active_users'][user_id];
  if (user === undefined) throw new Error(`User ${user_id} changed, whom the client does not know`);
  const { is_active, new_email, custom_profile_field, ...plain } = change;
  if (custom_profile_field !== undefined) throw new Error('No profile fields yet');
  Object.assign(user, plain, plain.role !== undefined && ownerToGuest(plain.role));
  if (new_email !== undefined) user.email = new_email;
  if (isOwn) changeCaller(state, change);
  if (is_active === undefined) return;
  const [from, to] = is_active ? ['realm_non_active_users', 'realm_users'] : ['realm_users', 'realm_non_active_users'];
  delete state[from as string][user_id];
  state[to as string][user_id] = user;
}

function changeCaller(state: ClientState, change: Json): void {
  for (const field of ['full_name', 'delivery_email', 'avatar_url', 'avatar_url_medium', 'avatar_source']) {
    if (change[field] !== undefined) state[field] = change[field];
  }
  if (change.new_email !== undefined) state['email'] = change.new_email;
  if (change.role !== undefined) Object.assign(state, ownerToGuest(change.role), { is_moderator: change.role <= 300 });
}
