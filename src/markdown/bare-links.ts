import { createRequire } from 'node:module';
import { EMOJI_END, EMPHASIS, UNSPACED } from './boundaries.ts';

/** Top-level domains that are more often used as file extensions. A bare domain that ends with one of them is not linked. */
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

/** Maximum depth of nested brackets in a bare link. A link ends before a bracket that would be nested deeper. */
const MAX_NESTING = 6;

/** Position and kind of a bare link: a URL, domain or email address in a text that is linked without any syntax. */
export interface BareLink {
  readonly start: number;
  readonly end: number;
  readonly kind: 'url' | 'domain' | 'email';
}

/** Characters after which a bare link can begin. A bare link can also begin at the start of the text. */
const BEFORE_LINK = `\\s'"“‘„«”»‹›(,:<\\[{|;،؛—–…•¡¿${EMPHASIS}${UNSPACED}${EMOJI_END}`;
/**
 * Characters of a domain label, for a character class. Marks are vowels in some scripts, and diacritics of decomposed letters.
 */
const LABEL = '\\p{L}\\p{Mn}\\p{Mc}\\p{N}_-';
/**
 * Matches the first character of a bare link. A bare link does not begin after an apostrophe within a word:
 * "o'brien@example.com" is one address. Without this rule, a word with many apostrophes would be searched again from each of
 * them.
 */
const LINK_START = new RegExp(`(?<![^${BEFORE_LINK}]|[.+${LABEL}]')[\\p{L}\\p{N}_]`, 'gu');
/**
 * Matches a protocol at which a URL begins. As a protocol is unambiguous, it can also follow a construct, a closing bracket, an
 * arrow or a symbol.
 */
const PROTOCOL_START = new RegExp(`(?<![^${BEFORE_LINK})\\]}>\\uD800-\\uDBFF\\p{So}\\u2190-\\u21FF])https?://`, 'iuy');
const WEB_SCHEME = /https?$/i;
const HOST = new RegExp(`[\\p{L}\\p{N}_][.:@${LABEL}]*`, 'uy');
/** Matches a word that can be a domain or the part of an email address before `@`, up to an apostrophe. */
const WORD = new RegExp(`[.+${LABEL}]+`, 'uy');
/** Matches the rest of the part of an email address before `@`, from an apostrophe on. */
const AFTER_APOSTROPHE = new RegExp(`(?:'[.+${LABEL}]+)+`, 'uy');
const EMAIL_HOST = new RegExp(`[${LABEL}]+(?:\\.[${LABEL}]+)+`, 'uy');
const DOMAIN = new RegExp(`^(?:[${LABEL}]+\\.)+([${LABEL}]+)$`, 'u');
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
  `[\\p{Terminal_Punctuation}\\p{Quotation_Mark})>\\]}${EMPHASIS}]*` +
    `(?=[\\s“”«»‹›—–…${HIDDEN}${UNSPACED}${EMOJI_END}]|[\\uD800-\\uDBFF]{2}|$)|(?=[,;|،؛])`,
  'uy',
);
/**
 * Matches the beginning of a word, up to the last character of a script without spaces that is directly before a character of
 * another script.
 */
const BEFORE_OTHER_SCRIPT = new RegExp(`^[^.@]*[${UNSPACED}](?=[^.@${UNSPACED}])`, 'u');
const IS_ASCII = /^\p{ASCII}*$/u;
const BEFORE_UNSPACED = new RegExp(`[^.:@${UNSPACED}](?=[${UNSPACED}])`, 'u');
/**
 * Matches a text after an `@` that is not a domain, so that the whole text is not an email address. Examples are a package
 * version ("2.6.11", "next.rc1") and an image size ("2x.png"). A top-level domain has only letters, except in Punycode.
 */
const VERSION = /^(?:v?\d+(?:\.\d+)+|\d+x\.)|\.(?:[^.]|(?!xn--)[\p{L}\p{M}]*[^\p{L}\p{M}.][^.]*)$/iu;

/** Matches a slash and the beginning of the next email address, in a list of addresses that are separated by slashes. */
const NEXT_EMAIL = /\/[\p{L}\p{N}_][\p{L}\p{N}_.+-]*@/uy;

