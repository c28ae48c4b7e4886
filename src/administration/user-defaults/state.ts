import { SETTING_CHOICES } from '../../access/user-settings.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { USER_DEFAULT_NAMES, userDefault } from './settings.ts';

/** State with the default settings of new users. */
export const userDefaultsState: StateGroup = {
  name: 'realm_user_settings_defaults',
  async read({ viewer: { realm } }) {
    const values = USER_DEFAULT_NAMES.map((name) => [name, userDefault(realm, name)]);
    return { realm_user_settings_defaults: { ...Object.fromEntries(values), ...SETTING_CHOICES } };
  },
};
