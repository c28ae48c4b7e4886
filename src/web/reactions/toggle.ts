import type { Client } from 'urql';
import type { Emoji } from '../emoji/emoji-table.ts';
import { AddReactionDocument, type MessageRowFragment, RemoveReactionDocument } from '../generated/graphql.ts';
import { act } from '../ui/act.ts';

type Group = MessageRowFragment['reactionGroups'][number];

/**
 * Adds the reaction of the viewer with the emoji of a group, or removes this reaction if it exists. The page shows the change
 * immediately.
 */
export function toggleReaction(client: Client, messageId: string, group: Omit<Group, 'count' | 'users'>): void {
  const { emojiName, emojiCode, reactionType, viewerHasReacted } = group;
  const variables = { input: { messageId, emoji: { code: { emojiCode, reactionType } } }, emojiName };
  void act<object, typeof variables>(
    client,
    viewerHasReacted ? RemoveReactionDocument : AddReactionDocument,
    variables,
  );
}

/** Adds a reaction to a message, unless the viewer already has it. */
export function react(client: Client, { id, reactionGroups }: MessageRowFragment, emoji: Emoji): void {
  const known = reactionGroups.find(
    ({ emojiCode, reactionType }) => emojiCode === emoji.code && reactionType === emoji.type,
  );
  if (known?.viewerHasReacted === true) return;
  const added = { emojiName: emoji.names[0], emojiCode: emoji.code, reactionType: emoji.type, viewerHasReacted: false };
  toggleReaction(client, id, known ?? added);
}
