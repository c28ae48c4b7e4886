import { CASE_CHANGES } from '../contract/case-changes.ts';

/**
 * Folding of texts, so that they can be compared without case and without combining marks such as accents. Equivalent to the
 * SQL functions `search_lower` and `search_fold`.
 *
 * @see prisma/migrations/20261127160000_search_in_every_script
 */

/** Matches combining marks of the scripts whose words are also written without marks. */
const MARKS =
  /(?=[\p{Script=Inherited}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Coptic}])(?![\u3099\u309a\u302a-\u302d])\p{Mn}/gu;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu;
/** Replacements for letters whose marks Unicode does not decompose, and for the Arabic tatweel. */
const REPLACED: Readonly<Record<string, string>> = {
  ...{
    ß: 'ss',
    æ: 'ae',
    œ: 'oe',
    þ: 'th',
    ø: 'o',
    đ: 'd',
    ð: 'd',
    ħ: 'h',
    ı: 'i',
    ł: 'l',
    ŧ: 't',
    ĸ: 'k',
    ŋ: 'n',
    ɨ: 'i',
  },
  ...{ '\u0640': '' },
};
const REPLACEABLE = new RegExp(`[${Object.keys(REPLACED).join('')}]`, 'gu');

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

/**
 * Returns a text in lower case, with combining marks separated from their letters and without ignorable characters. A final
 * sigma becomes an ordinary sigma.
 */
const decomposed = (text: string): string =>
  text.normalize('NFKD').replaceAll(IGNORABLE, '').toLowerCase().replaceAll('ς', 'σ');

/** Returns the form of a text in which quoted parts of a search are compared: without case, but with combining marks. */
export const lowered = (text: string): string =>
  isAscii(text) ? text.toLowerCase() : decomposed(text).normalize('NFKC');

/** Returns the form of a text in which words are compared: without case and without combining marks such as accents. */
export function folded(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  const plain = decomposed(text).replaceAll(MARKS, '');
  return plain.replaceAll(REPLACEABLE, (letter) => REPLACED[letter] ?? letter).normalize('NFKC');
}

/** Character that is inserted at the positions within words at which other words begin. No word contains this character. */
const SEPARATOR = '\u0001';

/** Matches separators between the words of a name: ASCII, general and CJK punctuation. Does not match `SEPARATOR`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters separate words as well.
const BETWEEN = /[\u0002-\u002f:-@[-`{-\u00a9\u00ab-\u00b1\u2000-\u206f\u3000-\u3003\u3008-\u3011\u30fb]+/gu;

/** Letters of the scripts that write words, or the parts of names, without spaces between them. */
const UNSPACED = Object.values({
  thai: '\\u0e01-\\u0e30\\u0e32-\\u0e33\\u0e40-\\u0e46',
  lao: '\\u0e81-\\u0eb0\\u0eb2-\\u0eb3\\u0ec0-\\u0ec6',
  tibetan: '\\u0f40-\\u0f6c',
  myanmar: '\\u1000-\\u102a\\u1050-\\u1055',
  khmer: '\\u1780-\\u17b3',
  yi: '\\ua000-\\ua48c',
  hangul: '\\u1100-\\u11ff\\uac00-\\ud7a3',
  kana: '\\u3041-\\u3096\\u309d-\\u309f\\u30a1-\\u30fa\\u30fd-\\u30ff\\u31f0-\\u31ff',
  bopomofo: '\\u3105-\\u312f\\u31a0-\\u31bf',
  han: '\\u3005-\\u3007\\u3021-\\u3029\\u3038-\\u303c\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{323af}',
}).join('');

