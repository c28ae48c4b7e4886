import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { allOf } from '../reading.ts';
import { BadNarrowError } from './errors.ts';
import { unindexedBytes } from './message-index.ts';

/** A parsed search. */
export interface Search {
  /** Stems of the unquoted words. A message must contain a matching word for each element. */
  readonly stems: readonly string[];
  /**
   * Parts of unquoted texts that a message must contain literally, ignoring case and accents. The parts are folded by the SQL
   * function `search_fold`. See `partsOf`.
   */
  readonly parts: readonly string[];
  /** Quoted texts in lower case. A message must contain each of them literally, ignoring case. */
  readonly quoted: readonly string[];
  /** Whether no message matches, because the search contains only common words. */
  readonly isEmpty: boolean;
  /**
   * PostgreSQL `tsquery` that the index entry of each matching message satisfies. Empty if the index does not help, because the
   * search contains only quoted texts of one or two Latin letters or digits.
   */
  readonly query: string;
  /** Whether every message whose current index entry satisfies `query` matches the search. */
  readonly isExact: boolean;
  /** SQL condition that the message `m` matches the search. */
  readonly matches: Prisma.Sql;
  /** Size of the messages of the organization without a current index entry, in bytes (see `unindexedBytes`). */
  readonly unindexedBytes: number;
  /**
   * Builds an SQL condition on the folded text of a message that costs less than `matches`. The condition is true for every
   * message that matches the search, and can be true for other messages.
   */
  readonly mayMatch: (folded: Prisma.Sql) => Prisma.Sql;
}

const { sql } = Prisma;

/**
 * Maximum length of a search in UTF-16 units. A longer search is refused with `BadNarrowError`. The longest content of a
 * message fits. The search terms of a narrow (message filter) are joined into one search before the limit is checked.
 */
const MAX_LENGTH = 10_000;
/**
 * Maximum number of quoted texts in a search. A search with more is refused with `BadNarrowError`. Each of them is compared
 * with every message that the index returns.
 */
const MAX_QUOTED = 20;
const MAX_PARTS = 100;

/**
 * Parses a search of words and quoted texts. A quoted text must occur literally in a message, ignoring case.
 *
 * @throws BadNarrowError if the search is too long or has too many parts.
 */
export async function parseSearch(db: SqlClient, organizationId: number, words: string): Promise<Search> {
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
             FROM unnest(${given}::text[]) AS q), '[]') AS quoted,
           ${unindexedBytes(organizationId)} AS unindexed`;
  const found = row?.quoted ?? [];
  const tokens = (row?.tokens ?? []).map(({ text, stems }) => ({
    text,
    stems: stems.filter((stem) => stem[0] !== WHOLE),
  }));
  // Drops quoted texts that contain only white space or invisible characters, because they would match every message.
  const quoted = found.filter(({ folded }) => folded.trim() !== '');
  const stems = [...new Set(tokens.flatMap((token) => token.stems))];
  const parts = [...new Set(tokens.flatMap(partsOf))];
  if (parts.length > MAX_PARTS) throw new BadNarrowError(`search has too many words (limit: ${MAX_PARTS})`);
  const lexemes = new Set([
    ...stems.map((stem) => ` =${stem}`),
    ...[...parts, ...quoted.map(({ folded }) => folded)].flatMap(gramsOf),
  ]);
  const lowers = quoted.map(({ lower }) => lower);
  // A search that consists only of common words has no results, because it would match every message.
  const isEmpty = lexemes.size === 0 && quoted.length === 0;
  const matches = isEmpty
    ? sql`false`
    : sql`search_matches(m.topic || E'\\n' || m.content, ${lowers}::text[], ${parts}::text[], ${stems}::text[])`;
  // In `search_matches`, a word matches a stem only if it begins with the same letters. The last two letters of the stem are
  // ignored.
  const beginnings = stems.map((stem) => [...stem].slice(0, Math.max(1, [...stem].length - 2)).join(''));
  const contained = [...beginnings, ...parts, ...quoted.map(({ folded }) => folded)];
  const mayMatch = (folded: Prisma.Sql) => allOf(contained.map((part) => sql`strpos(${folded}, ${part}) > 0`));
  const query = [...lexemes].map(lexemeOf).join(' & ');
  const isExact = parts.length === 0 && quoted.length === 0;
  return {
    ...{ stems, parts, quoted: lowers, isEmpty, query, isExact, matches, mayMatch },
    unindexedBytes: Number(row?.unindexed ?? 0),
  };
}

const QUOTED = /"([^"]+)"/g;
/**
 * Prefix of a word of one or two Latin letters or digits in the result of the SQL function `search_stems`. Searches do not use
 * these words.
 */
const WHOLE = '"';

/** A part of a folded text between two spaces, with the stems of its words. Words that are too common have no stem. */
interface Token {
  readonly text: string;
  readonly stems: readonly string[];
}

interface Parsed {
  readonly tokens: readonly Token[];
  readonly quoted: readonly { readonly lower: string; readonly folded: string }[];
  readonly unindexed: bigint;
}

/**
 * Character class of scripts that are written without spaces between words, and of Hangul, in which words must also be found
 * inside longer words.
 */
const SPACELESS =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}\\p{Script=Thai}' +
  '\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}\\p{Script=Yi}\\p{Script=Tai_Le}' +
  '\\p{Script=New_Tai_Lue}\\p{Script=Tai_Tham}\\p{Script=Tai_Viet}\\p{Script=Javanese}\\p{Script=Balinese}\\u30fc';
const IN_WORDS = '\\p{L}\\p{N}\\p{M}\\p{Default_Ignorable_Code_Point}';
const PIECE = new RegExp(`[${IN_WORDS}]+`, 'gu');
const IS_SPACELESS = new RegExp(`[${SPACELESS}]`, 'u');
/** Pattern of a word in a script with spaces between words. */
export const WORD = `[[${IN_WORDS}]--[${SPACELESS}]]+`;

/**
 * Returns the texts that a message must contain literally to match the token. A message must also contain words with the
 * token's stems.
 */
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
 * Returns n-grams that are in the index entry of every message with this folded text. The text is split at spaces. A part of
 * three or more characters yields its trigrams. A shorter part yields its sequences of characters that are no Latin letters or
 * digits.
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

const lexemeOf = (lexeme: string): string => `'${lexeme.replaceAll(/['\\]/g, '$&$&')}'`;
