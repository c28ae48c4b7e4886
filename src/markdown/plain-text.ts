import { withoutEntities } from './entities.ts';

const TAG_OR_TEXT = /<[^>]*>|[^<]+/g;
const TAG = /^<(\/?)([a-z0-9]+)/;
/** Matches the tags of images and players within a text, with their labels. */
const MEDIA = /^<(?:img alt="([^"]*)" class="inline-image"|audio\b.* title="([^"]*)">)/;
const EMOJI = /class="emoji emoji-([0-9a-f-]+)"/;

/** Elements without an end tag. */
const VOID: ReadonlySet<string> = new Set(['br', 'hr', 'img', 'input']);
/** Elements after which a new line begins. */
const BLOCKS: ReadonlySet<string> = new Set([
  ...(['p', 'li', 'ul', 'ol', 'blockquote', 'pre', 'div', 'tr', 'table'] as const),
  ...(['h1', 'h2', 'h3', 'h4', 'h5', 'h6'] as const),
]);
/** Start tags of parts that are not text, or that readers must not see at once: pictures, and the content of spoilers. */
const OMITTED = /^<(?:div class="(?:message_inline_|spoiler-content)|span class="katex-html"|(?:mrow|video)\b)/;

/**
 * Converts the HTML of a message to plain text, for notifications. Omits previews and the content of spoilers. Formulas are
 * shown as TeX, standard emoji as characters, and images and sounds within the text as their labels.
 */
export function plainTextOf(html: string): string {
  let text = '';
  /** Open elements that are omitted, with the number of elements of the same name that are open in them. */
  let omitted: { readonly name: string; depth: number } | undefined;
  let emoji: string | undefined;
  for (const [piece] of html.matchAll(TAG_OR_TEXT)) {
    const [, slash, name = ''] = TAG.exec(piece) ?? [];
    const isEnd = slash === '/';
    if (omitted !== undefined) {
      if (name === omitted.name) omitted.depth += isEnd ? -1 : 1;
      if (omitted.depth === 0) omitted = undefined;
    } else if (name === '') {
      text += emoji ?? withoutEntities(piece);
      emoji = undefined;
    } else if (!isEnd && OMITTED.test(piece)) omitted = VOID.has(name) ? undefined : { name, depth: 1 };
    else if (MEDIA.test(piece)) text += mediaLabelOf(piece);
    else if (isEnd && BLOCKS.has(name)) text += '\n';
    else if (name === 'br') text += '\n';
    else if (!isEnd && name === 'li') text += '• ';
    else if (isEnd && (name === 'td' || name === 'th')) text += ' ';
    else if (!isEnd && name === 'span') emoji = emojiOf(piece);
  }
  // Most block tags are also followed by a line break in the HTML. Both together count as one.
  return text
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
    .trim();
}

function mediaLabelOf(tag: string): string {
  const [, alt, title = alt ?? ''] = MEDIA.exec(tag) ?? [];
  return withoutEntities(title);
}

function emojiOf(tag: string): string | undefined {
  const [, code] = EMOJI.exec(tag) ?? [];
  if (code === undefined) return undefined;
  return String.fromCodePoint(...code.split('-').map((hex) => Number.parseInt(hex, 16)));
}
