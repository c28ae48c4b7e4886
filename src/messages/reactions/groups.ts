import type { ReactionType } from '../../people/emoji/emoji.ts';

/** An emoji on a message, with the number of reactions and the first users who reacted with it. */
export interface ReactionGroup {
  /** Name of the emoji in the message's first reaction with this emoji. */
  readonly emojiName: string;
  readonly emojiCode: string;
  readonly reactionType: ReactionType;
  readonly count: number;
  /** Ids of the first users who reacted with the emoji, in the order of their reactions. At most `MAX_GROUP_USERS`. */
  readonly userIds: readonly number[];
  readonly viewerHasReacted: boolean;
}

/**
 * Maximum number of users that are listed for an emoji. Users who reacted later are only counted. The listed names fit into one
 * line.
 */
export const MAX_GROUP_USERS = 10;

/** An emoji on a message, with all or some of the users who reacted with it, as read from the database or from an event. */
export interface CountedEmoji {
  readonly emoji_name: string;
  readonly emoji_code: string;
  readonly reaction_type: ReactionType;
  readonly count: number;
  /**
   * Ids of users who reacted with the emoji. The first `MAX_GROUP_USERS` are in the order of their reactions; more users can
   * follow.
   */
  readonly user_ids: readonly number[];
}

/**
 * Converts an emoji on a message to a group as the viewer sees it. If the viewer has reacted with the emoji, `user_ids` must
 * include the viewer.
 */
export const toReactionGroup = (emoji: CountedEmoji, viewerId: number): ReactionGroup => ({
  emojiName: emoji.emoji_name,
  emojiCode: emoji.emoji_code,
  reactionType: emoji.reaction_type,
  count: emoji.count,
  userIds: emoji.user_ids.slice(0, Math.min(emoji.count, MAX_GROUP_USERS)),
  viewerHasReacted: emoji.user_ids.includes(viewerId),
});

/**
 * Maximum number of reactions to a message that an event contains. If the message has more, the event contains none of them,
 * and fields with reactions are read from the database. So many reactions take about 10 KiB.
 */
export const MAX_EVENT_REACTIONS = 500;

/** An emoji on a message, with all reactions to the message that use this emoji, in the form of event payloads. */
export interface EventEmoji extends CountedEmoji {
  /** Ids of the reactions, in the order of `user_ids`. */
  readonly ids: readonly number[];
}

/** A single reaction to a message, as contained in an event. */
export interface SeenReaction extends Pick<ReactionGroup, 'emojiName' | 'emojiCode' | 'reactionType'> {
  readonly id: number;
  readonly userId: number;
}

/** All reactions to a message, as one recipient of an event sees them. */
export interface SeenReactions {
  readonly groups: readonly ReactionGroup[];
  /** Single reactions, oldest first. */
  readonly all: readonly SeenReaction[];
}

/**
 * Returns a string with one digit for each emoji: 1 if the user has reacted with the emoji, else 0. Users with the same string
 * share one rendering of an event.
 */
export const classOfReactor = (reactions: readonly EventEmoji[], userId: number): string =>
  reactions.map(({ user_ids }) => Number(user_ids.includes(userId))).join('');

/** Converts the reactions in an event to the form that the viewer sees. */
export function reactionsSeenBy(reactions: readonly EventEmoji[], viewerId: number): SeenReactions {
  const all = reactions.flatMap(({ emoji_name, emoji_code, reaction_type, user_ids, ids }) => {
    const emoji = { emojiName: emoji_name, emojiCode: emoji_code, reactionType: reaction_type };
    return ids.map((id, i) => ({ id, userId: user_ids[i] ?? 0, ...emoji }));
  });
  return {
    groups: reactions.map((emoji) => toReactionGroup(emoji, viewerId)),
    all: all.toSorted((a, b) => a.id - b.id),
  };
}
