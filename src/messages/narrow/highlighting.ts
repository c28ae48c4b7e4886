import type { SqlClient } from '../../platform/db/client.ts';
import { folded, lowered } from '../../platform/folding.ts';
import { type Search, WORD } from './narrow-search.ts';

/** Function that marks the matches of a search in HTML. Tags, entities and MathML remain unchanged. */
export type Highlighter = (html: string) => string;

/**
 * Matches a tag, or the whole MathML of a formula. MathML is not marked, because a `<span>` inside it makes the HTML parser end
 * the formula and show its TeX source as text. The HTML has another, visible form of the formula next to its MathML.
 */
const TAG = /(<math[\s>].*?<\/math>|<[^>]*>)/s;
const ENTITY = '&#?\\w+;';
const NO_WORDS = new RegExp(`${TAG.source}|${ENTITY}`, 'gs');
const WORDS = new RegExp(WORD, 'gv');
const WORD_OR_ENTITY = new RegExp(`${ENTITY}|(?<word>${WORD})`, 'gv');

/**
 * Returns a function that wraps the matches of a search in `<span class="highlight">`. The returned function must be called
 * only with elements of `texts`. Uses one query for all texts.
 *
 * @param texts HTML texts.
 */
export async function highlighter(db: SqlClient, search: Search, texts: readonly string[]): Promise<Highlighter> {
  const words = await wordsLike(db, search.stems, texts);
  const mark = (text: string): string => {
    const hits = [
      ...hitsOf(text, search.quoted, lowered),
      ...hitsOf(text, search.parts, folded),
      ...[...(words.size === 0 ? [] : text.matchAll(WORD_OR_ENTITY))].flatMap(({ index, groups }): Hit[] => {
        const word = groups?.['word'];
        return word !== undefined && words.has(folded(word)) ? [[index, index + word.length]] : [];
      }),
    ];
    return hits.length === 0 ? text : marked(text, hits);
  };
  return (html) =>
    html
      .split(TAG)
      .map((piece, i) => (i % 2 === 0 ? mark(piece) : piece))
      .join('');
}

/** Start (inclusive) and end (exclusive) of a match in a text, in UTF-16 units. */
type Hit = readonly [start: number, end: number];

/** Wraps each match in a `<span>` and returns the HTML. Overlapping and adjacent matches share one `<span>`. */
function marked(text: string, hits: readonly Hit[]): string {
  const merged: [number, number][] = [];
  for (const [start, end] of hits.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  let html = '';
  let at = 0;
  for (const [start, end] of merged) {
    html += `${text.slice(at, start)}<span class="highlight">${text.slice(start, end)}</span>`;
    at = end;
  }
  return html + text.slice(at);
}

/** Matches an HTML entity, or a character with its combining marks. */
const UNIT = new RegExp(`${ENTITY}|(?:\\r\\n|[^])\\p{M}*`, 'gu');

/**
 * Finds all occurrences of each part in the text, after `fold` was applied to the text. The parts must be folded already. Each
 * match covers whole characters of the unfolded text.
 */
function hitsOf(text: string, parts: readonly string[], fold: (text: string) => string): Hit[] {
  if (parts.length === 0 || text === '') return [];
  let plain = '';
  // For each UTF-16 unit of `plain`: start and end of the character in `text` that was folded to this unit.
  const [starts, ends]: [number[], number[]] = [[], []];
  for (const { 0: unit, index } of text.matchAll(UNIT)) {
    const made = fold(unit.length > 1 ? unescaped(unit) : unit);
    plain += made;
    for (let i = 0; i < made.length; i++) {
      starts.push(index);
      ends.push(index + unit.length);
    }
  }
  return parts.flatMap((part) => {
    const hits: Hit[] = [];
    for (let at = plain.indexOf(part); at !== -1; at = plain.indexOf(part, at + part.length)) {
      hits.push([starts[at] ?? 0, ends[at + part.length - 1] ?? text.length]);
    }
    return hits;
  });
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };

/** Returns the character that an HTML entity encodes. Returns any other text unchanged. */
function unescaped(unit: string): string {
  const [, hex, decimal, name] = /^&(?:#x([\da-f]+)|#(\d+)|(\w+));$/i.exec(unit) ?? [];
  if (name !== undefined) return NAMED[name] ?? unit;
  const code = hex === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hex, 16);
  return code >= 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : unit;
}

/** Returns those words of the texts that have one of `stems` as their stem. The returned words are folded (see `folded`). */
async function wordsLike(db: SqlClient, stems: readonly string[], texts: readonly string[]): Promise<Set<string>> {
  if (stems.length === 0) return new Set();
  // All forms of a word begin with the same letter, so words with another first letter are not sent to the database.
  const initials = new Set(stems.map((stem) => [...stem][0]));
  const words = new Set<string>();
  for (const text of texts) {
    for (const [match] of text.replaceAll(NO_WORDS, ' ').matchAll(WORDS)) {
      const word = folded(match);
      if (initials.has([...word][0])) words.add(word);
    }
  }
  if (words.size === 0) return new Set();
  const rows = await db.$queryRaw<{ word: string }[]>`
    SELECT word FROM unnest(${[...words]}::text[]) AS w(word) WHERE search_stems(word) && ${[...stems]}::text[]`;
  return new Set(rows.map(({ word }) => word));
}
