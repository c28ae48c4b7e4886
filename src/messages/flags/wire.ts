import { topicKey } from '../../contract/topic-key.ts';
import { shownTopic } from '../wire.ts';
import type { Unread, UnreadGroup } from './unread.ts';

/** Id of the user whose unread messages are shown, and how the user's client shows the empty topic. */
interface Shown {
  readonly userId: number;
  readonly emptyTopicName: string;
  readonly knowsEmptyTopic: boolean;
}

const conversations = (groups: readonly UnreadGroup[]) =>
  groups.flatMap(({ memberIds, ids }) => (memberIds === null ? [] : [{ memberIds, ids }]));

/** Converts a user's unread messages to the JSON form that initial states contain. */
export function toWireUnread({ groups, isCut }: Unread, { userId, emptyTopicName, knowsEmptyTopic }: Shown) {
  const direct = conversations(groups);
  const pairs = direct.filter(({ memberIds }) => memberIds.length <= 2);
  const others = direct.filter(({ memberIds }) => memberIds.length > 2);
  return {
    count: countUnread(groups),
    pms: pairs
      .map(({ memberIds, ids }) => {
        const otherId = memberIds.find((id) => id !== userId) ?? userId;
        return { other_user_id: otherId, sender_id: otherId, unread_message_ids: ids };
      })
      .sort((a, b) => a.other_user_id - b.other_user_id),
    streams: groups
      .flatMap(({ channelId, topic, ids }) =>
        channelId === null ? [] : [{ stream_id: channelId, topic, unread_message_ids: ids }],
      )
      .sort((a, b) => a.stream_id - b.stream_id || compare(topicKey(a.topic), topicKey(b.topic)))
      .map((entry) => ({ ...entry, topic: shownTopic(entry.topic, emptyTopicName, knowsEmptyTopic) })),
    huddles: others
      .map(({ memberIds, ids }) => ({ user_ids_string: memberIds.join(), unread_message_ids: ids }))
      .sort((a, b) => compare(a.user_ids_string, b.user_ids_string)),
    mentions: groups.flatMap(({ mentions }) => mentions).sort((a, b) => a - b),
    old_unreads_missing: isCut,
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Returns the number of unread messages, without those of muted topics. */
export const countUnread = (groups: readonly UnreadGroup[]): number =>
  groups.reduce((sum, { isMuted, ids }) => sum + (isMuted ? 0 : ids.length), 0);
