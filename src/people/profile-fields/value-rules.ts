import type { ProfileField, User } from '../../generated/prisma/client.ts';
import { isDay } from '../../platform/dates.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { requireDirectionKept } from '../../platform/names.ts';
import { cutText, requireText } from '../../platform/text.ts';
import { shortValue } from '../../platform/validation.ts';
import { choicesOf, MAX_CHOICE_LENGTH } from './field-data.ts';
import { FIELD_TYPES } from './field-types.ts';
import { isLink } from './links.ts';

/** Maximum lengths of short and long values, in code points. Longer values are refused with `ValidationError`. */
const MAX_SHORT_LENGTH = 50;
const MAX_LONG_LENGTH = 500;
/**
 * Maximum number of users in a value. A value with more is refused with `ValidationError`, because every client receives the
 * profiles of all users.
 */
const MAX_USERS = 1_000;

/** Users of the organization to whom a value refers, by id. */
export type NamedUsers = ReadonlyMap<number, Pick<User, 'isActive' | 'botType'>>;

/** Returns whether a value from a client empties the field. */
export function isEmptyValue(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/**
 * Validates a value that is not empty and returns it as it is stored.
 *
 * @param given Value from the client: a text, or a list of user ids for a field of users.
 * @param users Users whose ids `idsIn` returned.
 * @param parameter Parameter with the value: `data[0]["value"]`. Messages begin with the name of the field instead.
 * @returns The text. For a field of users, the JSON text of their ids, without duplicates.
 * @throws ValidationError if the field's type does not accept the value, or a user in it is a bot.
 * @throws NotFoundError if a user in the value does not exist.
 * @throws ConflictError if a user in the value is deactivated.
 */
export function requireValue(field: ProfileField, given: unknown, users: NamedUsers, parameter: string): string {
  const { name, type } = field;
  if (type === FIELD_TYPES.USER.id) return requireUsers(name, given, users, parameter);
  if (typeof given !== 'string') throw new ValidationError(`${name} is not a string`, { parameter });
  const value = given.toWellFormed();
  switch (type) {
    case FIELD_TYPES.PARAGRAPH.id:
      return requireText(name, value, { max: MAX_LONG_LENGTH, parameter });
    case FIELD_TYPES.DROPDOWN.id:
      if (choicesOf(field)?.some(({ key }) => key === value)) return value;
      throw new ValidationError(`'${cutText(value, MAX_CHOICE_LENGTH, '…')}' is not a valid choice for '${name}'.`, {
        parameter,
        value: shortValue(value),
      });
    case FIELD_TYPES.DATE.id:
      if (isDay(value) && !value.startsWith('0000')) return value;
      throw new ValidationError(`${name} is not a date`, { parameter, value: shortValue(value) });
    case FIELD_TYPES.URL.id:
      if (isLink(value)) return value;
      throw new ValidationError(`${name} is not a URL`, { parameter, value: shortValue(value) });
    default:
      requireDirection(name, value, parameter);
      return requireText(name, value, { max: MAX_SHORT_LENGTH, parameter });
  }
}

/**
 * Checks that a value contains no control character that changes the text direction.
 *
 * @param name Name of the field, with which the error message begins.
 * @param parameter Parameter to which the error refers.
 * @throws ValidationError with the position of the first such character, counted from 1.
 */
function requireDirection(name: string, value: string, parameter: string): void {
  try {
    requireDirectionKept(name, value);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw new ValidationError(error.message, { parameter, schemaMessage: error.schemaMessage });
  }
}

/** Returns the numbers in a value of a field of users. Skips other elements, which `requireValue` rejects. */
export function idsIn(value: unknown): number[] {
  return Array.isArray(value) ? value.filter((id) => typeof id === 'number') : [];
}

function requireUsers(name: string, value: unknown, users: NamedUsers, parameter: string): string {
  if (!Array.isArray(value)) throw new ValidationError(`${name} is not a list`, { parameter });
  const strange = value.findIndex((id) => !Number.isInteger(id));
  if (strange !== -1) {
    throw new ValidationError(`${name}[${strange}] is not an integer`, { parameter: `${parameter}[${strange}]` });
  }
  const ids = [...new Set(idsIn(value))];
  if (ids.length > MAX_USERS) {
    const message = `${name} is too long (limit: ${MAX_USERS} items)`;
    throw new ValidationError(message, { parameter, maximum: MAX_USERS });
  }
  for (const id of ids) {
    const user = users.get(id);
    if (user === undefined) throw new NotFoundError(`Invalid user ID: ${id}`, { type: 'User', id, parameter });
    const place = `${parameter}[${value.indexOf(id)}]`;
    if (!user.isActive) {
      const schemaMessage = 'The user is deactivated';
      throw new ConflictError(`User with ID ${id} is deactivated`, { parameter: place, schemaMessage });
    }
    if (user.botType !== null) {
      const schemaMessage = 'The user is a bot';
      throw new ValidationError(`User with ID ${id} is a bot`, { parameter: place, schemaMessage });
    }
  }
  return JSON.stringify(ids);
}
