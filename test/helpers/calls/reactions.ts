import type { FeatureCalls } from './feature.ts';

export const reactions: FeatureCalls = {
  rest: {
    'POST /messages/{message_id}/reactions': ({ messageId, emojiName, emojiId }) => [
      {
        slots: { message_id: messageId },
        parameters: { emoji_name: emojiName, emoji_code: String(emojiId), reaction_type: 'realm_emoji' },
      },
      { slots: { message_id: messageId }, parameters: { emoji_name: 'octopus' } },
      {
        slots: { message_id: messageId },
        parameters: { emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' },
      },
    ],
    'DELETE /messages/{message_id}/reactions': ({ messageId, emojiName }) => [
      { slots: { message_id: messageId }, parameters: { emoji_name: emojiName } },
      { slots: { message_id: messageId }, parameters: { emoji_name: 'octopus' } },
      { slots: { message_id: messageId }, parameters: { emoji_code: '1f389', reaction_type: 'unicode_emoji' } },
    ],
  },
  mutations: {
    addReaction: ({ messageId, emojiName, emojiId }) => [
      { messageId, emojiName, emojiCode: String(emojiId), reactionType: 'REALM_EMOJI' },
      { messageId, emojiName: 'octopus' },
      { messageId, emojiName: 'tada', emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' },
    ],
    removeReaction: ({ messageId, emojiName }) => [
      { messageId, emoji: { name: emojiName } },
      { messageId, emoji: { name: 'octopus' } },
      { messageId, emoji: { code: { emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' } } },
    ],
  },
  nodes: ({ reactionId }) => ({ Reaction: reactionId }),
};
