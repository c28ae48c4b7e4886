import type { Client } from 'urql';
import { createStore } from '../base/store.ts';
import type { Emoji } from '../emoji/emoji-table.ts';
import { AddReactionDocument, type MessageRowFragment, RemoveReactionDocument } from '../generated/graphql.ts';
import { act } from '../ui/act.ts';

type Group = MessageRowFragment['reactionGroups'][number];

/** A change of the viewer's reaction to a message that the service has not confirmed yet. */
export interface PendingReaction extends Pick<Group, 'emojiName' | 'emojiCode' | 'reactionType'> {
  readonly messageId: string;
  readonly isAdded: boolean;
}

export const pendingReactions = createStore<readonly PendingReaction[]>([]);

export const isSameEmoji = (a: Pick<Group, 'emojiCode' | 'reactionType'>, b: typeof a): boolean =>
  a.emojiCode === b.emojiCode && a.reactionType === b.reactionType;

/**
 * Adds the reaction of the viewer with the emoji of a group, or removes this reaction if it exists. The page shows the change
 * as pending until the service responds.
 */
export async function toggleReaction(
  client: Client,
  messageId: string,
  { emojiName, emojiCode, reactionType, viewerHasReacted }: Omit<Group, 'count' | 'users'>,
): Promise<void> {
  const pending = { messageId, emojiName, emojiCode, reactionType, isAdded: !viewerHasReacted };
  if (pendingReactions.get().some((one) => one.messageId === messageId && isSameEmoji(one, pending))) return;
  pendingReactions.set([...pendingReactions.get(), pending]);
  const input = { messageId, emoji: { code: { emojiCode, reactionType } } };
  if (viewerHasReacted) await act(client, RemoveReactionDocument, { input });
  else await act(client, AddReactionDocument, { input });
  pendingReactions.set(pendingReactions.get().filter((one) => one !== pending));
}

/** Adds a reaction to a message, unless the viewer already has it. */
export function react(client: Client, message: MessageRowFragment, emoji: Emoji): void {
  const group = groupOf(message, emoji);
  if (!group.viewerHasReacted) void toggleReaction(client, message.id, group);
}

/** Returns the reactions to a message with an emoji, or a group without reactions. */
export function groupOf(
  { reactionGroups }: MessageRowFragment,
  { names, code, type }: Emoji,
): Omit<Group, 'count' | 'users'> {
  const none = { emojiName: names[0], emojiCode: code, reactionType: type, viewerHasReacted: false };
  return reactionGroups.find((group) => isSameEmoji(group, none)) ?? none;
}
