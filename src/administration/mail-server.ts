import type { Runtime } from '../access/context.ts';
import { ConflictError, type ErrorDetails } from '../platform/errors.ts';

/**
 * Checks that the server can send email.
 *
 * @param remedy A sentence that says what the user can do instead.
 * @throws ConflictError if the operator has not configured a mail server.
 */
export function requireMailServer({ config }: Pick<Runtime, 'config'>, remedy: string, details?: ErrorDetails): void {
  if (config.smtpUrl === undefined) throw new ConflictError(`This server cannot send email. ${remedy}`, details);
}
