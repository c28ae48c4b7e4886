import { createRequire } from 'node:module';
import { EMOJI_END, EMPHASIS, UNSPACED } from './boundaries.ts';
import { entities, withoutEntities } from './entities.ts';
import { escapeAttribute, escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';
import { showsNothing } from './visible.ts';

/** URL schemes that are allowed in links. */
const SCHEMES: ReadonlySet<string> = new Set(
  (
    'http https ftp file bitcoin geo im irc ircs magnet mailto matrix mms news nntp openpgp4fpr sip sms smsto ssh tel ' +
    'urn webcal wtai xmpp'
  ).split(' '),
);

/** Matches the URL of an image on a website. */
const IMAGE_URL = /^https?:\/\/[^/?#]+\/[^?#]*\.(?:bmp|gif|jpe|jpeg|jpg|png|webp)(?:[?#]|$)/i;

/** Top-level domains that are more often used as file extensions. Text that ends with one of them is not linked. */
const FILE_ENDINGS: ReadonlySet<string> = new Set(['java', 'md', 'mov', 'py', 'zip']);

/**
 * File extensions that are not top-level domains. For example, "pkg@next.js" is a version or a file and not an email address.
 */
const NO_EMAIL_ENDINGS: ReadonlySet<string> = new Set(
  (
    'bat bz2 c cjs cpp cs css csv cts dll doc docx exe gif go gz h hpp htm html ini jar jpeg jpg js json jsx kt less lock ' +
    'log lua mjs mp3 mp4 mts odt pdf php png ppt pptx rb scss sql svg swift tar tgz toml ts tsx txt vue wasm webp xls xlsx ' +
    'xml yaml yml'
  ).split(' '),
);

/** Maximum depth of nested brackets in a bare link. The link ends before a deeper bracket. */
const MAX_NESTING = 6;

/** Position and kind of a bare link: a URL, domain or email address in a text that is linked without any syntax. */
export interface BareLink {
  readonly start: number;
  readonly end: number;
  readonly kind: 'url' | 'domain' | 'email';
}

/** Replaces links of the form `[text](url "title")` in a text by placeholders of their HTML. */
export function links(inline: Inline, text: string): string {
  if (!text.includes('](')) return text;
  const closing = pairs(text, '[', ']');
  const closingParenthesis = pairs(text, '(', ')');
  let [result, end] = ['', 0];
  for (let start = text.indexOf('['); start !== -1; start = text.indexOf('[', Math.max(end, start + 1))) {
    const labelEnd = closing.get(start);
    const close = labelEnd === undefined ? undefined : closingParenthesis.get(labelEnd + 1);
    if (labelEnd === undefined || close === undefined) continue;
    const label = text.slice(start + 1, labelEnd);
    const source = text.slice(start, close + 1);
    const link = linkHtml(inline, label, text.slice(labelEnd + 2, close));
    if (link === undefined) continue;
    result += text.slice(end, start) + inline.keep(source, link, true);
    end = close + 1;
  }
  return result + text.slice(end);
}

/** Returns the indexes of closing characters, by the index of the matching opening character. */
function pairs(text: string, open: string, close: string): Map<number, number> {
  const closing = new Map<number, number>();
  const opened: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === open) {
      opened.push(i);
    } else if (text[i] === close) {
      const start = opened.pop();
      if (start !== undefined) closing.set(start, i);
    }
  }
  return closing;
}

function linkHtml(inline: Inline, label: string, target: string): string | undefined {
  const [, bracketed, plain = bracketed, double, single = double] =
    /^\s*(?:<([^<>\n]*)>|([^\s<]\S*))(?:\s+(?:"([\s\S]*)"|'([\s\S]*)'))?\s*$/.exec(target) ?? [];
  if (plain === undefined || inline.source(plain) !== plain || inline.holdsLink(label)) return undefined;
  const href = hrefOf(inline, plain);
  if (href === undefined) return undefined;
  const title = single === undefined ? '' : ` title="${escapeAttribute(withoutEntities(inline.source(single)))}"`;
  const html = inline.html(entities(inline, label));
  const isBlank = showsNothing(html);
  const shown = isBlank ? escapeText(plain) : html;
  const written = isBlank ? plain : inline.source(label);
  found(inline, href, { title: written === plain ? undefined : written, bare: undefined });
  return `<a href="${escapeAttribute(href)}"${title}>${shown}</a>`;
}

/**
 * Returns the target of a link: a URL with an allowed scheme, a path or fragment in the organization, or a website or email
 * address.
 *
 * @returns Undefined for any other scheme, and for text that is none of these.
 */
