import { EDITABLE_USER_DEFAULTS } from '../../src/administration/user-defaults/settings.ts';
import { graphqlInitial, restInitial } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';

export const userDefaults: FeatureTests = {
  rest: {
    'PATCH /realm/user_settings_defaults': () => [{ parameters: restInitial(EDITABLE_USER_DEFAULTS) }],
  },
  queries: {
    userSettingsDefaults: () => [{}],
  },
  mutations: {
    updateUserSettingsDefaults: () => [{ settings: graphqlInitial(EDITABLE_USER_DEFAULTS) }],
  },
  rules: {
    'realm_user_settings_defaults/update': (state, { property, value }) => {
      state['realm_user_settings_defaults'][property] = value;
    },
  },
};
