import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { allOf } from '../reading.ts';
import { BadNarrowError } from './errors.ts';

/** A parsed search. */
export interface Search {
  /** Stems of words, and short words prefixed with `SHORT`. A message must contain a matching word for each of them. */
  readonly stems: readonly string[];
  /** Unquoted texts in scripts without spaces between words, folded. A message must contain each of them, ignoring accents. */
  readonly parts: readonly string[];
  /** Quoted texts in lower case. A message must contain each of them. */
  readonly quoted: readonly string[];
  /** Elements of `quoted`, except those that are a single short word. */
  readonly phrases: readonly string[];
  /** PostgreSQL `tsquery` that the index entry of each matching message satisfies. Empty if no message matches. */
  readonly query: string;
  /** SQL condition that the message `m` matches the search. */
  readonly matches: Prisma.Sql;
  /** Builds a cheaper SQL condition on the folded text of a message. It is true for every message that `matches` accepts. */
  readonly mayMatch: (folded: Prisma.Sql) => Prisma.Sql;
}

const { sql } = Prisma;

/**
 * Maximum length of a search in UTF-16 units. The longest content of a message fits. All search terms of a narrow are one
 * search.
 */
const MAX_LENGTH = 10_000;
/** Maximum number of quoted texts in a search. Each of them is compared with every message that the index returns. */
const MAX_QUOTED = 20;
const MAX_PARTS = 100;

/**
 * Parses a search of words and quoted texts. A quoted text must occur literally in a message, ignoring case.
 *
 * @throws BadNarrowError if the search is too long or has too many parts.
 */
export async function parseSearch(db: SqlClient, words: string): Promise<Search> {
  if (words.length > MAX_LENGTH) throw new BadNarrowError(`search is too long (limit: ${MAX_LENGTH} characters)`);
  const given = [...new Set([...words.matchAll(QUOTED)].map(([, text = '']) => text))];
  if (given.length > MAX_QUOTED) throw new BadNarrowError(`search has too many quoted parts (limit: ${MAX_QUOTED})`);
  const [row] = await db.$queryRaw<Parsed[]>`
    SELECT COALESCE((
             SELECT jsonb_agg(jsonb_build_object('text', token, 'stems', search_stems(token)))
             FROM (SELECT DISTINCT string_to_table(search_fold(${words.replaceAll(QUOTED, ' ')}), ' ') AS token) AS t
             WHERE token <> ''), '[]') AS tokens,
           COALESCE((
             SELECT jsonb_agg(jsonb_build_object('lower', search_lower(q), 'folded', search_fold(q)))
             FROM unnest(${given}::text[]) AS q), '[]') AS quoted`;
  const found = row?.quoted ?? [];
  const tokens = (row?.tokens ?? []).map(({ text, stems }) => ({
    text,
    stems: stems.filter((stem) => stem[0] !== SHORT),
  }));
  // Drops quoted texts that contain only white space or invisible characters, because every message would match them.
  const quoted = found.filter(({ folded }) => folded.trim() !== '');
  const stems = [
    ...new Set([
      ...tokens.flatMap((token) => token.stems),
      ...quoted.flatMap(({ folded }) => shortWordsOf(folded).map((word) => SHORT + word)),
    ]),
  ];
  const parts = [...new Set(tokens.flatMap(partsOf))];
  if (parts.length > MAX_PARTS) throw new BadNarrowError(`search has too many words (limit: ${MAX_PARTS})`);
  const lexemes = new Set([
    ...stems.map((stem) => ` =${stem}`),
    ...[...parts, ...quoted.map(({ folded }) => folded)].flatMap(gramsOf),
  ]);
  const lowers = quoted.map(({ lower }) => lower);
  const matches =
    lexemes.size === 0
      ? // A search of only common words has no results, because every message would match it.
        sql`false`
      : sql`search_matches(m.topic || E'\\n' || m.content, ${lowers}::text[], ${parts}::text[], ${stems}::text[])`;
  // In `search_matches`, a word matches only if it begins with its stem without the last two letters of that stem.
  const beginnings = stems.map((stem) =>
    [...stem.replace(/^"/, '')].slice(0, Math.max(1, [...stem].length - 2)).join(''),
  );
  const contained = [...beginnings, ...parts, ...quoted.map(({ folded }) => folded)];
  const mayMatch = (folded: Prisma.Sql) => allOf(contained.map((part) => sql`strpos(${folded}, ${part}) > 0`));
  const phrases = quoted.flatMap(({ lower, folded }) => (shortWordsOf(folded).length === 1 ? [] : [lower]));
  return { stems, parts, quoted: lowers, phrases, query: [...lexemes].map(lexemeOf).join(' & '), matches, mayMatch };
}

const QUOTED = /"([^"]+)"/g;
/**
 * Prefix of a word of one or two Latin letters or digits in `stems`. Such a word is searched literally, because common short
 * words have no stem.
 */
