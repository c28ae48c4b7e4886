import type { ProfileField, User } from '../../generated/prisma/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { cutText, requireText } from '../../platform/text.ts';
import { choicesOf, MAX_CHOICE_LENGTH } from './field-data.ts';
import { FIELD_TYPES } from './field-types.ts';
import { isLink } from './links.ts';

/** In code points. */
const MAX_SHORT_LENGTH = 50;
const MAX_LONG_LENGTH = 500;
/** Our choice: everybody is sent the profiles of all. */
const MAX_USERS = 1_000;

/** The users a value may name, by id: all it names of the organisation. */
export type NamedUsers = ReadonlyMap<number, Pick<User, 'isActive' | 'botType'>>;

/** Whether a value as a client sends it takes away what the field holds. */
export function isEmptyValue(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/**
 * A value that is not empty, as it is kept.
 *
 * @param given As the client sent it: a text, or a list of user ids for a field of users.
 * @param users Those whom `idsIn` names.
 * @returns The text; for a field of users the JSON text of their ids, each once.
 * @throws BadRequestError when the field's type does not take it.
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
      if (isDate(value)) return value;
      throw new BadRequestError(`${name} is not a date`, name);
    case FIELD_TYPES.URL.id:
      if (isLink(value)) return value;
      throw new BadRequestError(`${name} is not a URL`, name);
    default:
      return requireText(name, value, { max: MAX_SHORT_LENGTH });
  }
}

/** "2026-02-28": a day there is, in the years 1 to 9999. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/** The ids of users that a value of a field of users names; whatever else stands there is refused with the value. */
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
