/**
 * What stands in an element, or at the top: white space, then the units, each with the white space that follows it.
 * Nothing else is in between, so that the pieces put together are the source again.
 */
export interface HtmlContent {
  readonly head: string;
  readonly units: readonly HtmlUnit[];
}

/** A word, a single other character, or an element with everything in it. */
export interface HtmlUnit {
  /** As it stands in the source. */
  readonly html: string;
  /** The white space after it. */
  readonly tail: string;
  /** Set for an element that may be compared from within; without it, the unit is compared whole. */
  readonly element?: HtmlElement;
}

/** An element whose content is flow or phrases, or that holds only certain elements, such as rows. */
export interface HtmlElement {
  readonly name: string;
  /** The start tag as it stands in the source. */
  readonly open: string;
  /** The end tag. */
  readonly close: string;
  readonly content: HtmlContent;
}

/**
 * Elements one may look into. Any other is one thing, even if it has several parts: a formula, an emoji, a mention, a
 * time, a coloured token of code, a picture.
 */
const DIVISIBLE = new Set(
  'p div blockquote ul ol li table thead tbody tr th td pre code strong em del a h1 h2 h3 h4 h5 h6'.split(' '),
);

const VOID = new Set('br hr img wbr source input'.split(' '));

/** Deeper elements are compared whole, which bounds the recursion of everyone who walks the units. Our choice. */
const MAX_DEPTH = 50;

const TAG = /<(\/?)([a-z][a-z0-9]*)(?:[^"'>]|"[^"]*"|'[^']*')*>/iy;

/**
 * White space; an entity; a letter of a script that puts no spaces between words; a word; or another character, with
 * what joins it to the next.
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
  /** undefined within what is compared whole. */
  readonly content: Building | undefined;
}

/**
 * Takes HTML of our own apart. The work is linear in it.
 *
 * @returns undefined when an element is not closed where it should be, which our own HTML never has.
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
