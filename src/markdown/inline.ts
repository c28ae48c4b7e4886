import { channelLinks } from './channel-links.ts';
import { emojiCharacters, emojiNames, emoticons } from './emoji-spans.ts';
import { entities } from './entities.ts';
import { escapeText } from './escape.ts';
import { Inline, type Pass } from './inline-text.ts';
import { bareLinks, links } from './links.ts';
import { mathSpans } from './math.ts';
import { groupMentions, userMentions } from './mentions.ts';
import type { Preview, Rendering } from './rendering.ts';
import { times } from './times.ts';

/** The text of one block, as HTML. */
export interface InlineHtml {
  readonly html: string;
  readonly previews: readonly Preview[];
  /** Whether the text is nothing but one bare address of an image that is shown. */
  readonly isBareLink: boolean;
}

/**
 * The constructs in matching order: the first takes what it matches out of the text, then the second looks at what is
 * left, and so on. Each pass looks at each character a bounded number of times, and what a construct holds is looked at
 * by later passes only, so that the work is linear in the text however it is nested.
 *
 * This is not how markdown-it finds inline constructs, from left to right: in this dialect the order of constructs
 * decides, not that of their places.
 */
const PASSES: readonly Pass[] = [
  codeSpans,
  wrapping(/\*\*\*([^*\n]+)\*\*\*/g, '***', '<strong><em>', '</em></strong>'),
  userMentions,
  mathSpans,
  channelLinks,
  times,
  groupMentions,
  links,
  bareLinks,
  entities,
  wrapping(/\*\*([^\n]+?)\*\*/g, '**', '<strong>', '</strong>'),
  wrapping(/\*(?!\s)([^*^\n]+)(?<!\s)\*/g, '*', '<em>', '</em>'),
  wrapping(/(?<!~)~~([^~\n]+)~~(?!~)/g, '~~', '<del>', '</del>'),
  emojiNames,
  emoticons,
  emojiCharacters,
];

/** Every construct holds one of these; dots and semicolons are the only ones that much text has. */
const MARKS = /[`*@#$<[&~:;.\u00a9-\uffff]/;

/** The text of one block as HTML. */
export function renderInline(source: string, rendering: Rendering): InlineHtml {
  const inline = new Inline(rendering, PASSES);
  if (!MARKS.test(source)) return { html: inline.html(source), previews: [], isBareLink: false };
  const text = inline.run(source, 0);
  const [preview] = inline.previews;
  const isBareLink = preview?.bare !== undefined && text.trim() === preview.bare;
  return { html: inline.html(text), previews: inline.previews, isBareLink };
}

/** Marks around a text that later passes look through. */
function wrapping(pattern: RegExp, mark: string, open: string, close: string): Pass {
  return (inline, text, next) => {
    if (!text.includes(mark)) return text;
    return text.replace(pattern, (source: string, inner: string) => {
      const content = inline.run(inner, next);
      return inline.keep(source, `${open}${inline.html(content)}${close}`, inline.holdsLink(content));
    });
  };
}

/** n back-ticks match the next n. */
function codeSpans(inline: Inline, text: string): string {
  if (!text.includes('`')) return text;
  const runs = [...text.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ start: index, length }));
  const nextOfLength = nextOfSameLength(runs.map(({ length }) => length));
  let [result, end] = ['', 0];
  for (let i = 0; i < runs.length; i++) {
    const close = nextOfLength[i];
    const [from, to] = [runs[i], runs[close ?? -1]];
    if (close === undefined || from === undefined || to === undefined) continue;
    const code = text.slice(from.start + from.length, to.start);
    const source = text.slice(from.start, to.start + to.length);
    result += text.slice(end, from.start) + inline.keep(source, `<code>${escapeText(code)}</code>`);
    end = to.start + to.length;
    i = close;
  }
  return result + text.slice(end);
}

/** For each of the lengths, the index of the next one that is the same. */
function nextOfSameLength(lengths: readonly number[]): (number | undefined)[] {
  const last = new Map<number, number>();
  const next: (number | undefined)[] = [];
  for (let i = lengths.length - 1; i >= 0; i--) {
    const length = lengths[i] ?? 0;
    next[i] = last.get(length);
    last.set(length, i);
  }
  return next;
}
