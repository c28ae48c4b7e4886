import { PNG } from '../pictures.ts';
import type { FeatureCalls } from './feature.ts';
import { fresh, PAGE } from './shared.ts';

export const bots: FeatureCalls = {
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
        { slots: { bot_id: botId }, parameters: { bot_owner_id: userId } },
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
      { botId, ownerId: userId },
    ],
    regenerateApiKey: ({ botId }) => [{ botId, currentPassword: 'not looked at' }],
    deactivateBot: ({ botId }) => [{ botId }],
  },
  nodes: ({ botId }) => ({ Bot: botId }),
};