/** Returns the index after the match of a sticky pattern at `start`. Undefined if the pattern does not match there. */
function endOf(pattern: RegExp, text: string, start: number): number | undefined {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/**
 * Returns the index after the host that begins at `start`. A pattern has matched the characters up to `end`, but the host can
 * be shorter: it ends before text of a script without spaces that directly follows other text.
 */
function hostEndIn(text: string, start: number, end: number): number {
  const host = text.slice(start, end);
  if (IS_ASCII.test(host)) return end;
  const other = BEFORE_UNSPACED.exec(host);
  return other === null ? end : start + other.index + other[0].length;
}

/** Matches a part of every bare link: a `.` or `@` within a word, or the `://` of a protocol. */
const IN_ADDRESS = /[.@][^\s.,;:!?'")]|:\/\//g;
const SPACE = /\s/g;
const IS_SPACE = /\s/;

/** Returns the index of the first match of a global pattern at or after `from`. -1 if there is none. */
function indexFrom(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? -1;
}

/** Finds the bare links in a text, in order of position. */
export function bareLinksIn(text: string): BareLink[] {
  const links: BareLink[] = [];
  let scan: LinkScan | undefined;
  let to = 0;
  for (let part = indexFrom(IN_ADDRESS, text, 0); part !== -1; part = indexFrom(IN_ADDRESS, text, to)) {
    // The range to search is the text between the spaces around the part.
    let from = part;
    while (from > to && !IS_SPACE.test(text[from - 1] ?? '')) from--;
    const space = indexFrom(SPACE, text, part);
    to = space === -1 ? text.length : space;
    scan ??= new LinkScan(text);
    links.push(...scan.linksBetween(from, to));
  }
  return links;
}

/** Returns the indexes of all protocols at which a URL can begin, ascending. */
function protocolsIn(text: string): number[] {
  const places: number[] = [];
  for (let colon = text.indexOf('://'); colon !== -1; colon = text.indexOf('://', colon + 3)) {
    const scheme = WEB_SCHEME.exec(text.slice(Math.max(0, colon - 5), colon));
    const place = scheme === null ? -1 : colon - scheme[0].length;
    if (place >= 0 && endOf(PROTOCOL_START, text, place) !== undefined) places.push(place);
  }
  return places;
}

/**
 * Searches a text for bare links (URLs, domains and email addresses without link syntax) from left to right. In a script
 * without spaces, a link can begin at every character of a word. The end of a word is computed only once for all of these
 * positions, so the work is linear in the text.
 */
class LinkScan {
  readonly #text: string;
  readonly #protocols: number[];
  /** Index at which `LINK_START` matched last: its first match at or after the current position of the search. */
  #nextWord = -1;
  /** Index after the word that was read last. */
  #wordEnd = -1;
  /** Index after the words with apostrophes that were read last and are not followed by an `@`. */
  #noAddressBefore = -1;

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

  /**
   * Returns the index after the word that begins at `start`. An apostrophe ends the word, unless the word continues to an `@`:
   * the first part of an email address can contain apostrophes.
   */
  #wordEndFrom(start: number): number {
    const text = this.#text;
    const end = endOf(WORD, text, start) ?? start + 1;
    if (text[end] !== "'" || end < this.#noAddressBefore) return end;
    const addressEnd = endOf(AFTER_APOSTROPHE, text, end) ?? end;
    if (text[addressEnd] === '@') return addressEnd;
    this.#noAddressBefore = addressEnd;
    return end;
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
    if (this.#wordEnd <= start) this.#wordEnd = this.#wordEndFrom(start);
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

/** Matches characters with which a URL does not end. They belong to the surrounding text. */
const NOT_AT_END = /[\p{Terminal_Punctuation}\p{Quotation_Mark}*~|([{—–\u200C\u200D]/u;

/**
 * Returns the index after a URL whose host ends at `hostEnd`. The URL includes the path, but not the punctuation of the
 * surrounding text. Asterisks and tildes at the end are emphasis or strikethrough.
 */
function urlEnd(text: string, hostEnd: number): number {
  let end = /[/?#]/.test(text[hostEnd] ?? '') ? pathEnd(text, hostEnd) : hostEnd;
  while (end > 0 && NOT_AT_END.test(text[end - 1] ?? '')) end--;
  return end;
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Matches a letter of a script without spaces, or an emoji, possibly after marks of emphasis. */
const IS_UNSPACED = new RegExp(`^[${EMPHASIS}]*[${UNSPACED}\\p{Extended_Pictographic}\\p{Regional_Indicator}]`, 'u');

/**
 * Returns the index after the path of a URL. An ASCII path can end before an emoji or a letter of a script without spaces that
 * directly follows a letter, a digit, a closing bracket, or marks of emphasis after one of these. Such a letter belongs to the
 * surrounding text, for example as a particle. After any other character, such as a slash or an underscore, this letter and all
 * later letters are part of the path.
 */
function pathEnd(text: string, start: number): number {
  const closing: string[] = [];
  let end = start;
  let isAscii = true;
  for (; end < text.length && !endsPath(text, end); end++) {
    const character = text[end] ?? '';
    if (isAscii && (character > '\x7F' || EMPHASIS.includes(character))) {
      const isUnspaced = IS_UNSPACED.test(text.slice(end, end + 5));
      if (isUnspaced && /[a-z\d)\]}]/i.test(text[end - 1] ?? '')) break;
      isAscii = character <= '\x7F' || !isUnspaced;
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
const NEXT_LINK = /[,;|،؛]https?:\/\//iy;

/** Returns whether a character is an ASCII letter, a digit, "-", "." or "/". Such a character never ends a path. */
const isPathCode = (code: number) =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x2d && code <= 0x39) || (code >= 0x41 && code <= 0x5a);

/**
 * Returns whether the path of a URL ends before the character at the index `at`. A path ends before a character that matches
 * `ENDS_PATH`, before a placeholder, and before the next URL of a list.
 */
function endsPath(text: string, at: number): boolean {
  const isHigh = (code: number) => code >= 0xd800 && code < 0xdc00;
  const code = text.charCodeAt(at);
  if (isHigh(code)) return isHigh(text.charCodeAt(at + 1));
  if (isPathCode(code)) return false;
  return ENDS_PATH.test(text[at] ?? '') || endOf(NEXT_LINK, text, at) !== undefined;
}

let known: ReadonlySet<string> | undefined;

function topLevelDomains(): ReadonlySet<string> {
  known ??= new Set(
    (createRequire(import.meta.url)('tlds') as readonly string[]).filter((name) => !FILE_ENDINGS.has(name)),
  );
  return known;
}
