import { PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { globalId } from '../helpers/global-ids.ts';

export const presence: FeatureTests = {
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
    presences: ({ userId }) => [
      { ...PAGE, since: { version: -1 } },
      { since: { days: 1 } },
      { userIds: [globalId('User', userId)] },
    ],
  },
  mutations: {
    recordPresence: () => [{ status: 'ACTIVE' }],
  },
  nodes: ({ userId }) => ({ UserPresence: userId }),
  rules: {
    presence: (state, { presences, email, presence }) => {
      if (presences !== undefined) {
        Object.assign(state['presences'], presences);
        return;
      }
      const { pushable: _, ...aggregated } = presence.website;
      state['presences'][email] = { website: presence.website, aggregated };
    },
  },
};
