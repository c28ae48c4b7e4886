import { defineEvent } from '../../events/define.ts';
import type { SettingValue } from '../../platform/setting.ts';
import type { UserDefaultName } from './settings.ts';

/** To everyone in the organisation. */
export const userDefaultUpdated = defineEvent(
  'realm_user_settings_defaults',
  'update',
  (property: UserDefaultName, value: SettingValue) => ({ property, value }),
);
