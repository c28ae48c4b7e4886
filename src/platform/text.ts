import { ValidationError } from './errors.ts';
import { shortValue } from './validation.ts';

/** Rules for a text that a client sends. All lengths are in Unicode code points. */
export interface TextRules {
  /** Whether white space around the text is removed before the other rules apply. */
  readonly strip?: boolean;
  /** Minimum length of the text. With 1, a blank text is refused. */
  readonly min?: number;
  readonly max?: number;
  /** Path of the text in the parameters, such as `narrow[0]`. Absent: equal to the name of the text in error messages. */
  readonly parameter?: string;
}

/** Returns the number of Unicode code points in `text`, the unit of every length limit of the interface. */
export function lengthOf(text: string): number {
  return [...text].length;
}

/**
 * Validates a text from a client and returns the text to be stored.
 *
 * Lone surrogates, which the database does not accept, are replaced by U+FFFD.
 *
 * @param name Name of the parameter in the API. The error message begins with it.
 * @returns The text to store, without surrounding white space if `strip` is true.
 * @throws ValidationError if the text contains a null byte, or is blank, too short or too long.
 */
export function requireText(name: string, value: string, rules: TextRules = {}): string {
  const { strip = false, min = 0, max, parameter = name } = rules;
  refuseNullBytes(name, value, parameter);
  const text = (strip ? value.trim() : value).toWellFormed();
  const length = lengthOf(text);
  const details = { parameter, minimum: min === 0 ? undefined : min, maximum: max };
  if (length < min) {
    const message = min === 1 ? `${name} cannot be blank` : `${name} is too short.`;
    throw new ValidationError(message, { ...details, value: shortValue(value) });
  }
  if (max !== undefined && length > max) {
    throw new ValidationError(`${name} is too long (limit: ${max} characters)`, {
      ...details,
      value: shortValue(value),
    });
  }
  return text;
}

/**
 * Checks that `value` contains no null byte, which the database does not accept.
 *
 * @param parameter Place of the text in the parameters.
 * @throws ValidationError if it contains one.
 */
export function refuseNullBytes(name: string, value: string, parameter = name): void {
  if (value.includes('\0')) throw new ValidationError(`${name} must not contain null bytes`, { parameter });
}

/**
 * Shortens `text` to `max` code points, including `ending`. A text of at most `max` code points keeps its length and gets no
 * ending.
 *
 * Lone surrogates are replaced by U+FFFD.
 */
export function cutText(text: string, max: number, ending = ''): string {
  // A text has at least as many UTF-16 code units as code points.
  if (text.length <= max) return text.toWellFormed();
  const characters = [...text.toWellFormed()];
  if (characters.length <= max) return characters.join('');
  return characters.slice(0, max - lengthOf(ending)).join('') + ending;
}

/** Matches control characters, lone surrogates, and code points that Unicode will never assign. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/** Returns the position of the first unprintable character, counted from 1 in code points. Undefined if there is none. */
export function unprintableAt(text: string): number | undefined {
  const index = text.search(UNPRINTABLE);
  return index === -1 ? undefined : lengthOf(text.slice(0, index)) + 1;
}

/**
 * Characters that are displayed as blanks although Unicode classifies them as visible: the blanks of Braille, music,
 * hieroglyphs and Khitan, and the placeholder of an embedded object. For a character class.
 */
export const BLANKS = '\\u2800\\u{1D159}\\u{13441}\\u{13442}\\u{16FE4}\\uFFFC';

/** Matches texts that consist only of invisible and blank characters. */
const SHOWS_NOTHING = new RegExp(`^[\\p{Z}\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\s${BLANKS}]*$`, 'u');

/** Returns whether a text is empty, or has only invisible and blank characters. */
export const showsNothing = (text: string): boolean => SHOWS_NOTHING.test(text);

/**
 * Checks a name for unprintable characters.
 *
 * @param what Kind of name, for the middle of the error message: "channel name".
 * @param parameter Parameter that contains the name.
 * @throws ValidationError with the position of the first such character, counted from 1.
 */
export function requirePrintable(what: string, name: string, parameter = 'name'): void {
  const position = unprintableAt(name);
  if (position === undefined) return;
  throw new ValidationError(`Invalid character in ${what}, at position ${position}.`, { parameter });
}
