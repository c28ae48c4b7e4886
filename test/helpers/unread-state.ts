import type { Json } from './http.ts';

// The client state for `unread_msgs`. Unread messages in channels are an object keyed by channel and topic.

const keyOf = (channelId: number, topic: string) => `${channelId} ${topic.toLowerCase()}`;
const ascending = (ids: readonly number[]) => [...new Set(ids)].sort((a, b) => a - b);

/** Converts `unread_msgs` of a registration to a form that can be compared. */
export function unreadOf(unread: Json): Json {
  const streams = unread.streams.map((entry: Json) => [keyOf(entry.stream_id, entry.topic), entry]);
  return { ...unread, streams: Object.fromEntries(streams) };
}

const entriesOf = ({ unread_msgs }: Json): Json[] => [
  ...Object.values(unread_msgs.streams),
  ...unread_msgs.pms,
  ...unread_msgs.huddles,
];

const isUnread = (state: Json, id: number): boolean =>
  entriesOf(state).some(({ unread_message_ids }) => unread_message_ids.includes(id));

/** Returns whether the topic is muted, so that its messages are not counted. */
function isMuted({ user_topics, subscriptions }: Json, { stream_id, topic }: Json): boolean {
  const policy = user_topics?.[keyOf(stream_id, topic)]?.visibility_policy ?? 0;
  return policy === 1 || (policy === 0 && subscriptions?.[stream_id]?.is_muted === true);
}

/** Removes empty entries from the unread messages, and updates their count. */
function tidyUp(state: Json): void {
  const unread = state.unread_msgs;
  const isFull = ({ unread_message_ids }: Json) => unread_message_ids.length > 0;
  unread.streams = Object.fromEntries(Object.entries(unread.streams).filter(([, entry]) => isFull(entry as Json)));
  for (const list of ['pms', 'huddles']) unread[list] = unread[list].filter(isFull);
  const counted = entriesOf(state).filter((entry) => entry.stream_id === undefined || !isMuted(state, entry));
  unread.count = counted.reduce((sum, { unread_message_ids }) => sum + unread_message_ids.length, 0);
}

/** Removes messages that were deleted or read from the unread messages. */
export function dropUnread(state: Json, ids: readonly number[]): void {
  if (state.unread_msgs === undefined) return;
  for (const entry of entriesOf(state)) {
    entry.unread_message_ids = entry.unread_message_ids.filter((id: number) => !ids.includes(id));
  }
  state.unread_msgs.mentions = state.unread_msgs.mentions.filter((id: number) => !ids.includes(id));
  tidyUp(state);
}

/** Moves unread messages to another topic or channel. Drops them if the user is not subscribed to the channel. */
export function moveUnread(state: Json, ids: readonly number[], channelId: number, topic: string): void {
  if (state.unread_msgs === undefined) return;
  const moved = ids.filter((id) => isUnread(state, id));
  const mentions = state.unread_msgs.mentions;
  dropUnread(state, moved);
  if (moved.length === 0 || state.subscriptions[channelId] === undefined) return;
  const { streams } = state.unread_msgs;
  const there = streams[keyOf(channelId, topic)] ?? { stream_id: channelId, topic, unread_message_ids: [] };
  // The key ignores case. The displayed name is that of the topic's newest message.
  const name = Math.max(...moved) > Math.max(...there.unread_message_ids, 0) ? topic : there.topic;
  const all = ascending([...there.unread_message_ids, ...moved]);
  streams[keyOf(channelId, topic)] = { ...there, topic: name, unread_message_ids: all };
  state.unread_msgs.mentions = mentions;
  tidyUp(state);
}

/** Updates whether an unread message mentions the user, after its content has changed. */
export function remention(state: Json, id: number, flags: readonly string[]): void {
  if (state.unread_msgs === undefined || !isUnread(state, id)) return;
  const others = state.unread_msgs.mentions.filter((mention: number) => mention !== id);
  const entry = entriesOf(state).find(({ unread_message_ids }) => unread_message_ids.includes(id));
  const heeds = flags.includes('wildcard_mentioned') && (entry.stream_id === undefined || !isMuted(state, entry));
  state.unread_msgs.mentions = flags.includes('mentioned') || heeds ? ascending([...others, id]) : others;
}

/** Location of an unread message: a topic, or a direct conversation. */
export type UnreadPlace =
  | { readonly stream_id: number; readonly topic: string }
  | { readonly userIds: readonly number[] };

/** Adds an unread message, or one that was marked as unread again. Ignores it if the user is not subscribed to its channel. */
export function addUnread(state: Json, id: number, place: UnreadPlace, flags: readonly string[]): void {
  if (state.unread_msgs === undefined) return;
  dropUnread(state, [id]);
  const isThere = 'userIds' in place || state.subscriptions[place.stream_id] !== undefined;
  if (!isThere) return;
  const entry = entryOf(state, place);
  entry.unread_message_ids = ascending([...entry.unread_message_ids, id]);
  remention(state, id, flags);
  tidyUp(state);
}

/** Returns the entry of a topic or conversation. Inserts an empty entry if there is none. */
function entryOf(state: Json, place: UnreadPlace): Json {
  const { streams, pms, huddles } = state.unread_msgs;
  if (!('userIds' in place)) {
    const { stream_id, topic } = place;
    streams[keyOf(stream_id, topic)] ??= { stream_id, topic, unread_message_ids: [] };
    return streams[keyOf(stream_id, topic)];
  }
  const others = place.userIds.filter((id) => id !== state.user_id);
  const own: Json =
    others.length > 1
      ? { user_ids_string: ascending([...others, state.user_id]).join(), unread_message_ids: [] }
      : pairWith(others[0] ?? state.user_id);
  const [list, key] = others.length > 1 ? [huddles, 'user_ids_string'] : [pms, 'other_user_id'];
  const known = list.find((entry: Json) => entry[key] === own[key]);
  if (known !== undefined) return known;
  list.push(own);
  list.sort((a: Json, b: Json) => (a[key] < b[key] ? -1 : 1));
  return own;
}

const pairWith = (id: number): Json => ({ other_user_id: id, sender_id: id, unread_message_ids: [] });

/** Marks all messages as read. */
export function dropAllUnread(state: Json): void {
  if (state.unread_msgs === undefined) return;
  dropUnread(
    state,
    entriesOf(state).flatMap(({ unread_message_ids }) => unread_message_ids),
  );
}

/** Drops the unread messages of a channel that the user has left or can no longer see. */
export function dropUnreadIn(state: Json, channelId: number): void {
  if (state.unread_msgs === undefined) return;
  const there = entriesOf(state).filter(({ stream_id }) => stream_id === channelId);
  dropUnread(
    state,
    there.flatMap(({ unread_message_ids }) => unread_message_ids),
  );
}

/** Updates the unread count after a channel or topic was muted or unmuted. */
export function recountUnread(state: Json): void {
  if (state.unread_msgs !== undefined) tidyUp(state);
}
