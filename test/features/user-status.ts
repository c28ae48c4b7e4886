import { fresh } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';

export const userStatus: FeatureTests = {
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
      { userId, emoji: { code: { emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' } } },
      { text: fresh(), emoji: null },
    ],
  },
  nodes: ({ userId }) => ({ UserStatus: userId }),
  rules: {
    user_status: (state, { user_id, away, status_text, emoji_name, emoji_code, reaction_type }) => {
      const { away: wasAway, status_text: oldText, ...oldEmoji } = state['user_status'][user_id] ?? {};
      const text = status_text ?? oldText ?? '';
      const emoji =
        emoji_name === undefined ? oldEmoji : emoji_name === '' ? {} : { emoji_name, emoji_code, reaction_type };
      const status = { ...((away ?? wasAway) && { away: true }), ...(text !== '' && { status_text: text }), ...emoji };
      if (Object.keys(status).length > 0) state['user_status'][user_id] = status;
      else delete state['user_status'][user_id];
    },
  },
};
