import { fresh, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { PNG } from '../helpers/pictures.ts';
import { heldBy } from '../helpers/piles.ts';

export const bots: FeatureTests = {
  rest: {
    'GET /bots': () => [{}],
    'POST /bots': ({ channelName }) => {
      const name = fresh();
      const defaults = { default_sending_stream: channelName, default_events_register_stream: channelName };
      return [
        {
          parameters: {
            ...{ full_name: name, short_name: name.replace(' ', ''), bot_type: 1, ...defaults },
            ...{ default_all_public_streams: true, file: PNG, current_password: 'not looked at' },
          },
        },
      ];
    },
    'PATCH /bots/{bot_id}': ({ botId, userId, channelName }) => {
      const defaults = { default_sending_stream: channelName, default_events_register_stream: channelName };
      return [
        {
          slots: { bot_id: botId },
          parameters: { full_name: fresh(), role: 300, default_all_public_streams: true, ...defaults, file: PNG },
        },
        { slots: { bot_id: botId }, parameters: { bot_owner_id: userId, current_password: 'not looked at' } },
      ];
    },
    'GET /bots/{bot_id}/api_key': ({ botId }) => [{ slots: { bot_id: botId } }],
    'POST /bots/{bot_id}/api_key/regenerate': ({ botId }) => [
      { slots: { bot_id: botId }, parameters: { current_password: 'not looked at' } },
    ],
    'DELETE /bots/{bot_id}': ({ botId }) => [{ slots: { bot_id: botId } }],
  },
  queries: {
    ownBots: () => [{ ...PAGE, orderBy: { field: 'FULL_NAME', direction: 'DESC' } }],
    botApiKey: ({ botId }) => [{ botId }],
  },
  mutations: {
    createBot: ({ channelId }) => {
      const fullName = fresh();
      const defaults = { defaultSendingChannelId: channelId, defaultEventsChannelId: channelId };
      const image = PNG;
      const more = { image, currentPassword: 'not looked at' };
      return [
        { fullName, shortName: fullName.replaceAll(' ', ''), ...defaults, hearsAllPublicChannels: true, ...more },
      ];
    },
    updateBot: ({ botId, userId, channelId }) => [
      {
        ...{ botId, fullName: fresh(), role: 'MODERATOR', hearsAllPublicChannels: true, image: PNG },
        ...{ defaultSendingChannelId: channelId, defaultEventsChannelId: channelId },
      },
      { botId, ownerId: userId, currentPassword: 'not looked at' },
    ],
    regenerateApiKey: ({ botId }) => [{ botId, currentPassword: 'not looked at' }],
    deactivateBot: ({ botId }) => [{ botId }],
  },
  nodes: ({ botId }) => ({ Bot: botId }),
  piles: {
    bots_per_user: {
      fill: ({ sql }) =>
        sql(`INSERT INTO user_account (realm_id, email, full_name, bot_type, bot_owner_id, is_active)
        SELECT $1, 'old' || n || '-bot@example.com', 'old ' || n, 1, $2, n = 1 FROM generate_series(1, 200) AS n`),
      rest: ({ member }, i) => member.rest('POST', '/bots', { full_name: `new ${i}`, short_name: `new${i}` }),
      graphql: (_, i) => ['createBot', { fullName: `new ${i}`, shortName: `new${i}` }],
      held: heldBy('user_account', 'bot_owner_id = $1'),
      // Transfers the bot to the owner. The member cannot transfer it to another user.
      free: async ({ member, owner }) => {
        const { members } = await owner.ok('GET', '/users');
        const { user_id: bot } = members.find((user: { bot_owner_id: number }) => user.bot_owner_id === member.id);
        await owner.ok('PATCH', `/bots/${bot}`, { bot_owner_id: owner.id });
      },
    },
  },
  lists: { realm_bots: 'user_id' },
  rules: {
    'realm_bot/add': (state, { bot }) => {
      state['realm_bots'][bot.user_id] = bot;
    },
    'realm_bot/update': (state, { bot }) => Object.assign(state['realm_bots'][bot.user_id], bot),
    'realm_bot/delete': (state, { bot }) => {
      delete state['realm_bots'][bot.user_id];
    },
  },
};