export const SHORT = '"';

/** Folded text between two spaces, with the stems of its words. Words that are too common have no stem. */
interface Token {
  readonly text: string;
  readonly stems: readonly string[];
}

interface Parsed {
  readonly tokens: readonly Token[];
  readonly quoted: readonly { readonly lower: string; readonly folded: string }[];
}

/** Scripts that are written without spaces between words, or in which words are also found inside longer words (Hangul). */
const SPACELESS =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}\\p{Script=Thai}' +
  '\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}\\p{Script=Yi}\\p{Script=Tai_Le}' +
  '\\p{Script=New_Tai_Lue}\\p{Script=Tai_Tham}\\p{Script=Tai_Viet}\\p{Script=Javanese}\\p{Script=Balinese}\\u30fc';
const IN_WORDS = '\\p{L}\\p{N}\\p{M}\\p{Default_Ignorable_Code_Point}';
const PIECE = new RegExp(`[${IN_WORDS}]+`, 'gu');
const IS_SPACELESS = new RegExp(`[${SPACELESS}]`, 'u');
/** Pattern of a word in a script with spaces between words. */
export const WORD = `[[${IN_WORDS}]--[${SPACELESS}]]+`;

/** Returns the texts of the token that a message must contain literally, in addition to words with the token's stems. */
function partsOf({ text, stems }: Token): string[] {
  const pieces = text.match(PIECE) ?? [];
  // The token consists of symbols, such as an emoji, `€` or an arrow. ASCII punctuation is ignored.
  if (pieces.length === 0)
    return text.match(/[^\p{ASCII}]*\p{S}[^\p{ASCII}]*/gu)?.filter((part) => !isAscii(part)) ?? [];
  // The token consists of several words that are too common to have a stem, such as "to-do". Therefore the whole token is
  // searched literally.
  if (pieces.length > 1 && stems.length === 0 && !IS_SPACELESS.test(text)) {
    return [
      text.slice(text.indexOf(pieces[0] ?? ''), text.lastIndexOf(pieces.at(-1) ?? '') + (pieces.at(-1) ?? '').length),
    ];
  }
  return pieces.filter((piece) => IS_SPACELESS.test(piece));
}

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

/**
 * Maximum number of n-grams that are looked up for one text. If a text has more, a sample at regular intervals in the text is
 * used.
 */
const MAX_GRAMS = 24;

/**
 * Returns n-grams that the index entry of every message with this folded text has. They are the trigrams within the runs
 * between spaces. Of a run of fewer than three characters, they are the parts without Latin letters and digits.
 */
function gramsOf(text: string): string[] {
  const grams = text.split(/\s+/u).flatMap((run) => {
    const characters = [...run];
    if (characters.length < 3) return run.split(/[a-z0-9]+/u).filter((part) => part !== '');
    return characters.slice(2).map((_, i) => characters.slice(i, i + 3).join(''));
  });
  const step = Math.max(1, grams.length / MAX_GRAMS);
  return Array.from({ length: Math.min(grams.length, MAX_GRAMS) }, (_, i) => grams[Math.floor(i * step)] as string);
}

/**
 * Returns the words of a folded text that has no n-grams: words of one or two Latin letters or digits. The index has such words
 * as whole words. Empty if the text has n-grams.
 */
const shortWordsOf = (text: string): string[] =>
  gramsOf(text).length > 0 ? [] : text.split(/\s+/u).filter((word) => word !== '');

const lexemeOf = (lexeme: string): string => `'${lexeme.replaceAll(/['\\]/g, '$&$&')}'`;
