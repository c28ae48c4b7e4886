import { CASE_CHANGES } from '../../contract/case-changes.ts';

/** Combining marks that are removed, and letters that are replaced, before names are compared. The service does the same. */
const MARKS =
  /(?![\u3099\u309a\u302a-\u302d])[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]/gu;
const LETTERS: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ø: 'o', đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ł: 'l', ŧ: 't', ς: 'σ' },
};
const BETWEEN = /[\s!-/:-@[-`{-~\u2000-\u206f\u3000-\u3003\u3008-\u3011\u30fb]+/gu;
const APOSTROPHES = /['\u02bb\u2018\u2019]/g;
/** Character that replaces every kind of apostrophe. */
const APOSTROPHE = '\u02bc';
/** Character ranges with the letters of scripts that write the parts of names without spaces between them. */
const UNSPACED =
  '\\u0e01-\\u0e30\\u0e32-\\u0e33\\u0e40-\\u0e46\\u0e81-\\u0eb0\\u0eb2-\\u0eb3\\u0ec0-\\u0ec6\\u0f40-\\u0f6c\\u1000-\\u102a' +
  '\\u1050-\\u1055\\u1100-\\u11ff\\u1780-\\u17b3\\u3005-\\u3007\\u3021-\\u3029\\u3038-\\u303c\\u3041-\\u3096\\u309d-\\u309f' +
  '\\u30a1-\\u30fa\\u30fd-\\u30ff\\u3105-\\u312f\\u31a0-\\u31bf\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\ua000-\\ua48c' +
  '\\uac00-\\ud7a3\\uf900-\\ufaff\\u{20000}-\\u{323af}';
/**
 * Matches positions within a word at which a match may begin: before a letter in `UNSPACED`, between such a letter and a Latin
 * letter, between digits and other characters, and after an apostrophe.
 */
const BEGINNINGS = new RegExp(
  `(?<=[^ ])(?=[${UNSPACED}])|(?<=[${UNSPACED}\\u30fc])(?=[a-z])|(?<=[0-9])(?=[^0-9 ])|(?<=[^0-9 ])(?=[0-9])|(?<=${APOSTROPHE})(?=[^ ])`,
  'gu',
);

/**
 * Returns the text in lower case without accents, with one space between words, and with the same character for all kinds of
 * apostrophe.
 */
export const plainText = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(MARKS, '')
    .replaceAll(/[ßæœþøđðħıłŧς]/gu, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFKC')
    .replaceAll(APOSTROPHES, APOSTROPHE)
    .replaceAll(BETWEEN, ' ');

/** Returns the words of a text, without apostrophes. */
const wordsOf = (text: string): string[] =>
  text
    .replaceAll(APOSTROPHE, '')
    .split(' ')
    .filter((word) => word !== '');

/** Character that is inserted at the positions within words at which a match may begin. */
const SEPARATOR = '\u0001';

/**
 * Returns the texts at whose beginning a match is possible: each word of the name, and each word without the letters before a
 * position in `CASE_CHANGES` or `BEGINNINGS`.
 */
const beginningsOf = (name: string): string[] =>
  plainText(name.normalize('NFKD').replaceAll(CASE_CHANGES, `$&${SEPARATOR}`))
    .replaceAll(BEGINNINGS, SEPARATOR)
    .replaceAll(APOSTROPHE, '')
    .split(' ')
    .flatMap((word) => word.split(SEPARATOR).map((_, i, parts) => parts.slice(i).join('')));

/** Ranks that `fitOf` returns for a name that matches. A lower rank is a better match. */
export const BEGINS = 0;
export const HAS_WORDS = 1;

/**
 * Ranks a name in the same way as the service ranks suggestions.
 *
 * @returns BEGINS if the name begins with the text. HAS_WORDS if each word of the text begins a word of the name. Otherwise
 *   undefined.
 */
export function fitOf(name: string, written: string): number | undefined {
  const [own, words] = [plainText(name), wordsOf(plainText(written))];
  // Punctuation alone matches no name.
  if (words.length === 0) return written.trim() === '' ? BEGINS : undefined;
  if (wordsOf(own).join(' ').startsWith(words.join(' '))) return BEGINS;
  const begun = beginningsOf(name);
  return words.every((word) => begun.some((one) => one.startsWith(word))) ? HAS_WORDS : undefined;
}
