import type { FeatureTests } from '../helpers/feature.ts';
import { type Hoard, heldBy } from '../helpers/piles.ts';

/** Names of existing emoji: more different ones than a message can have as reactions. */
const EMOJI = ['octopus', 'tada', 'heart', 'rocket', 'sushi', 'cat'];
const REACTIONS = {
  fill: `INSERT INTO reaction (realm_id, message_id, user_id, emoji_name, emoji_code, reaction_type)
    SELECT $1, $3::bigint, u.id, 'x', u.id || '-' || e, 'unicode_emoji'
    FROM unnest($4::int[]) AS u(id), generate_series(1, 25) AS e`,
  rest: ({ member, messageId }: Hoard, i: number) =>
    member.rest('POST', `/messages/${messageId}/reactions`, { emoji_name: EMOJI[i] }),
  graphql: ({ messageId }: Hoard, i: number) => ['addReaction', { messageId, emoji: { name: EMOJI[i] } }] as const,
};

export const reactions: FeatureTests = {
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
    addReaction: ({ messageId, emojiId }) => [
      { messageId, emoji: { code: { emojiCode: String(emojiId), reactionType: 'REALM_EMOJI' } } },
      { messageId, emoji: { name: 'octopus' } },
      { messageId, emoji: { code: { emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' } } },
    ],
    removeReaction: ({ messageId, emojiName }) => [
      { messageId, emoji: { name: emojiName } },
      { messageId, emoji: { name: 'octopus' } },
      { messageId, emoji: { code: { emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' } } },
    ],
  },
  nodes: ({ reactionId }) => ({ Reaction: reactionId }),
  piles: {
    reactions_per_user_and_message: {
      ...REACTIONS,
      fill: ({ sql, messageId, member }) => sql(REACTIONS.fill, messageId, [member.id]),
      held: heldBy('reaction', 'user_id = $1'),
      free: ({ member, messageId }) =>
        member.ok('DELETE', `/messages/${messageId}/reactions`, {
          ...{ emoji_code: `${member.id}-1`, reaction_type: 'unicode_emoji' },
        }),
    },
    reactions_per_message: {
      ...REACTIONS,
      fill: ({ sql, messageId }) =>
        sql(
          `, crowd AS (
             INSERT INTO user_account (realm_id, email, full_name)
             SELECT $1, 'crowd' || n || '@example.com', 'crowd ' || n FROM generate_series(1, 100) AS n RETURNING id)
           INSERT INTO reaction (realm_id, message_id, user_id, emoji_name, emoji_code, reaction_type)
           SELECT $1, $3::bigint, crowd.id, 'x', 'c' || e, 'unicode_emoji' FROM crowd, generate_series(1, 50) AS e`,
          messageId,
        ),
      held: heldBy('reaction', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
      free: `DELETE FROM reaction WHERE realm_id = $1 AND id = (SELECT max(id) FROM reaction WHERE realm_id = $1)`,
    },
    emoji_per_message: {
      ...REACTIONS,
      fill: ({ sql, messageId, owner, administrator, moderator, guest }) =>
        sql(REACTIONS.fill, messageId, [owner.id, administrator.id, moderator.id, guest.id]),
      held: heldBy('reaction', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
      free: ({ owner, messageId }) =>
        owner.ok('DELETE', `/messages/${messageId}/reactions`, {
          ...{ emoji_code: `${owner.id}-1`, reaction_type: 'unicode_emoji' },
        }),
    },
  },
  // These events change nothing in the reply of a registration.
  rules: {
    'reaction/add': () => {},
    'reaction/remove': () => {},
  },
};
