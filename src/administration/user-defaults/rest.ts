import { endpoint } from '../../api/rest/endpoint.ts';
import type { Param } from '../../api/rest/params.ts';
import { settingParam } from '../../api/rest/setting-params.ts';
import { updateUserDefaults } from './service.ts';
import { EDITABLE_USER_DEFAULT_NAMES, EDITABLE_USER_DEFAULTS, type EditableUserDefaultName } from './settings.ts';

const params = Object.fromEntries(
  EDITABLE_USER_DEFAULT_NAMES.map((name) => [name, settingParam(EDITABLE_USER_DEFAULTS[name])]),
) as Record<EditableUserDefaultName, Param<unknown, 'optional'>>;

export const patchUserDefaults = endpoint({
  method: 'PATCH',
  path: '/realm/user_settings_defaults',
  auth: 'basic',
  equivalents: ['updateUserSettingsDefaults'],
  scope: 'administration',
  summary: 'Update the default settings of new users',
  description: 'Existing users keep their settings.',
  permission: 'administrators',
  params,
  reply: {},
  async handle(ctx, given) {
    await updateUserDefaults(ctx, given);
  },
});
