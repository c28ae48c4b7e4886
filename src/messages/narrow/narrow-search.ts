import { Prisma } from '../../generated/prisma/client.ts';
import { escapeText } from '../../markdown/escape.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { BadNarrowError } from './errors.ts';

/** What is looked for in messages. */
export interface Search {
  /** All that was asked for: every word of it must be in the message, in some form of it. */
  readonly words: string;
  /** The words as the index knows them; none when all are too common to be indexed. */
  readonly lexemes: readonly string[];
  /** What stood in quotes: must be in the message as it is, in whatever case. */
  readonly literals: readonly string[];
  /** The words as a query, of SQL's type `tsquery`. */
  readonly query: Prisma.Sql;
  /** Whether the message `m` is found, as SQL. */
  readonly matches: Prisma.Sql;
}

const { sql } = Prisma;

/** Our choice, in UTF-16 units: as much as a message can hold. What several terms look for is one search. */
const MAX_LENGTH = 10_000;
/** Our choice: each is looked for in every message that is come by. */
const MAX_LITERALS = 20;

/**
 * Reads what was asked for: words, and in quotes what must stand so.
 *
 * @throws BadNarrowError when it is more than anybody looks for.
 */
export async function parseSearch(db: SqlClient, words: string): Promise<Search> {
  if (words.length > MAX_LENGTH) throw new BadNarrowError('search is too long');
  const quoted = [...words.matchAll(/"([^"]+)"/g)].map(([, text = '']) => text).filter((text) => text.trim() !== '');
  const literals = [...new Set(quoted)];
  if (literals.length > MAX_LITERALS) throw new BadNarrowError('search has too many parts in quotes');
  const [row] = await db.$queryRaw<{ lexemes: string[] }[]>`
    SELECT tsvector_to_array(to_tsvector('english', ${words})) AS lexemes`;
  const lexemes = row?.lexemes ?? [];
  const query = sql`plainto_tsquery('english', ${words})`;
  const conditions = [
    ...(lexemes.length === 0 ? [] : [sql`to_tsvector('english', m.topic || ' ' || m.content) @@ ${query}`]),
    ...literals.map((text) => sql`strpos(lower(m.topic || E'\\n' || m.content), lower(${text})) > 0`),
  ];
  // Of common words alone nothing is found: everything would be.
  const matches = conditions.length === 0 ? sql`false` : sql`(${Prisma.join(conditions, ' AND ')})`;
  return { words, lexemes, literals, query, matches };
}

/** Marks in HTML what was looked for; tags, entities and MathML stay as they are. */
export type Highlighter = (html: string) => string;

/**
 * A tag, or a formula's MathML as a whole: a parser that meets a span in it takes the formula for over, and its TeX source
 * for text. What is seen of a formula stands beside it.
 */
const TAG = /(<math[\s>].*?<\/math>|<[^>]*>)/s;
const NO_WORDS = new RegExp(`${TAG.source}|&#?\\w+;`, 'gs');
const WORD = /[\p{L}\p{N}]+/gu;

/**
 * What marks the hits of a search in these texts, as `<span class="highlight">`. One query, however many texts.
 *
 * @param texts HTML.
 */
export async function highlighter(db: SqlClient, search: Search, texts: readonly string[]): Promise<Highlighter> {
  const hits = await wordsLike(db, search.lexemes, texts);
  const literals = search.literals.map((text) => escapeText(text).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  // A literal before the words in it, and entities before what looks like a word in them.
  const parts = new RegExp(
    [...(literals.length === 0 ? [] : [`(?<hit>${literals.join('|')})`]), '&#?\\w+;', '(?<word>[\\p{L}\\p{N}]+)'].join(
      '|',
    ),
    'giu',
  );
  const mark = (text: string) =>
    text.replace(parts, (part: string, ...rest: unknown[]) => {
      const { hit, word } = rest.at(-1) as { hit?: string; word?: string };
      const isHit = hit !== undefined || (word !== undefined && hits.has(word.toLowerCase()));
      return isHit ? `<span class="highlight">${part}</span>` : part;
    });
  return (html) =>
    html
      .split(TAG)
      .map((piece, i) => (i % 2 === 0 ? mark(piece) : piece))
      .join('');
}

/** Those words of the texts that the index takes for one of the lexemes, in lower case. */
async function wordsLike(db: SqlClient, lexemes: readonly string[], texts: readonly string[]): Promise<Set<string>> {
  // No form of a word begins with another letter.
  const initials = new Set(lexemes.map((lexeme) => [...lexeme][0]));
  const words = new Set<string>();
  for (const text of texts) {
    for (const [word] of text.replaceAll(NO_WORDS, ' ').toLowerCase().matchAll(WORD)) {
      if (initials.has([...word][0])) words.add(word);
    }
  }
  if (words.size === 0) return new Set();
  const rows = await db.$queryRaw<{ word: string }[]>`
    SELECT word FROM unnest(${[...words]}::text[]) AS w(word)
    WHERE tsvector_to_array(to_tsvector('english', word)) && ${[...lexemes]}::text[]`;
  return new Set(rows.map(({ word }) => word));
}
