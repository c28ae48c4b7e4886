import type { FeatureTests } from '../helpers/feature.ts';

export const server: FeatureTests = {
  rest: {
    'GET /server_settings': () => [{}],
  },
  queries: {
    rateLimit: () => [{}],
    serverSettings: () => [{}],
    suggestions: ({ channelId }) => [
      { text: 'a', kinds: ['USER', 'CHANNEL', 'USER_GROUP', 'TOPIC'], channelId, first: 3 },
      { text: '' },
    ],
  },
};
