import { BadRequestError } from './errors.ts';

/** What a text may be. All lengths are in Unicode code points. */
export interface TextRules {
  /** Whether white space around the text is dropped before the other rules look at it. */
  readonly strip?: boolean;
  /** The shortest text taken; 1 refuses a blank one. */
  readonly min?: number;
  /** The longest text taken. */
  readonly max?: number;
}

/** Whether a part stands in a text, whatever the case of either; where no part is given, it does. */
export const contains = (text: string, part: string | null | undefined): boolean =>
  part == null || text.toLowerCase().includes(part.toLowerCase());

/** How many Unicode code points `text` has: the unit of every limit of the interface. */
export function lengthOf(text: string): number {
  return [...text].length;
}

/**
 * A text a client sent, as it may be stored.
 *
 * Half a surrogate pair becomes U+FFFD: the database takes neither it nor a null byte.
 *
 * @param name The parameter's name as the client knows it; it begins the message.
 * @returns The text, stripped when the rules say so.
 * @throws BadRequestError when it holds a null byte, is blank or too short, or is too long.
 */
export function requireText(name: string, value: string, { strip = false, min = 0, max }: TextRules = {}): string {
  refuseNullBytes(name, value);
  const text = (strip ? value.trim() : value).toWellFormed();
  const length = lengthOf(text);
  if (length < min) throw new BadRequestError(min === 1 ? `${name} cannot be blank` : `${name} is too short.`, name);
  if (max !== undefined && length > max) {
    throw new BadRequestError(`${name} is too long (limit: ${max} characters)`, name);
  }
  return text;
}

/** @throws BadRequestError when `value` holds a null byte, which the database does not take. */
export function refuseNullBytes(name: string, value: string): void {
  if (value.includes('\0')) throw new BadRequestError(`${name} must not contain null bytes`, name);
}

/**
 * `text`, cut to `max` code points when it is longer; `ending` then takes the place of the last ones.
 *
 * Half a surrogate pair becomes U+FFFD.
 */
export function cutText(text: string, max: number, ending = ''): string {
  const characters = [...text.toWellFormed()];
  if (characters.length <= max) return characters.join('');
  return characters.slice(0, max - lengthOf(ending)).join('') + ending;
}

/** Control characters, halves of surrogate pairs, and what Unicode will never assign. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/** Where the first character that cannot be printed stands, counted from 1 in code points; undefined when none does. */
export function unprintableAt(text: string): number | undefined {
  const index = [...text].findIndex((character) => UNPRINTABLE.test(character));
  return index === -1 ? undefined : index + 1;
}

/**
 * Refuses a name with a character that cannot be printed.
 *
 * @param what What the name is of, in the middle of the sentence: "channel name".
 * @throws BadRequestError which tells the character's place, counted from 1.
 */
export function requirePrintable(what: string, name: string): void {
  const position = unprintableAt(name);
  if (position !== undefined) throw new BadRequestError(`Invalid character in ${what}, at position ${position}.`);
}
