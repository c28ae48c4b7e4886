import { defineError } from '../platform/errors.ts';

/** The error for a permission that only a role group can hold, if the request names another holder. */
export class SystemGroupRequiredError extends defineError('SYSTEM_GROUP_REQUIRED', (settingName: string) => ({
  message: `'${settingName}' must be a system user group.`,
  data: { setting_name: settingName },
  parameter: settingName,
})) {}
