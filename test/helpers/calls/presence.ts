import type { FeatureCalls } from './feature.ts';
import { PAGE } from './shared.ts';

export const presence: FeatureCalls = {
  rest: {
    'POST /users/me/presence': () => [
      { parameters: { status: 'active', new_user_input: true, last_update_id: -1, history_limit_days: 1 } },
      { parameters: { status: 'idle', ping_only: true, slim_presence: true } },
    ],
    'GET /users/{user_id}/presence': ({ userId }) => [{ slots: { user_id: userId } }],
    'GET /users/{email}/presence': ({ email }) => [{ slots: { email } }],
    'GET /realm/presence': () => [{}],
  },
  queries: {
    presences: () => [{ ...PAGE, since: { version: -1 } }, { since: { days: 1 } }],
  },
  mutations: {
    recordPresence: () => [{ status: 'ACTIVE' }],
  },
  nodes: ({ userId }) => ({ UserPresence: userId }),
};