const APOSTROPHES = /['\u02bb\u2018\u2019]/g;
/** Character to which all forms of the apostrophe are normalized. */
const APOSTROPHE = '\u02bc';

/**
 * Matches positions inside a word, in addition to `CASE_CHANGES`, at which a searched word can also begin: before a letter of
 * `UNSPACED`, between such a letter and a Latin letter, between a digit and another character, and after an apostrophe.
 */
const BEGINNINGS = new RegExp(
  [
    `(?<=[^ ])(?=[${UNSPACED}])`,
    `(?<=[${UNSPACED}\\u30fc])(?=[a-z])`,
    '(?<=[0-9])(?=[^0-9 ])',
    '(?<=[^0-9 ])(?=[0-9])',
    `(?<=${APOSTROPHE})(?=[^ ])`,
  ].join('|'),
  'gu',
);

/**
 * Maximum number of stored words that begin inside other words of a name. Further words are not stored, so a search for them
 * does not find the name.
 */
const MAX_INNER_WORDS = 100;
/** Maximum length, in code points, of a word that begins inside another word of a name. Longer words are cut. */
const MAX_INNER_WORD_LENGTH = 32;

/** Returns the folded words of a name, separated by spaces. @param name May contain a `SEPARATOR`, which is kept. */
const withSpaces = (name: string): string => folded(name).replaceAll(APOSTROPHES, APOSTROPHE).replaceAll(BETWEEN, ' ');
const withoutSeparators = (name: string): string => name.replaceAll(SEPARATOR, ' ');
const withoutApostrophes = (text: string): string[] =>
  text
    .replaceAll(APOSTROPHE, '')
    .split(' ')
    .filter((word) => word !== '');

/** Returns the folded words of a text, separated by single spaces. Apostrophes are removed. */
export const nameWords = (text: string): string => withoutApostrophes(withSpaces(withoutSeparators(text))).join(' ');

/** Shortens a word to `MAX_INNER_WORD_LENGTH` code points, the maximum stored length of words that begin inside other words. */
export const wordBeginning = (word: string): string => [...word].slice(0, MAX_INNER_WORD_LENGTH).join('');

/**
 * Returns the words by which a name is found, separated by spaces: first the words of `nameWords`, then the words that begin
 * inside these words. Equivalent to the SQL function `searched_words_of_name`.
 *
 * @see prisma/migrations/20261129140000_name_words_by_case
 */
export function searchableWords(name: string): string {
  const text = withSpaces(withoutSeparators(name).normalize('NFKD').replaceAll(CASE_CHANGES, `$&${SEPARATOR}`));
  const words = withoutApostrophes(text.replaceAll(SEPARATOR, ''));
  const inner = new Set<string>();
  for (const word of text.replaceAll(BEGINNINGS, SEPARATOR).split(' ')) {
    const parts = word.split(SEPARATOR);
    for (let i = 1; i < parts.length; i++) {
      const rest = wordBeginning(parts.slice(i).join('').replaceAll(APOSTROPHE, ''));
      if (rest !== '' && !words.includes(rest) && inner.size < MAX_INNER_WORDS) inner.add(rest);
    }
  }
  return [...words, ...inner].join(' ');
}

/**
 * Returns a function that checks whether a name matches a text. If no text is given, every name matches. Otherwise a name
 * matches in three cases:
 * - The name contains the text, ignoring case.
 * - The folded name contains the folded words of the text, one after another.
 * - Each folded word of the text begins a word of the folded name, in any order.
 *
 * @see isNamed in src/platform/db/named.ts, the equivalent in SQL
 */
export function nameFilter(text: string | null | undefined): (name: string) => boolean {
  if (text == null) return () => true;
  const part = text.toLowerCase();
  const words = nameWords(text);
  const beginnings = filterWords(words);
  return (name) => {
    if (name.toLowerCase().includes(part)) return true;
    // A text of only punctuation has no words.
    if (words === '') return false;
    // This check is cheaper, and most names fail it. It does not need the words that begin inside other words.
    const own = nameWords(name);
    if (!beginnings.every((word) => own.includes(word))) return false;
    const all = searchableWords(name);
    return all.includes(words) || beginnings.every((word) => ` ${all}`.includes(` ${word}`));
  };
}

/**
 * Returns the distinct words of a filter, each shortened to the length that `searchableWords` stores.
 *
 * @param words From `nameWords`.
 */
export const filterWords = (words: string): string[] =>
  words === '' ? [] : [...new Set(words.split(' ').map(wordBeginning))];
