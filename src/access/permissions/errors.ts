import { defineError } from '../../platform/errors.ts';

/** A permission that only a role group may hold was to be given to somebody else. */
export class SystemGroupRequiredError extends defineError('SYSTEM_GROUP_REQUIRED', (settingName: string) => ({
  message: `'${settingName}' must be a system user group.`,
  data: { setting_name: settingName },
  parameter: settingName,
})) {}
