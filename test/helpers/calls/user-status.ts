import type { FeatureCalls } from './feature.ts';
import { fresh } from './shared.ts';

export const userStatus: FeatureCalls = {
  rest: {
    'POST /users/me/status': ({ emojiName }) => [
      { parameters: { emoji_name: emojiName } },
      { parameters: { status_text: fresh(), away: true } },
      { parameters: { emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' } },
    ],
    'POST /users/{user_id}/status': ({ userId }) => [
      {
        slots: { user_id: userId },
        parameters: { status_text: fresh(), emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' },
      },
      { slots: { user_id: userId }, parameters: { away: true } },
    ],
    'GET /users/{user_id}/status': ({ userId }) => [{ slots: { user_id: userId } }],
  },
  mutations: {
    setStatus: ({ userId }) => [
      { text: fresh(), isAway: true },
      { userId, emojiName: 'tada', emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' },
    ],
  },
  nodes: ({ userId }) => ({ UserStatus: userId }),
};
