import { PNG } from '../pictures.ts';
import type { FeatureCalls } from './feature.ts';
import { fresh, PAGE } from './shared.ts';

export const customEmoji: FeatureCalls = {
  rest: {
    'GET /realm/emoji': () => [{}],
    'POST /realm/emoji/{emoji_name}': () => [{ slots: { emoji_name: fresh() }, parameters: { file: PNG } }],
    'DELETE /realm/emoji/{emoji_name}': ({ emojiName }) => [{ slots: { emoji_name: emojiName } }],
  },
  queries: {
    customEmoji: () => [{ ...PAGE, isActive: true, orderBy: { field: 'NAME', direction: 'ASC' } }],
  },
  mutations: {
    addCustomEmoji: () => [{ name: fresh().toLowerCase(), image: PNG }],
    deactivateCustomEmoji: ({ emojiName }) => [{ name: emojiName }],
  },
  nodes: ({ emojiId }) => ({ CustomEmoji: emojiId }),
};
