import type { FeatureTests } from '../helpers/feature.ts';
import { OWNER_PASSWORD } from '../helpers/server.ts';

const NO_WEB_TOKENS = 'JWT authentication is not enabled for this organization';

export const auth: FeatureTests = {
  rest: {
    'POST /jwt/fetch_api_key': () => [
      { parameters: { token: 'a.b.c', include_profile: true }, refusal: NO_WEB_TOKENS },
    ],
    'POST /fetch_api_key': ({ username }) => [{ parameters: { username, password: OWNER_PASSWORD } }],
    'POST /users/me/api_key/regenerate': () => [{ as: 'moderator', parameters: { current_password: 'not looked at' } }],
  },
  mutations: {
    fetchApiKeyByJwt: () => [{ token: 'a.b.c' }],
    fetchApiKey: ({ username }) => [{ username, password: OWNER_PASSWORD }],
  },
  refusals: { fetchApiKeyByJwt: NO_WEB_TOKENS },
};
