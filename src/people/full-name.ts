import { BadRequestError } from '../platform/errors.ts';
import { MAX_FULL_NAME_LENGTH } from '../platform/limits.ts';
import { lengthOf } from '../platform/text.ts';

/** They would end or change a mention in a message. */
const FORBIDDEN = /[*`\\>"@\p{Cc}\p{Cs}]/u;

/**
 * A name as it may be stored: without surrounding white space.
 *
 * @throws BadRequestError when it is blank, longer than 100 characters, holds one of * ` \ > " @ or a control
 *   character, or ends in "|" and digits, which is how mentions tell people of one name apart.
 */
export function requireFullName(name: string): string {
  const stripped = name.trim();
  if (stripped === '') throw new BadRequestError('Name must not be empty!');
  if (lengthOf(stripped) > MAX_FULL_NAME_LENGTH) throw new BadRequestError('Name too long!');
  if (FORBIDDEN.test(stripped)) throw new BadRequestError('Invalid characters in name!');
  if (/\|\d+$/.test(stripped)) throw new BadRequestError('Invalid format!');
  return stripped;
}
