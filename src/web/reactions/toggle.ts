import type { Client } from 'urql';
import { act } from '../api/act.ts';
import type { Emoji } from '../emoji/emoji-table.ts';
import { AddReactionDocument, type MessageRowFragment, RemoveReactionDocument } from '../generated/graphql.ts';

type Group = MessageRowFragment['reactionGroups'][number];

/** Adds the viewer's reaction with the emoji of a group, or removes it if it exists. The page shows the change immediately. */
export function toggleReaction(client: Client, messageId: string, group: Omit<Group, 'count' | 'users'>): void {
  const { emojiName, emojiCode, reactionType, viewerHasReacted } = group;
  const code = { emojiCode, reactionType };
  void (viewerHasReacted
    ? act(client, RemoveReactionDocument, { input: { messageId, emoji: { code } } })
    : act(client, AddReactionDocument, { input: { messageId, emojiName, ...code } }));
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
