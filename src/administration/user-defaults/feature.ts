import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { SETTING_CHOICES } from '../../access/user-settings.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { patchUserDefaults } from './rest.ts';
import { USER_DEFAULT_NAMES, userDefault } from './settings.ts';

/** State group (a part of the response of `POST /register`) with the default settings of new users. */
const userDefaultsState: StateGroup = {
  name: 'realm_user_settings_defaults',
  async read({ viewer: { organization } }) {
    const values = USER_DEFAULT_NAMES.map((name) => [name, userDefault(organization, name)]);
    return { realm_user_settings_defaults: { ...Object.fromEntries(values), ...SETTING_CHOICES } };
  },
};

export const userDefaults: Feature = {
  endpoints: [patchUserDefaults],
  state: [userDefaultsState],
};
