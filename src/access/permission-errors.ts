import { ExpectationMismatchError, ValidationError } from '../platform/errors.ts';

/** The error for a permission that only a role group can hold, if the request names another holder. */
export class SystemGroupRequiredError extends ValidationError {
  override readonly code = 'SYSTEM_GROUP_REQUIRED';
  override readonly data: { setting_name: string };

  /** @param permission Wire name of the permission. */
  constructor(permission: string) {
    super(`'${permission}' must be a system user group.`, {
      parameter: permission,
      schemaMessage: 'Only a role group can hold this permission.',
    });
    this.data = { setting_name: permission };
  }
}

/** The error for a permission whose holders differ from the holders that the client expects. */
export class HoldersMismatchError extends ExpectationMismatchError {
  override readonly parameter: string;
  override readonly schemaMessage = 'The current holders of the permission differ from the expected holders.';

  /** @param permission Wire name of the permission. */
  constructor(permission: string) {
    super('old');
    this.parameter = `${permission}["old"]`;
  }
}
