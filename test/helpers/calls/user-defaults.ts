import { EDITABLE_USER_DEFAULTS } from '../../../src/administration/user-defaults/settings.ts';
import type { FeatureCalls } from './feature.ts';
import { graphqlInitial, restInitial } from './shared.ts';

export const userDefaults: FeatureCalls = {
  rest: {
    'PATCH /realm/user_settings_defaults': () => [{ parameters: restInitial(EDITABLE_USER_DEFAULTS) }],
  },
  queries: {
    userSettingsDefaults: () => [{}],
  },
  mutations: {
    updateUserSettingsDefaults: () => [graphqlInitial(EDITABLE_USER_DEFAULTS)],
  },
  nodes: ({ organizationId }) => ({ UserSettingsDefaults: organizationId }),
};
