/** Combining marks to remove and letters to replace before names are compared, as the service does. */
const MARKS =
  /(?![\u3099\u309a\u302a-\u302d])[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]/gu;
const LETTERS: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ø: 'o', đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ł: 'l', ŧ: 't', ς: 'σ' },
};
const BETWEEN = /[\s!-/:-@[-`{-~\u2000-\u206f\u3000-\u3003\u3008-\u3011\u30fb]+/gu;
const APOSTROPHES = /['\u02bb\u2018\u2019]/g;
/** Character that replaces every kind of apostrophe. */
const APOSTROPHE = '\u02bc';
/** Letters of scripts that write the parts of names without spaces between them. */
const UNSPACED =
  '\\u0e01-\\u0e30\\u0e32-\\u0e33\\u0e40-\\u0e46\\u0e81-\\u0eb0\\u0eb2-\\u0eb3\\u0ec0-\\u0ec6\\u0f40-\\u0f6c\\u1000-\\u102a' +
  '\\u1050-\\u1055\\u1100-\\u11ff\\u1780-\\u17b3\\u3005-\\u3007\\u3021-\\u3029\\u3038-\\u303c\\u3041-\\u3096\\u309d-\\u309f' +
  '\\u30a1-\\u30fa\\u30fd-\\u30ff\\u3105-\\u312f\\u31a0-\\u31bf\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\ua000-\\ua48c' +
  '\\uac00-\\ud7a3\\uf900-\\ufaff\\u{20000}-\\u{323af}';
/**
 * Positions within a word at which a match may begin: at an unspaced letter, between digits and other characters, and after
 * an apostrophe.
 */
const BEGINNINGS = new RegExp(
  `(?<=[^ ])(?=[${UNSPACED}])|(?<=[${UNSPACED}\\u30fc])(?=[a-z])|(?<=[0-9])(?=[^0-9 ])|(?<=[^0-9 ])(?=[0-9])|(?<=${APOSTROPHE})(?=[^ ])`,
  'gu',
);

/**
 * Returns the text without case and accents, with one space between words, and with one character for all kinds of apostrophe.
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

/** Returns the texts with which a match can begin: each word, and the end of a word from each position in `BEGINNINGS`. */
const beginningsOf = (text: string): string[] =>
  text
    .replaceAll(BEGINNINGS, SEPARATOR)
    .replaceAll(APOSTROPHE, '')
    .split(' ')
    .flatMap((word) => word.split(SEPARATOR).map((_, i, parts) => parts.slice(i).join('')));

/** Ranks of a name that matches the typed text. Lower is better. */
export const BEGINS = 0;
export const HAS_WORDS = 1;

/**
 * Ranks a name as the service ranks suggestions.
 *
 * @returns BEGINS if the name begins with the text, HAS_WORDS if each word of the text begins a word of the name, undefined
 * otherwise.
 */
export function fitOf(name: string, written: string): number | undefined {
  const [own, words] = [plainText(name), wordsOf(plainText(written))];
  // Punctuation alone matches no name.
  if (words.length === 0) return written.trim() === '' ? BEGINS : undefined;
  if (wordsOf(own).join(' ').startsWith(words.join(' '))) return BEGINS;
  const begun = beginningsOf(own);
  return words.every((word) => begun.some((one) => one.startsWith(word))) ? HAS_WORDS : undefined;
}