function hrefOf({ rendering: { directory } }: Inline, written: string): string | undefined {
  const url = withoutEntities(written).trim().replaceAll(' ', '%20');
  if (url === '' || /[\p{Cc}\s]/u.test(url)) return undefined;
  if (/^[/#]/.test(url)) return url;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) return url.includes('@') ? `mailto:${url}` : `http://${url}`;
  if (!SCHEMES.has(scheme)) return undefined;
  return directory === undefined ? url : withinRealm(url, directory.realmUrl);
}

/** Makes a link to the organization relative, so that it works at each host name of the organization. */
function withinRealm(url: string, realmUrl: string): string {
  const isOwn = url.startsWith(`${realmUrl}/#`) || url.startsWith(`${realmUrl}/user_uploads/`);
  return isOwn ? url.slice(realmUrl.length + 1) : url;
}

/** Records that the text has a link. If the link leads to an image that is to be shown, also records its preview. */
function found(inline: Inline, url: string, { title, bare }: { title: string | undefined; bare: string | undefined }) {
  inline.rendering.hasLink = true;
  if (IMAGE_URL.test(url) && inline.rendering.claimPreview(url)) inline.previews.push({ url, title, bare });
}

/** Replaces bare website and email addresses in a text by placeholders of links. */
export function bareLinks(inline: Inline, text: string): string {
  let [result, end] = ['', 0];
  for (const link of bareLinksIn(text)) {
    const written = text.slice(link.start, link.end);
    const href = hrefOf(inline, link.kind === 'email' ? `mailto:${written}` : written);
    if (href === undefined) continue;
    const placeholder = inline.keep(written, `<a href="${escapeAttribute(href)}">${escapeText(written)}</a>`, true);
    found(inline, href, { title: undefined, bare: placeholder });
    result += text.slice(end, link.start) + placeholder;
    end = link.end;
  }
  return result + text.slice(end);
}

/** Characters after which a bare link can begin. It can also begin at the start of the text. */
const BEFORE_LINK = `\\s'"“‘„«”»‹›(,:<\\[{|;—–…•¡¿${EMPHASIS}${UNSPACED}${EMOJI_END}`;
const LINK_START = new RegExp(`(?<![^${BEFORE_LINK}])[\\p{L}\\p{N}_]`, 'gu');
/**
 * Matches a protocol at which a URL begins. As a protocol is unambiguous, it can also follow a construct or a closing bracket.
 */
const PROTOCOL_START = new RegExp(`(?<![^${BEFORE_LINK})\\]}>\\uD800-\\uDBFF])https?://`, 'iuy');
const PROTOCOL = /https?:\/\//giu;
const HOST = /[\p{L}\p{N}_][\p{L}\p{N}_.:@-]*/uy;
const WORD = /[\p{L}\p{N}_.+-]+/uy;
const EMAIL_HOST = /[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+/uy;
const DOMAIN = /^(?:[\p{L}\p{N}_-]+\.)+([\p{L}\p{N}-]+)$/u;
/**
 * Invisible characters that are never part of a bare link. Joiners and non-joiners are not among them, because they occur
 * between letters of some scripts.
 */
const HIDDEN = '\\u00AD\\u200B\\u200E\\u200F\\u202A-\\u202E\\u2060-\\u2064\\u2066-\\u2069\\u2800\\u3164\\uFEFF';
/**
 * Matches text that can follow a domain or an email address. It is closing punctuation before a space, a dash or a script
 * without spaces, or a separator of a list.
 */
const AFTER = new RegExp(
  `[!:;?),.'">\\]}${EMPHASIS}]*(?=[\\s“”«»‹›—–…${HIDDEN}${UNSPACED}${EMOJI_END}]|[\\uD800-\\uDBFF]{2}|$)|(?=[,;|])`,
  'uy',
);
/** Matches the beginning of a word up to its last character of a script without spaces that another script directly follows. */
const BEFORE_OTHER_SCRIPT = new RegExp(`^[^.@]*[${UNSPACED}](?=[^.@${UNSPACED}])`, 'u');
const BEFORE_UNSPACED = new RegExp(`[^.:@${UNSPACED}](?=[${UNSPACED}])`, 'u');
/** Matches hosts that are not part of an email address, such as a package version ("2.6.11") or an image size ("2x.png"). */
const VERSION = /^(?:v?\d+(?:\.\d+)+|\d+x\.)|\.(?:[^.]|\P{L}[^.]*)$/u;

/** Matches a slash and the beginning of the next email address, in a list of addresses that are separated by slashes. */
const NEXT_EMAIL = /\/[\p{L}\p{N}_][\p{L}\p{N}_.+-]*@/uy;

/** Returns the index after the match of a sticky pattern at `start`. Undefined if the pattern does not match there. */
function endOf(pattern: RegExp, text: string, start: number): number | undefined {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/**
 * Returns the end of a host that a pattern matched up to `end`. The host ends before text of a script without spaces, which can
 * follow it directly.
 */
function hostEndIn(text: string, start: number, end: number): number {
  const other = BEFORE_UNSPACED.exec(text.slice(start, end));
  return other === null ? end : start + other.index + other[0].length;
}

/** Matches text that may contain a bare link. Every bare link has a `.` or `@` within a word, or the `://` of a protocol. */
const IN_ADDRESS = /[.@][^\s.,;:!?'")]|:\/\//;

/** Finds the bare links in a text, in order of position. */
export function bareLinksIn(text: string): BareLink[] {
  if (!IN_ADDRESS.test(text)) return [];
  const scan = new LinkScan(text);
  const links: BareLink[] = [];
  for (const { 0: chunk, index } of text.matchAll(/\S+/g)) {
    if (IN_ADDRESS.test(chunk)) links.push(...scan.linksBetween(index, index + chunk.length));
  }
  return links;
}

/** Returns the indexes of all protocols at which a URL can begin, ascending. */
function protocolsIn(text: string): number[] {
  const places = [...text.matchAll(PROTOCOL)].map(({ index }) => index);
  return places.filter((place) => endOf(PROTOCOL_START, text, place) !== undefined);
}

/**
 * Searches for bare links from left to right. In a script without spaces, a link can begin at every character of a word. The
 * end of a word is computed only once for all of these positions, so the work is linear in the text.
 */
class LinkScan {
  readonly #text: string;
  readonly #protocols: number[];
  /** Last start that was found by `LINK_START`. Valid for all smaller indexes that are not searched yet. */
  #nextWord = -1;
  /** End of the word that was read last. */
  #wordEnd = -1;

  constructor(text: string) {
    this.#text = text;
    this.#protocols = protocolsIn(text);
  }

  /**
   * Returns the bare links that begin in a range of the text.
   *
   * @param from Start of the range, at least the `to` of the previous call.
   * @param to End of the range, exclusive.
   */
  linksBetween(from: number, to: number): BareLink[] {
    const links: BareLink[] = [];
    for (let start = this.#startFrom(from); start < to; ) {
      const link = this.#linkAt(start);
      if (typeof link !== 'number') links.push(link);
      const at = typeof link === 'number' ? link : link.end;
      const isEmail = typeof link !== 'number' && link.kind === 'email';
      const isDivided = isEmail && endOf(NEXT_EMAIL, this.#text, at) !== undefined;
      start = isDivided ? at + 1 : this.#startFrom(at);
    }
    return links;
  }

  /** Returns the first index, not before `at`, at which a bare link can begin. Infinity if there is none. */
  #startFrom(at: number): number {
    while ((this.#protocols[0] ?? at) < at) this.#protocols.shift();
    if (this.#nextWord < at) {
      LINK_START.lastIndex = at;
      this.#nextWord = LINK_START.exec(this.#text)?.index ?? Number.POSITIVE_INFINITY;
    }
    return Math.min(this.#nextWord, this.#protocols[0] ?? Number.POSITIVE_INFINITY);
  }

  /** Reads the bare link that begins at `start`. If there is none, returns the index at which to continue the search. */
  #linkAt(start: number): BareLink | number {
    const text = this.#text;
    const protocolEnd = endOf(PROTOCOL_START, text, start);
    if (protocolEnd !== undefined) {
      const hostEnd = endOf(HOST, text, protocolEnd);
      if (hostEnd === undefined) return protocolEnd;
      return { start, end: urlEnd(text, hostEndIn(text, protocolEnd, hostEnd)), kind: 'url' };
    }
    if (this.#wordEnd <= start) this.#wordEnd = endOf(WORD, text, start) ?? start + 1;
    const wordEnd = this.#wordEnd;
    const before = BEFORE_OTHER_SCRIPT.exec(text.slice(start, wordEnd));
    if (before !== null) return start + before[0].length;
    // If `@` ends the word, the text can only be an email address, wherever in the word it begins.
    return text[wordEnd] === '@' ? (emailAt(text, start, wordEnd) ?? wordEnd + 1) : domainAt(text, start, wordEnd);
  }
}

function emailAt(text: string, start: number, wordEnd: number): BareLink | undefined {
  const found = endOf(EMAIL_HOST, text, wordEnd + 1);
  if (found === undefined) return undefined;
  const end = hostEndIn(text, wordEnd + 1, found);
  const host = text.slice(wordEnd + 1, end);
  const ending = host.slice(host.lastIndexOf('.') + 1).toLowerCase();
  if (!host.includes('.') || VERSION.test(host) || NO_EMAIL_ENDINGS.has(ending)) return undefined;
  const isEnd = endOf(AFTER, text, end) !== undefined || endOf(NEXT_EMAIL, text, end) !== undefined;
  return isEnd ? { start, end, kind: 'email' } : undefined;
}

/**
 * Reads the domain that begins at `start`. If there is none, returns the index at which to continue: no position before that
 * index begins a domain.
 */
function domainAt(text: string, start: number, wordEnd: number): BareLink | number {
  const hostEnd = hostEndIn(text, start, wordEnd);
  const word = text.slice(start, hostEnd).replace(/\.{1,3}$/, '');
  const topLevel = DOMAIN.exec(word)?.[1]?.toLowerCase();
  if (topLevel === undefined) {
    // A domain can only begin after the last character that domains do not contain.
    const broken = Math.max(word.lastIndexOf('+'), word.lastIndexOf('..'));
    return broken === -1 ? hostEnd : start + broken + 1;
  }
  if (!topLevelDomains().has(topLevel)) return hostEnd;
  const end = start + word.length;
  if (text[end] === '/') return { start, end: urlEnd(text, end), kind: 'domain' };
  return endOf(AFTER, text, end) === undefined ? hostEnd : { start, end, kind: 'domain' };
}

/**
 * Returns the end of a URL whose host ends at `hostEnd`. The URL includes the path, but not the punctuation of the surrounding
 * text. Stars and tildes at the end are emphasis or strikethrough.
 */
function urlEnd(text: string, hostEnd: number): number {
  let end = /[/?#]/.test(text[hostEnd] ?? '') ? pathEnd(text, hostEnd) : hostEnd;
  while (end > 0 && /[!:;?,.'*~|([{—–\u200C\u200D]/.test(text[end - 1] ?? '')) end--;
  return end;
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u');

/**
 * Returns the end of the path of a URL. An ASCII path can end before a letter of a script without spaces that directly follows
 * a letter, a digit or a closing bracket. Such a letter belongs to the surrounding text, for example as a particle. After any
 * other character, such as a slash or an underscore, this letter and all later letters are part of the path.
 */
function pathEnd(text: string, start: number): number {
  const closing: string[] = [];
  let end = start;
  let isAscii = true;
  for (; end < text.length && !endsPath(text, end); end++) {
    const character = text[end] ?? '';
    if (isAscii && character > '\x7F') {
      const point = String.fromCodePoint(text.codePointAt(end) ?? 0);
      if (IS_UNSPACED.test(point) && /[a-z\d)\]}]/i.test(text[end - 1] ?? '')) break;
      isAscii = !IS_UNSPACED.test(point);
    }
    const close = CLOSING[character];
    if (close !== undefined) {
      if (closing.length === MAX_NESTING) break;
      closing.push(close);
    } else if (/[)\]}]/.test(character) && closing.pop() !== character) {
      break;
    }
  }
  return end;
}

/**
 * Matches characters that end a path: quotation marks and brackets around URLs, an ellipsis, punctuation of scripts without
 * spaces, and invisible characters.
 */
const ENDS_PATH = new RegExp(`[\\s<>"“”«»…${HIDDEN}。，、；：！？．～〜（）［］｛｝「」『』【】《》〈〉〔〕｡､｢｣]`);

/** Matches a separator and the beginning of the next URL in a list of URLs. */
const NEXT_LINK = /[,;|]https?:\/\//iy;

/**
 * Returns whether a path ends before the character at the index. It also ends before a placeholder and before the next URL of a
 * list.
 */
function endsPath(text: string, at: number): boolean {
  const isHigh = (code: number) => code >= 0xd800 && code < 0xdc00;
  const code = text.charCodeAt(at);
  if (isHigh(code)) return isHigh(text.charCodeAt(at + 1));
  return ENDS_PATH.test(text[at] ?? '') || endOf(NEXT_LINK, text, at) !== undefined;
}

let known: ReadonlySet<string> | undefined;

function topLevelDomains(): ReadonlySet<string> {
  known ??= new Set(
    (createRequire(import.meta.url)('tlds') as readonly string[]).filter((name) => !FILE_ENDINGS.has(name)),
  );
  return known;
}
