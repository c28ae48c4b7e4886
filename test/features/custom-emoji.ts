import { fresh, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { PNG } from '../helpers/pictures.ts';
import { type Hoard, heldBy } from '../helpers/piles.ts';

const EMOJI_FILES = {
  fill: (author: string) => `, picture AS (
      INSERT INTO image (id, realm_id, media_type, bytes) VALUES (gen_random_uuid(), $1, 'image/png', '') RETURNING id)
    INSERT INTO custom_emoji (realm_id, name, author_id, image_id)
    SELECT $1, 'emoji' || n, ${author}, picture.id FROM picture, generate_series(1, $3::int) AS n`,
  rest: ({ member }: Hoard, i: number) => member.rest('POST', `/realm/emoji/new${i}`, { file: PNG }),
  graphql: (_: Hoard, i: number) => ['addCustomEmoji', { name: `new${i}`, image: PNG }] as const,
};

export const customEmoji: FeatureTests = {
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
  piles: {
    custom_emoji_per_user: {
      ...EMOJI_FILES,
      fill: ({ sql }) => sql(EMOJI_FILES.fill('$2'), 500),
      held: heldBy('custom_emoji', 'author_id = $1'),
      free: "DELETE FROM custom_emoji WHERE realm_id = $1 AND author_id = $2 AND name = 'emoji1'",
    },
    custom_emoji: {
      ...EMOJI_FILES,
      fill: ({ sql }) => sql(EMOJI_FILES.fill('NULL'), 5_000),
      held: heldBy('custom_emoji', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
      free: "DELETE FROM custom_emoji WHERE realm_id = $1 AND name = 'emoji1'",
    },
  },
  rules: {
    'realm_emoji/add': (state, { emoji }) => {
      state['realm_emoji'][emoji.id] = emoji;
    },
    'realm_emoji/update_one': (state, { emoji_id, data }) => {
      Object.assign(state['realm_emoji'][emoji_id], data);
    },
    'realm_emoji/update': (state, { realm_emoji }) => {
      state['realm_emoji'] = realm_emoji;
    },
  },
};
