import { ValidationError } from '../platform/errors.ts';
import { MAX_FULL_NAME_LENGTH } from '../platform/limits.ts';
import { unreadableAt } from '../platform/names.ts';
import { lengthOf } from '../platform/text.ts';

/** Matches characters that would end or change a mention in a message. */
const FORBIDDEN = /[*`\\>"@\p{Cc}\p{Cs}]/u;

/** Name of the parameter with the full name, in every request that has one. */
const parameter = 'full_name';

/**
 * Checks a new name. Stored names are not checked again.
 *
 * @throws ValidationError if the name contains an invisible character, a combining mark without a letter, or too many combining
 *   marks on one letter.
 */
export function requireReadableName(fullName: string): void {
  if (unreadableAt(fullName) !== undefined) throw invalidCharacters();
}

const invalidCharacters = () => new ValidationError('Invalid characters in name!', { parameter });

/**
 * Returns a name as it can be stored: without surrounding white space.
 *
 * @throws ValidationError if the name is blank or longer than 100 characters.
 * @throws ValidationError if the name contains one of * ` \ > " @, a control character, or a lone surrogate.
 * @throws ValidationError if the name ends in "|" and digits, because mentions use that ending to distinguish users with the
 *   same name.
 */
export function requireFullName(name: string): string {
  const stripped = name.trim();
  const maximum = MAX_FULL_NAME_LENGTH;
  if (stripped === '') throw new ValidationError('Name must not be empty!', { parameter, minimum: 1 });
  if (lengthOf(stripped) > maximum) throw new ValidationError('Name too long!', { parameter, maximum });
  if (FORBIDDEN.test(stripped)) throw invalidCharacters();
  if (/\|\d+$/.test(stripped)) {
    const schemaMessage = 'A name cannot end in "|" and digits.';
    throw new ValidationError('Invalid format!', { parameter, schemaMessage });
  }
  return stripped;
}
