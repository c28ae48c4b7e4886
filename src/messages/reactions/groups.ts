import type { ReactionType } from '../../people/emoji/emoji.ts';

/** One emoji on a message, and who has put it there. */
export interface ReactionGroup {
  /** The name it was first chosen by. */
  readonly emojiName: string;
  readonly emojiCode: string;
  readonly reactionType: ReactionType;
  readonly count: number;
  /** The first of them, in the order in which they came. */
  readonly userIds: readonly number[];
  readonly viewerHasReacted: boolean;
}

/** How many of those who have put an emoji on a message are told of. Our choice: as many as a line of names takes. */
export const MAX_GROUP_USERS = 10;

/** An emoji on a message as it is read, or as an event has it. */
export interface CountedEmoji {
  readonly emoji_name: string;
  readonly emoji_code: string;
  readonly reaction_type: ReactionType;
  readonly count: number;
  /** The first of those who have put it there, in order, as many as a group tells of; then any others. */
  readonly user_ids: readonly number[];
}

/** An emoji on a message as somebody sees it; they are among `user_ids` where they are one of those. */
export const toReactionGroup = (emoji: CountedEmoji, viewerId: number): ReactionGroup => ({
  emojiName: emoji.emoji_name,
  emojiCode: emoji.emoji_code,
  reactionType: emoji.reaction_type,
  count: emoji.count,
  userIds: emoji.user_ids.slice(0, Math.min(emoji.count, MAX_GROUP_USERS)),
  viewerHasReacted: emoji.user_ids.includes(viewerId),
});

/** Up to how many reactions of a message an event about it has. Our choice: what is some 10 KiB. */
export const MAX_TOLD_REACTIONS = 500;

/** An emoji on a message, with everybody who has put it there, as JSON: events have a message's emoji so. */
export interface ToldEmoji extends CountedEmoji {
  /** Of the reactions, as `user_ids` has whose they are. */
  readonly ids: readonly number[];
}

/** A reaction as an event knows it. */
export interface KnownReaction extends Pick<ReactionGroup, 'emojiName' | 'emojiCode' | 'reactionType'> {
  readonly id: number;
  readonly userId: number;
}

/** All reactions of a message as somebody who hears of a change of it sees them. */
export interface KnownReactions {
  readonly groups: readonly ReactionGroup[];
  /** The oldest first. */
  readonly all: readonly KnownReaction[];
}

/** What those see alike who have put the same emoji on the message. */
export const classOfReactor = (told: readonly ToldEmoji[], userId: number): string =>
  told.map(({ user_ids }) => Number(user_ids.includes(userId))).join('');

/** What an event has of a message's reactions, as a viewer sees them. */
export function reactionsSeenBy(told: readonly ToldEmoji[], viewerId: number): KnownReactions {
  const all = told.flatMap(({ emoji_name, emoji_code, reaction_type, user_ids, ids }) => {
    const emoji = { emojiName: emoji_name, emojiCode: emoji_code, reactionType: reaction_type };
    return ids.map((id, i) => ({ id, userId: user_ids[i] ?? 0, ...emoji }));
  });
  return { groups: told.map((emoji) => toReactionGroup(emoji, viewerId)), all: all.toSorted((a, b) => a.id - b.id) };
}
