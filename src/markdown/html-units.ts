/**
 * Content of an element or of a whole text: white space, and then units, each with the white space after it. The concatenation
 * of all these parts is the source.
 */
export interface HtmlContent {
  readonly head: string;
  readonly units: readonly HtmlUnit[];
}

/**
 * A word, a single character that belongs to no word, or an element with its content. Comparisons match units that are equal in
 * both texts.
 */
export interface HtmlUnit {
  /** HTML source of the unit. */
  readonly html: string;
  /** White space after the unit. */
  readonly tail: string;
  /** Parsed element. Undefined if the unit is a text, or an element that is compared as a whole. */
  readonly element?: HtmlElement;
}

/** An element that can be compared in parts, such as a paragraph, a list or a table row. */
export interface HtmlElement {
  readonly name: string;
  /** HTML source of the start tag. */
  readonly open: string;
  /** HTML source of the end tag. */
  readonly close: string;
  readonly content: HtmlContent;
}

/**
 * Elements that are compared in parts. Other elements are compared as a whole, even if they contain elements. Examples are a
 * formula, an emoji, a mention, a time, a highlighted token of code, and an image.
 */
const DIVISIBLE = new Set(
  'p div blockquote ul ol li table thead tbody tr th td pre code strong em del a h1 h2 h3 h4 h5 h6'.split(' '),
);

const VOID = new Set('br hr img wbr source input'.split(' '));

/**
 * Maximum nesting depth of elements that are compared in parts. Deeper elements are compared as a whole. This bounds the
 * recursion of functions that walk the units.
 */
const MAX_DEPTH = 50;

const TAG = /<(\/?)([a-z][a-z0-9]*)(?:[^"'>]|"[^"]*"|'[^']*')*>/iy;

/**
 * Matches one part of the text of an element:
 * - white space
 * - an entity
 * - a letter of a script without spaces between words
 * - a word
 * - another character, with the characters that are joined to it
 */
const PIECE =
  /\s+|&#?\w+;|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]\p{M}*|[[\p{L}\p{N}\p{M}_]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]]+|\p{RI}{2}|.(?:\u200D.|[\p{M}\p{EMod}])*/gsv;

interface Building {
  head: string;
  readonly units: { html: string; tail: string; element?: HtmlElement }[];
}

interface OpenElement {
  readonly name: string;
  readonly start: number;
  readonly contentStart: number;
  /**
   * The units of the element that were read so far. Undefined for an element that is compared as a whole, which is not split
   * into units.
   */
  readonly content: Building | undefined;
}

/**
 * Parses HTML that this renderer wrote, and splits it into units. The work is linear in the length of the HTML.
 *
 * @returns Undefined if a tag is malformed or elements are not properly nested. The renderer never writes such HTML.
 */
export function readHtml(html: string): HtmlContent | undefined {
  const root: Building = { head: '', units: [] };
  const open: OpenElement[] = [];
  let into: Building | undefined = root;
  for (let at = 0; at < html.length; ) {
    if (html[at] !== '<') {
      const next = html.indexOf('<', at);
      const end = next === -1 ? html.length : next;
      if (into) addText(into, html.slice(at, end));
      at = end;
      continue;
    }
    TAG.lastIndex = at;
    const [tag, slash, written = ''] = TAG.exec(html) ?? [];
    if (tag === undefined) return undefined;
    const start = at;
    const name = written.toLowerCase();
    at += tag.length;
    if (slash === '/') {
      const element = open.pop();
      if (element?.name !== name) return undefined;
      into = open.length === 0 ? root : open.at(-1)?.content;
      into?.units.push(closed(html, element, start, at));
    } else if (VOID.has(name) || tag.endsWith('/>')) {
      into?.units.push({ html: tag, tail: '' });
    } else {
      const divisible: boolean = into !== undefined && DIVISIBLE.has(name) && open.length < MAX_DEPTH;
      into = divisible ? { head: '', units: [] } : undefined;
      open.push({ name, start, contentStart: at, content: into });
    }
  }
  return open.length === 0 ? root : undefined;
}

function closed(html: string, { name, start, contentStart, content }: OpenElement, contentEnd: number, end: number) {
  const whole = { html: html.slice(start, end), tail: '' };
  if (!content) return whole;
  return {
    ...whole,
    element: { name, open: html.slice(start, contentStart), close: html.slice(contentEnd, end), content },
  };
}

function addText(content: Building, text: string): void {
  for (const [piece] of text.matchAll(PIECE)) {
    const last = content.units.at(-1);
    if (/\S/.test(piece)) content.units.push({ html: piece, tail: '' });
    else if (last) last.tail += piece;
    else content.head += piece;
  }
}
