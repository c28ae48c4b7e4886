import type { Json } from './http.ts';

// What a client keeps of `unread_msgs`: what is unread in channels as an object by channel and topic.

const keyOf = (channelId: number, topic: string) => `${channelId} ${topic.toLowerCase()}`;
const ascending = (ids: readonly number[]) => [...new Set(ids)].sort((a, b) => a - b);

/** As the registration has it, in a form in which two can be compared. */
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

/** Whether what is in the topic counts for nothing. */
function isMuted({ user_topics, subscriptions }: Json, { stream_id, topic }: Json): boolean {
  const policy = user_topics?.[keyOf(stream_id, topic)]?.visibility_policy ?? 0;
  return policy === 1 || (policy === 0 && subscriptions?.[stream_id]?.is_muted === true);
}

/** Drops what is empty, and counts what is left. */
function tidyUp(state: Json): void {
  const unread = state.unread_msgs;
  const isFull = ({ unread_message_ids }: Json) => unread_message_ids.length > 0;
  unread.streams = Object.fromEntries(Object.entries(unread.streams).filter(([, entry]) => isFull(entry as Json)));
  for (const list of ['pms', 'huddles']) unread[list] = unread[list].filter(isFull);
  const counted = entriesOf(state).filter((entry) => entry.stream_id === undefined || !isMuted(state, entry));
  unread.count = counted.reduce((sum, { unread_message_ids }) => sum + unread_message_ids.length, 0);
}

/** Messages that are gone, or read: nothing of them is unread any more. */
export function dropUnread(state: Json, ids: readonly number[]): void {
  if (state.unread_msgs === undefined) return;
  for (const entry of entriesOf(state)) {
    entry.unread_message_ids = entry.unread_message_ids.filter((id: number) => !ids.includes(id));
  }
  state.unread_msgs.mentions = state.unread_msgs.mentions.filter((id: number) => !ids.includes(id));
  tidyUp(state);
}

/** Messages that stand in another topic or channel now. Where the user is not subscribed, nothing is unread. */
export function moveUnread(state: Json, ids: readonly number[], channelId: number, topic: string): void {
  if (state.unread_msgs === undefined) return;
  const moved = ids.filter((id) => isUnread(state, id));
  const mentions = state.unread_msgs.mentions;
  dropUnread(state, moved);
  if (moved.length === 0 || state.subscriptions[channelId] === undefined) return;
  const { streams } = state.unread_msgs;
  const there = streams[keyOf(channelId, topic)] ?? { stream_id: channelId, topic, unread_message_ids: [] };
  // The topic is written as the last of the messages has it.
  const name = Math.max(...moved) > Math.max(...there.unread_message_ids, 0) ? topic : there.topic;
  const all = ascending([...there.unread_message_ids, ...moved]);
  streams[keyOf(channelId, topic)] = { ...there, topic: name, unread_message_ids: all };
  state.unread_msgs.mentions = mentions;
  tidyUp(state);
}

/** A message whose content is another one, and may mention the user or not. */
export function remention(state: Json, id: number, flags: readonly string[]): void {
  if (state.unread_msgs === undefined || !isUnread(state, id)) return;
  const others = state.unread_msgs.mentions.filter((mention: number) => mention !== id);
  const entry = entriesOf(state).find(({ unread_message_ids }) => unread_message_ids.includes(id));
  const heeds = flags.includes('wildcard_mentioned') && (entry.stream_id === undefined || !isMuted(state, entry));
  state.unread_msgs.mentions = flags.includes('mentioned') || heeds ? ascending([...others, id]) : others;
}

/** Where an unread message stands: in a topic, or among people. */
export type UnreadPlace =
  | { readonly stream_id: number; readonly topic: string }
  | { readonly userIds: readonly number[] };

/** A message that is unread, or unread again. Where the user is not subscribed, nothing is. */
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

/** The entry of a topic or conversation: the one there is, or a new one in its place. */
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

/** Everything is read. */
export function dropAllUnread(state: Json): void {
  if (state.unread_msgs === undefined) return;
  dropUnread(
    state,
    entriesOf(state).flatMap(({ unread_message_ids }) => unread_message_ids),
  );
}

/** A channel the user left, or does not see any more: what is unread there is nothing to them. */
export function dropUnreadIn(state: Json, channelId: number): void {
  if (state.unread_msgs === undefined) return;
  const there = entriesOf(state).filter(({ stream_id }) => stream_id === channelId);
  dropUnread(
    state,
    there.flatMap(({ unread_message_ids }) => unread_message_ids),
  );
}

/** Counts again, when it may be that something is muted, or is no more. */
export function recountUnread(state: Json): void {
  if (state.unread_msgs !== undefined) tidyUp(state);
}
