import { Prisma } from '../generated/prisma/client.ts';
import { ValidationError } from './errors.ts';
import { BLANKS } from './text.ts';

/** Scripts in which a zero-width joiner or non-joiner between letters changes how the letters are displayed. */
const JOINING = [
  ...['Arabic', 'Syriac', 'Mongolian', 'Nko', 'Mandaic', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya'],
  ...['Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar', 'Tibetan'],
  ...['Adlam', 'Hanifi_Rohingya', 'Javanese', 'Balinese'],
]
  .map((script) => `\\p{Script=${script}}`)
  .join('');

/** Signs that remove the vowel of a consonant in Indic scripts, for a character class. */
const VIRAMAS = '\\u094D\\u09CD\\u0A4D\\u0ACD\\u0B4D\\u0BCD\\u0C4D\\u0CCD\\u0D4D\\u0DCA';

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
  // Joiners at the end of a word, after a virama: they select the form of the last consonant, as in Malayalam chillus.
  new RegExp(`(?<=[${VIRAMAS}])[\\u200C\\u200D](?=$|[\\p{Z}\\p{P}])`, 'gu'),
];

/**
 * Matches the characters that no name may contain: line separators, surrogates, and control, invisible, blank, unassigned and
 * private-use characters.
 */
const FORBIDDEN = new RegExp(
  `[\\p{Cc}\\p{Cn}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\uFFF9-\\uFFFB${BLANKS}]`,
  'u',
);

/** Matches a combining mark without a letter: at the beginning, or after a space. */
const LOOSE_MARK = /(?<=^|\p{Z})\p{M}/u;

/** Scripts in which words have more than four nonspacing marks in succession: `လျှို့ဝှက်`, and stacked letters. */
const STACKING = '\\p{Script=Myanmar}\\p{Script=Tibetan}\\p{Script=Marchen}\\p{Script=Tai_Tham}';

/**
 * Matches too many marks on one letter: four marks of the script `Inherited` or of Thai or Lao, six of Myanmar, five nonspacing
 * marks unless all are of a script with stacks, eight marks of any script, or one mark twice in succession.
 */
const TOO_MANY_MARKS = new RegExp(
  [
    '(?:(?=\\p{M})\\p{Script=Inherited}){4}',
    '(?:(?=\\p{Mn})[\\p{Script=Thai}\\p{Script=Lao}]){4}',
    '(?:(?=\\p{Mn})\\p{Script=Myanmar}){6}',
    `(?![${STACKING}]{5})[\\p{Mn}\\p{Me}]{5}`,
    '\\p{M}{8}',
    '([\\p{Mn}\\p{Me}])\\1',
  ].join('|'),
  'u',
);

/** Matches texts that consist only of invisible and blank characters and combining marks. */
const SHOWS_NO_LETTER = new RegExp(`^[\\p{Z}\\p{Cc}\\p{Cf}\\p{M}\\p{Default_Ignorable_Code_Point}\\s${BLANKS}]*$`, 'u');

/**
 * Replacement for each code point that matches `MEANINGFUL`, and is therefore allowed. The text keeps its length in code
 * points, so positions in it stay valid.
 */
const PLACEHOLDER = 'x';

/**
 * Returns the position of the first character that a new name may not contain, counted from 1 in code points. Not allowed are
 * characters that match `FORBIDDEN`, marks without a letter, and too many marks on one letter. If a name has no visible letter
 * or symbol, returns 1. Undefined if all characters are allowed.
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

/**
 * Checks that a new name contains only allowed characters, as defined by `unreadableAt`. Stored names are not
 * checked again.
 *
 * @param what Kind of name, for the middle of the error message: "channel name".
 * @param parameter Parameter that contains the name.
 * @throws ValidationError with the position of the first character that is not allowed, counted from 1.
 */
export function requireReadable(what: string, name: string, parameter = 'name'): void {
  const position = unreadableAt(name);
  if (position === undefined) return;
  throw new ValidationError(`Invalid character in ${what}, at position ${position}.`, { parameter });
}

/** Matches the control characters that begin or end a change of the text direction. */
const DIRECTION_CONTROLS = /[\u202A-\u202E\u2066-\u2069]/u;

/**
 * Checks that a text contains no control character that changes the text direction. Such a character would also affect names
 * that are displayed beside the text.
 *
 * @param what Name of the text in the error message.
 * @param parameter Parameter that contains the text.
 * @throws ValidationError with the position of the first such character, counted from 1.
 */
export function requireDirectionKept(what: string, text: string, parameter = what): void {
  const index = [...text].findIndex((character) => DIRECTION_CONTROLS.test(character));
  if (index !== -1) {
    throw new ValidationError(`Invalid character in ${what}, at position ${index + 1}.`, {
      parameter,
      schemaMessage: `Invalid character at position ${index + 1}.`,
    });
  }
}

/**
 * Returns an SQL condition: the name in a column equals `name`, ignoring case and repeated spaces, or looks like `name` in
 * another script. Different characters of one script do not count as look-alikes: "Ian" and "lan" are different names. The
 * condition has three expressions. Each of them has an index, whose first column is the organization.
 *
 * @param column The column, written as in the definitions of the indexes.
 * @see prisma/migrations/20261127200000_name_skeletons
 * @see prisma/migrations/20261129050000_name_look_alikes
 */
export function isAlike(column: Prisma.Sql, name: string): Prisma.Sql {
  const given = Prisma.sql`${name.toWellFormed()}::text`;
  const equals = (key: Prisma.Sql) => Prisma.sql`${key}(${column}) = ${key}(${given})`;
  const isOtherScript = Prisma.sql`names_differ_by_script(${column}, ${given})`;
  return Prisma.sql`(${equals(Prisma.sql`lower`)}
    OR ${equals(Prisma.sql`name_skeleton`)} AND ${isOtherScript}
    OR ${equals(Prisma.sql`name_skeleton_in_lower_case`)} AND ${isOtherScript})`;
}
