import { BadRequestError } from './errors.ts';

/** Rules for a text. All lengths are in Unicode code points. */
export interface TextRules {
  /** Whether white space around the text is removed before the other rules apply. */
  readonly strip?: boolean;
  /** Minimum length; 1 refuses a blank text. */
  readonly min?: number;
  /** Maximum length. */
  readonly max?: number;
}

/** Returns the number of Unicode code points in `text`, the unit of every length limit of the interface. */
export function lengthOf(text: string): number {
  return [...text].length;
}

/**
 * Validates a text from a client and returns it as it may be stored.
 *
 * Lone surrogates become U+FFFD: the database accepts neither them nor null bytes.
 *
 * @param name Name of the parameter in the API. The error message begins with it.
 * @returns The text, trimmed if the rules say so.
 * @throws BadRequestError if the text contains a null byte, or is blank, too short or too long.
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

/** Checks that `value` contains no null byte, which the database does not accept. @throws BadRequestError if it does. */
export function refuseNullBytes(name: string, value: string): void {
  if (value.includes('\0')) throw new BadRequestError(`${name} must not contain null bytes`, name);
}

/**
 * Shortens `text` to `max` code points if it is longer; `ending` then replaces the last ones.
 *
 * Lone surrogates become U+FFFD.
 */
export function cutText(text: string, max: number, ending = ''): string {
  const characters = [...text.toWellFormed()];
  if (characters.length <= max) return characters.join('');
  return characters.slice(0, max - lengthOf(ending)).join('') + ending;
}

/** Control characters, lone surrogates, and code points that Unicode will never assign. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/** Returns the position of the first unprintable character, counted from 1 in code points. Undefined if there is none. */
export function unprintableAt(text: string): number | undefined {
  const index = [...text].findIndex((character) => UNPRINTABLE.test(character));
  return index === -1 ? undefined : index + 1;
}

/**
 * Checks a name for unprintable characters.
 *
 * @param what Kind of name, for the middle of the error message: "channel name".
 * @throws BadRequestError with the position of the first such character, counted from 1.
 */
export function requirePrintable(what: string, name: string): void {
  const position = unprintableAt(name);
  if (position !== undefined) throw new BadRequestError(`Invalid character in ${what}, at position ${position}.`);
}
