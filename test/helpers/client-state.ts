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
  realm_users: 'user_id',
  realm_non_active_users: 'user_id',
  cross_realm_bots: 'user_id',
  realm_bots: 'user_id',
  streams: 'stream_id',
  subscriptions: 'stream_id',
  unsubscribed: 'stream_id',
  never_subscribed: 'stream_id',
  channel_folders: 'id',
  realm_user_groups: 'id',
  drafts: 'id',
  saved_snippets: 'id',
  scheduled_messages: 'scheduled_message_id',
  reminders: 'reminder_id',
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

type Rule = (state: ClientState, event: Json, client: ClientOptions) => void;

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

const RULES: Readonly<Record<string, Rule>> = {
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
  'realm_bot/add': (state, { bot }) => {
    state['realm_bots'][bot.user_id] = bot;
  },
  'realm_bot/update': (state, { bot }) => Object.assign(state['realm_bots'][bot.user_id], bot),
  'realm_bot/delete': (state, { bot }) => {
    delete state['realm_bots'][bot.user_id];
  },
  'realm_user/update': (state, { person }) => changePerson(state, person),
  'realm/update': (state, { property, value }) => {
    state[`realm_${property}`] = value;
  },
  'realm/update_dict': (state, { data: { rendered_description: _, ...data } }) => {
    for (const [property, value] of Object.entries(data)) state[`realm_${property}`] = value;
  },
  // These events change nothing in the registration's response.
  'typing/start': () => {},
  'typing/stop': () => {},
  'typing_edit_message/start': () => {},
  'typing_edit_message/stop': () => {},
  'reaction/add': () => {},
  'reaction/remove': () => {},
  user_status: (state, { user_id, away, status_text, emoji_name, emoji_code, reaction_type }) => {
    const { away: wasAway, status_text: oldText, ...oldEmoji } = state['user_status'][user_id] ?? {};
    const text = status_text ?? oldText ?? '';
    const emoji =
      emoji_name === undefined ? oldEmoji : emoji_name === '' ? {} : { emoji_name, emoji_code, reaction_type };
    const status = { ...((away ?? wasAway) && { away: true }), ...(text !== '' && { status_text: text }), ...emoji };
    if (Object.keys(status).length > 0) state['user_status'][user_id] = status;
    else delete state['user_status'][user_id];
  },
  presence: (state, { presences, email, presence }) => {
    if (presences !== undefined) {
      Object.assign(state['presences'], presences);
      return;
    }
    const { pushable: _, ...aggregated } = presence.website;
    state['presences'][email] = { website: presence.website, aggregated };
  },
  'realm_user_settings_defaults/update': (state, { property, value }) => {
    state['realm_user_settings_defaults'][property] = value;
  },
  'realm_domains/add': (state, { realm_domain }) => {
    state['realm_domains'].push(realm_domain);
  },
  'realm_domains/change': (state, { realm_domain }) => {
    state['realm_domains'].find(({ domain }: Json) => domain === realm_domain.domain).allow_subdomains =
      realm_domain.allow_subdomains;
  },
  'realm_domains/remove': (state, { domain }) => {
    state['realm_domains'] = state['realm_domains'].filter((known: Json) => known.domain !== domain);
  },
  'realm_emoji/add': (state, { emoji }) => {
    state['realm_emoji'][emoji.id] = emoji;
  },
  'realm_emoji/update_one': (state, { emoji_id, data }) => {
    Object.assign(state['realm_emoji'][emoji_id], data);
  },
  'realm_emoji/update': (state, { realm_emoji }) => {
    state['realm_emoji'] = realm_emoji;
  },
  custom_profile_fields: (state, { fields }) => {
    state['custom_profile_fields'] = fields;
    const isLeft = ([id]: [string, unknown]) => fields.some((field: Json) => field.id === Number(id));
    for (const user of ['realm_users', 'realm_non_active_users'].flatMap((list) => Object.values<Json>(state[list]))) {
      if (user.profile_data === undefined) continue;
      user.profile_data = Object.fromEntries(Object.entries(user.profile_data).filter(isLeft));
    }
  },
  'navigation_view/add': (state, { navigation_view }) => {
    state['navigation_views'].push(navigation_view);
  },
  'navigation_view/update': (state, { fragment, data }) => {
    Object.assign(
      state['navigation_views'].find((view: Json) => view.fragment === fragment),
      data,
    );
  },
  'navigation_view/remove': (state, { fragment }) => {
    state['navigation_views'] = state['navigation_views'].filter((view: Json) => view.fragment !== fragment);
  },
  'user_settings/update': (state, { property, value }) => {
    state['user_settings'][property] = value;
    // The service deletes the stored drafts whenever synchronization is turned on or off.
    if (property === 'enable_drafts_synchronization') state['drafts'] = {};
  },
  'user_group/add': (state, { group }) => {
    state['realm_user_groups'][group.id] = group;
  },
  'user_group/update': (state, { group_id, data }) => {
    Object.assign(state['realm_user_groups'][group_id], data);
  },
  'user_group/remove': (state, { group_id }) => {
    delete state['realm_user_groups'][group_id];
  },
  'user_group/add_members': (state, { group_id, user_ids }) => {
    const group = state['realm_user_groups'][group_id];
    group.members = ascending([...group.members, ...user_ids]);
  },
  'user_group/remove_members': (state, { group_id, user_ids }) => {
    const group = state['realm_user_groups'][group_id];
    group.members = group.members.filter((id: number) => !user_ids.includes(id));
  },
  'user_group/add_subgroups': (state, { group_id, direct_subgroup_ids }) => {
    const group = state['realm_user_groups'][group_id];
    group.direct_subgroup_ids = ascending([...group.direct_subgroup_ids, ...direct_subgroup_ids]);
  },
  'user_group/remove_subgroups': (state, { group_id, direct_subgroup_ids }) => {
    const group = state['realm_user_groups'][group_id];
    group.direct_subgroup_ids = group.direct_subgroup_ids.filter((id: number) => !direct_subgroup_ids.includes(id));
  },
  has_videoprovider_token: (state, { value }) => {
    state['has_videoprovider_token'] = value;
  },
  alert_words: (state, { alert_words }) => {
    state['alert_words'] = alert_words;
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
  'scheduled_messages/add': (state, { scheduled_messages }) => {
    for (const message of scheduled_messages) state['scheduled_messages'][message.scheduled_message_id] = message;
  },
  'scheduled_messages/update': (state, { scheduled_message }) => {
    state['scheduled_messages'][scheduled_message.scheduled_message_id] = scheduled_message;
  },
  'scheduled_messages/remove': (state, { scheduled_message_id }) => {
    delete state['scheduled_messages'][scheduled_message_id];
  },
  'reminders/add': (state, { reminders }) => {
    for (const reminder of reminders) state['reminders'][reminder.reminder_id] = reminder;
  },
  'reminders/remove': (state, { reminder_id }) => {
    delete state['reminders'][reminder_id];
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

/** Returns the entries of a channel in all lists. */
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
