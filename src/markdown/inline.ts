import { channelLinks } from './channel-links.ts';
import { codeSpansIn } from './code-spans.ts';
import { emojiCharacters, emojiNames, emoticons } from './emoji-spans.ts';
import { entities } from './entities.ts';
import { escapeText } from './escape.ts';
import { Inline, type Pass } from './inline-text.ts';
import { bareLinks, links } from './links.ts';
import { mathSpans } from './math.ts';
import { groupMentions, starredGroupMentions, userMentions } from './mentions.ts';
import type { Preview, Rendering } from './rendering.ts';
import { times } from './times.ts';

/** The text of one block as HTML, and the images to which it links. */
export interface InlineHtml {
  readonly html: string;
  readonly previews: readonly Preview[];
  /** Whether the text consists only of the URL of an image for which a preview is recorded. */
  readonly isBareLink: boolean;
}

/**
 * Passes that find the constructs of the dialect in a text, in the order in which they run. The first pass replaces its matches
 * in the text, the second pass processes the rest, and so on. Each pass reads each character a bounded number of times. Only
 * later passes process the content of a construct, so the work is linear in the text at any nesting depth.
 *
 * The inline parser of markdown-it is not used, because it finds constructs from left to right. In this dialect, the order of
 * the constructs takes precedence over their positions.
 */
const PASSES: readonly Pass[] = [
  codeSpans,
  starredGroupMentions,
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

/**
 * Matches text that may contain a construct, such as a link or an emoji. Every construct contains one of these characters. In
 * ordinary text, only dots and semicolons are frequent.
 */
const MARKS = /[`*@#$<[&~:;.\u00a9-\uffff]/;

/** Renders the text of one block as HTML. */
export function renderInline(source: string, rendering: Rendering): InlineHtml {
  const inline = new Inline(rendering, PASSES);
  if (!MARKS.test(source)) return { html: inline.html(source), previews: [], isBareLink: false };
  const text = inline.run(source, 0);
  const [preview] = inline.previews;
  const isBareLink = preview?.bare !== undefined && text.trim() === preview.bare;
  return { html: inline.html(text), previews: inline.previews, isBareLink };
}

/** Creates a pass for text between two marks, such as emphasis. Later passes process the text between the marks. */
function wrapping(pattern: RegExp, mark: string, open: string, close: string): Pass {
  return (inline, text, next) => {
    if (!text.includes(mark)) return text;
    return text.replace(pattern, (source: string, inner: string) => {
      const content = inline.run(inner, next);
      return inline.keep(source, `${open}${inline.html(content)}${close}`, inline.holdsLink(content));
    });
  };
}

/**
 * Replaces spans of code by placeholders. A span begins with a run of back-ticks, and ends at the next run with the same number
 * of back-ticks.
 */
function codeSpans(inline: Inline, text: string): string {
  let [result, end] = ['', 0];
  for (const [start, close, marks] of codeSpansIn(text)) {
    const code = text.slice(start + marks, close - marks);
    result += text.slice(end, start) + inline.keep(text.slice(start, close), `<code>${escapeText(code)}</code>`);
    end = close;
  }
  return result + text.slice(end);
}
