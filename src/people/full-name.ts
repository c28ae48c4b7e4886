import { BadRequestError } from '../platform/errors.ts';
import { MAX_FULL_NAME_LENGTH } from '../platform/limits.ts';
import { unreadableAt } from '../platform/names.ts';
import { lengthOf } from '../platform/text.ts';

/** Characters that would end or change a mention in a message. */
const FORBIDDEN = /[*`\\>"@\p{Cc}\p{Cs}]/u;

/**
 * Rejects a new name that contains invisible or misplaced characters. Existing names are not checked.
 *
 * @throws BadRequestError if `unreadableAt` finds an invisible or misplaced character.
 */
export function requireReadableName(fullName: string): void {
  if (unreadableAt(fullName) !== undefined) throw new BadRequestError('Invalid characters in name!');
}

/**
 * Returns a name as it can be stored: without surrounding white space.
 *
 * @throws BadRequestError if the name is blank or longer than 100 characters. Also if it contains one of * ` \ > " @ or
 *   a control character, or ends in "|" and digits: mentions use that ending to distinguish users with the same name.
 */
export function requireFullName(name: string): string {
  const stripped = name.trim();
  if (stripped === '') throw new BadRequestError('Name must not be empty!');
  if (lengthOf(stripped) > MAX_FULL_NAME_LENGTH) throw new BadRequestError('Name too long!');
  if (FORBIDDEN.test(stripped)) throw new BadRequestError('Invalid characters in name!');
  if (/\|\d+$/.test(stripped)) throw new BadRequestError('Invalid format!');
  return stripped;
}
