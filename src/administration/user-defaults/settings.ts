import { USER_SETTINGS, type UserSettingName, type UserSettingValue, userSetting } from '../../access/user-settings.ts';
import type { Organization } from '../../generated/prisma/client.ts';

const { timezone: _, ...withDefault } = USER_SETTINGS;

/** The settings for which an organization has defaults for new users. */
export const USER_DEFAULTS = withDefault;
export type UserDefaultName = Exclude<UserSettingName, 'timezone'>;
export const USER_DEFAULT_NAMES = Object.keys(USER_DEFAULTS) as readonly UserDefaultName[];

const { default_language, enable_marketing_emails, enable_login_emails, allow_private_data_export, ...editable } =
  USER_DEFAULTS;

/** The defaults that an organization can change. */
export const EDITABLE_USER_DEFAULTS = editable;
export type EditableUserDefaultName = keyof typeof EDITABLE_USER_DEFAULTS;
export const EDITABLE_USER_DEFAULT_NAMES = Object.keys(EDITABLE_USER_DEFAULTS) as readonly EditableUserDefaultName[];

/** Returns the organization's default of a setting for new users. */
export const userDefault = <K extends UserDefaultName>(
  { userDefaults }: Pick<Organization, 'userDefaults'>,
  name: K,
): UserSettingValue<K> => userSetting({ settings: userDefaults }, name);
