import type { ReactionType } from '../../people/emoji/emoji.ts';

/** An emoji on a message, with the users who reacted with it. */
export interface ReactionGroup {
  /** The name in the first reaction with this emoji. */
  readonly emojiName: string;
  readonly emojiCode: string;
  readonly reactionType: ReactionType;
  readonly count: number;
  /** The first of these users, in the order of their reactions. */
  readonly userIds: readonly number[];
  readonly viewerHasReacted: boolean;
}

/** Maximum number of users of an emoji that are listed: as many as fit in one line of names. */
export const MAX_GROUP_USERS = 10;

/** An emoji on a message, as it is read from the database or from an event. */
export interface CountedEmoji {
  readonly emoji_name: string;
  readonly emoji_code: string;
  readonly reaction_type: ReactionType;
  readonly count: number;
  /** The first `MAX_GROUP_USERS` users, in the order of their reactions, then any others. */
  readonly user_ids: readonly number[];
}

/** Converts an emoji to a group as the viewer sees it. `user_ids` must include the viewer if the viewer has reacted. */
export const toReactionGroup = (emoji: CountedEmoji, viewerId: number): ReactionGroup => ({
  emojiName: emoji.emoji_name,
  emojiCode: emoji.emoji_code,
  reactionType: emoji.reaction_type,
  count: emoji.count,
  userIds: emoji.user_ids.slice(0, Math.min(emoji.count, MAX_GROUP_USERS)),
  viewerHasReacted: emoji.user_ids.includes(viewerId),
});

/** Maximum number of reactions in an event about a message. They take some 10 KiB. */
export const MAX_EVENT_REACTIONS = 500;

/** An emoji on a message with all users who reacted, as JSON in events. */
export interface EventEmoji extends CountedEmoji {
  /** Ids of the reactions, in the order of `user_ids`. */
  readonly ids: readonly number[];
}

/** A reaction in an event. */
export interface KnownReaction extends Pick<ReactionGroup, 'emojiName' | 'emojiCode' | 'reactionType'> {
  readonly id: number;
  readonly userId: number;
}

/** All reactions of a message as one recipient of an event sees them. */
export interface KnownReactions {
  readonly groups: readonly ReactionGroup[];
  /** Oldest first. */
  readonly all: readonly KnownReaction[];
}

/** Returns a key that is equal for users who reacted with the same emoji, so that an event is rendered once for all of them. */
export const classOfReactor = (told: readonly EventEmoji[], userId: number): string =>
  told.map(({ user_ids }) => Number(user_ids.includes(userId))).join('');

/** Converts an event's reactions to a message for a viewer. */
export function reactionsSeenBy(told: readonly EventEmoji[], viewerId: number): KnownReactions {
  const all = told.flatMap(({ emoji_name, emoji_code, reaction_type, user_ids, ids }) => {
    const emoji = { emojiName: emoji_name, emojiCode: emoji_code, reactionType: reaction_type };
    return ids.map((id, i) => ({ id, userId: user_ids[i] ?? 0, ...emoji }));
  });
  return { groups: told.map((emoji) => toReactionGroup(emoji, viewerId)), all: all.toSorted((a, b) => a.id - b.id) };
}
