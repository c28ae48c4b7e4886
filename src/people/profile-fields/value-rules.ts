import type { ProfileField, User } from '../../generated/prisma/client.ts';
import { isDay } from '../../platform/dates.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireDirectionKept } from '../../platform/names.ts';
import { cutText, requireText } from '../../platform/text.ts';
import { choicesOf, MAX_CHOICE_LENGTH } from './field-data.ts';
import { FIELD_TYPES } from './field-types.ts';
import { isLink } from './links.ts';

/** Maximum lengths of values, in code points. */
const MAX_SHORT_LENGTH = 50;
const MAX_LONG_LENGTH = 500;
/** Largest number of users in a value. Bounded because every client receives the profiles of all users. */
const MAX_USERS = 1_000;

/** Users that a value can name, by id. All are users of the organization. */
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
 * @returns The text. For a field of users, the JSON text of their ids, without duplicates.
 * @throws BadRequestError if the field's type does not accept the value.
 */
export function requireValue(field: ProfileField, given: unknown, users: NamedUsers): string {
  const { name, type } = field;
  if (type === FIELD_TYPES.USER.id) return requireUsers(name, given, users);
  if (typeof given !== 'string') throw new BadRequestError(`${name} is not a string`, name);
  const value = given.toWellFormed();
  switch (type) {
    case FIELD_TYPES.PARAGRAPH.id:
      return requireText(name, value, { max: MAX_LONG_LENGTH });
    case FIELD_TYPES.DROPDOWN.id:
      if (choicesOf(field)?.some(({ key }) => key === value)) return value;
      throw new BadRequestError(`'${cutText(value, MAX_CHOICE_LENGTH, '…')}' is not a valid choice for '${name}'.`);
    case FIELD_TYPES.DATE.id:
      if (isDay(value) && !value.startsWith('0000')) return value;
      throw new BadRequestError(`${name} is not a date`, name);
    case FIELD_TYPES.URL.id:
      if (isLink(value)) return value;
      throw new BadRequestError(`${name} is not a URL`, name);
    default:
      requireDirectionKept(name, value);
      return requireText(name, value, { max: MAX_SHORT_LENGTH });
  }
}

/** Returns the user ids in a value of a field of users. Skips other elements, which `requireValue` rejects. */
export function idsIn(value: unknown): number[] {
  return Array.isArray(value) ? value.filter((id) => typeof id === 'number') : [];
}

function requireUsers(name: string, value: unknown, users: NamedUsers): string {
  if (!Array.isArray(value)) throw new BadRequestError(`${name} is not a list`, name);
  const strange = value.findIndex((id) => !Number.isInteger(id));
  if (strange !== -1) throw new BadRequestError(`${name}[${strange}] is not an integer`, `${name}[${strange}]`);
  const ids = [...new Set(idsIn(value))];
  if (ids.length > MAX_USERS) throw new BadRequestError(`${name} is too long (limit: ${MAX_USERS} items)`, name);
  for (const id of ids) {
    const user = users.get(id);
    if (user === undefined) throw new BadRequestError(`Invalid user ID: ${id}`);
    if (!user.isActive) throw new BadRequestError(`User with ID ${id} is deactivated`);
    if (user.botType !== null) throw new BadRequestError(`User with ID ${id} is a bot`);
  }
  return JSON.stringify(ids);
}
