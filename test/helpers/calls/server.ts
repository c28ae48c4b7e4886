import type { FeatureCalls } from './feature.ts';

export const server: FeatureCalls = {
  rest: {
    'GET /server_settings': () => [{}],
  },
  queries: {
    rateLimit: () => [{}],
    serverSettings: () => [{}],
  },
};
