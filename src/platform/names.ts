import { Prisma } from '../generated/prisma/client.ts';
import { BadRequestError } from './errors.ts';

/** Scripts in which a zero-width joiner or non-joiner between letters changes how they are written. */
const JOINING = [
  ...['Arabic', 'Syriac', 'Mongolian', 'Nko', 'Mandaic', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya'],
  ...['Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar', 'Tibetan'],
]
  .map((script) => `\\p{Script=${script}}`)
  .join('');

/** Converts ASCII letters to Unicode tag characters. */
const inTags = (letters: string): string =>
  letters.replace(/./g, (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0)));

/** Patterns of invisible characters, in the positions in which they affect how a text is displayed. */
const MEANINGFUL = [
  // Joiners in emoji sequences.
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\uFE0F?)\u200D(?=\p{Extended_Pictographic})/gu,
  // Flags of England, Scotland and Wales: the only tag sequences that are recommended for interchange.
  new RegExp(`(?<=\\u{1F3F4})(?:${['gbeng', 'gbsct', 'gbwls'].map(inTags).join('|')})\\u{E007F}`, 'gu'),
  // Variation selectors, which display a character as an emoji or as text.
  /(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]|(?<=[0-9#*])[\uFE0E\uFE0F](?=\u20E3)/gu,
  /(?<=\p{Script=Han})[\uFE00-\uFE02\u{E0100}-\u{E01EF}]/gu,
  /(?<=\p{Script=Mongolian})[\u180B-\u180F]/gu,
  new RegExp(`(?<=[${JOINING}])[\\u200C\\u200D](?=[${JOINING}])`, 'gu'),
];

/**
 * Characters that are displayed as blanks although Unicode classifies them as visible: the blanks of Braille, music,
 * hieroglyphs and Khitan.
 */
const BLANKS = '\\u2800\\u{1D159}\\u{13441}\\u{13442}\\u{16FE4}';

/**
 * Characters that no name may contain: controls, line separators, invisible ones, surrogates, unassigned and private
 * ones.
 */
const FORBIDDEN = new RegExp(
  `[\\p{Cc}\\p{Cn}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\uFFF9-\\uFFFB${BLANKS}]`,
  'u',
);

/** A combining mark without a letter: at the beginning, or after a space. */
const LOOSE_MARK = /(?<=^|\p{Z})\p{M}/u;

/** Too many marks on one letter: four inherited marks, eight marks of any script, or one mark twice in succession. */
const TOO_MANY_MARKS = /(?:(?=\p{M})\p{Script=Inherited}){4}|\p{M}{8}|([\p{Mn}\p{Me}])\1/u;

/** A text with only invisible and blank characters. */
const SHOWS_NOTHING = new RegExp(`^[\\p{Z}\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\s${BLANKS}]*$`, 'u');
/** A text with only invisible and blank characters and combining marks without a letter. */
const SHOWS_NO_LETTER = new RegExp(`^[\\p{Z}\\p{Cc}\\p{Cf}\\p{M}\\p{Default_Ignorable_Code_Point}\\s${BLANKS}]*$`, 'u');

/**
 * Replaces an invisible character that is allowed because it has a meaning. The text keeps its length, so positions in it stay
 * valid.
 */
const PLACEHOLDER = 'x';

/**
 * Returns the position of the first character that a new name may not contain, counted from 1 in code points. These are
 * invisible characters, marks without a letter, and too many marks on one letter. If a name shows nothing, the position
 * is 1. Undefined if all characters are allowed.
 */
export function unreadableAt(name: string): number | undefined {
  if (name !== '' && SHOWS_NO_LETTER.test(name)) return 1;
  let rest = name;
  for (const pattern of MEANINGFUL) rest = rest.replace(pattern, (found) => PLACEHOLDER.repeat([...found].length));
  const characters = [...rest];
  const forbidden = characters.findIndex((character) => FORBIDDEN.test(character));
  const misplaced = [TOO_MANY_MARKS, LOOSE_MARK].map((pattern) => {
    const found = pattern.exec(name);
    return found === null ? -1 : [...name.slice(0, found.index)].length;
  });
  const found = [forbidden, ...misplaced].filter((index) => index !== -1);
  return found.length === 0 ? undefined : Math.min(...found) + 1;
}

/** Returns whether a text is empty, or has only invisible and blank characters. */
export const showsNothing = (text: string): boolean => SHOWS_NOTHING.test(text);

/**
 * Checks a new name with `unreadableAt`. Stored names are not checked again.
 *
 * @param what Kind of name, for the middle of the error message: "channel name".
 * @throws BadRequestError with the position of the first character that is not allowed, counted from 1.
 */
export function requireReadable(what: string, name: string): void {
  const position = unreadableAt(name);
  if (position !== undefined) throw new BadRequestError(`Invalid character in ${what}, at position ${position}.`);
}

/** Control characters that begin or end a change of the text direction. */
const DIRECTION_CONTROLS = /[\u202A-\u202E\u2066-\u2069]/u;

/**
 * Checks a text that is shown beside names for characters that change the direction of the text after them.
 *
 * @param what Name of the parameter in the API.
 * @throws BadRequestError with the position of the first such character, counted from 1.
 */
export function requireDirectionKept(what: string, text: string): void {
  const index = [...text].findIndex((character) => DIRECTION_CONTROLS.test(character));
  if (index !== -1) throw new BadRequestError(`Invalid character in ${what}, at position ${index + 1}.`, what);
}

/**
 * Returns an SQL condition: the name in a column equals the given one, ignoring case and repeated spaces, or looks like it in
 * another script. Each of the three expressions has an index, together with the organization.
 *
 * @param column The column, written as in the definitions of the indexes.
 * @see prisma/migrations/20261127200000_name_skeletons
 */
export function isAlike(column: Prisma.Sql, name: string): Prisma.Sql {
  const given = Prisma.sql`${name.toWellFormed()}::text`;
  const same = [Prisma.sql`lower`, Prisma.sql`name_skeleton`, Prisma.sql`name_skeleton_in_lower_case`];
  return Prisma.sql`(${Prisma.join(
    same.map((key) => Prisma.sql`${key}(${column}) = ${key}(${given})`),
    ' OR ',
  )})`;
}
