import { createRequire } from 'node:module';
import { entities, withoutEntities } from './entities.ts';
import { escapeAttribute, escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';

/** Where a link may lead. */
const SCHEMES: ReadonlySet<string> = new Set(
  (
    'http https ftp file bitcoin geo im irc ircs magnet mailto matrix mms news nntp openpgp4fpr sip sms smsto ssh tel ' +
    'urn webcal wtai xmpp'
  ).split(' '),
);

/** A link of the text that leads to an image on the web. */
const IMAGE_URL = /^https?:\/\/[^/?#]+\/[^?#]*\.(?:bmp|gif|jpe|jpeg|jpg|png|webp)(?:[?#]|$)/i;

/** Top-level domains that file names end in more often. */
const FILE_ENDINGS: ReadonlySet<string> = new Set(['java', 'md', 'mov', 'py', 'zip']);

/** How deep parentheses nest in a bare address. */
const MAX_PARENTHESES = 6;

/** A bare address in a text. */
export interface BareLink {
  readonly start: number;
  readonly end: number;
  readonly kind: 'url' | 'domain' | 'email';
}

/** `[text](url "title")`. */
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

/** For the place of each opening mark that is closed, the place of the mark that closes it. */
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
  const isBlank = label.trim() === '';
  const shown = isBlank ? escapeText(plain) : inline.html(entities(inline, label));
  const written = isBlank ? plain : inline.source(label);
  found(inline, href, { title: written === plain ? undefined : written, bare: undefined });
  return `<a href="${escapeAttribute(href)}"${title}>${shown}</a>`;
}

/**
 * Where a link of the text leads: to a scheme that is allowed, to a place of the organisation, or to a site.
 *
 * @returns undefined for any other scheme, and for what is no address.
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

/** Links to the organisation itself work wherever its clients find it. */
function withinRealm(url: string, realmUrl: string): string {
  const isOwn = url.startsWith(`${realmUrl}/#`) || url.startsWith(`${realmUrl}/user_uploads/`);
  return isOwn ? url.slice(realmUrl.length + 1) : url;
}

/** Notes that there is a link, and the image that it leads to, if it is to be shown. */
function found(inline: Inline, url: string, { title, bare }: { title: string | undefined; bare: string | undefined }) {
  inline.rendering.hasLink = true;
  if (IMAGE_URL.test(url) && inline.rendering.claimPreview(url)) inline.previews.push({ url, title, bare });
}

/** Addresses of sites and people as they stand. */
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

/** At the start of the text, or after white space or one of these marks. */
const LINK_START = /(?<![^\s'"(,:<])[\p{L}\p{N}_]/gu;
const PROTOCOL = /https?:\/\//iy;
const HOST = /[\p{L}\p{N}_][\p{L}\p{N}_.:@-]*/uy;
const WORD = /[\p{L}\p{N}_.+-]+/uy;
const EMAIL_HOST = /@[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+/uy;
const DOMAIN = /^(?:[\p{L}\p{N}_-]+\.)+([\p{L}\p{N}-]+)$/u;
/** What may follow a domain or an e-mail address, and is no part of it. */
const AFTER = /[!:;?),.'">]*(?=\s|[\uD800-\uDBFF]{2}|$)/y;

/** Where an address that begins at `start` with what the pattern finds would go on. */
function endOf(pattern: RegExp, text: string, start: number): number | undefined {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** What every address holds: a dot or an at-sign within a word, or a protocol's slashes. */
const IN_ADDRESS = /[.@][^\s.,;:!?'")]|:\/\//;

/** The bare addresses in a text, in the order of their places. */
export function bareLinksIn(text: string): BareLink[] {
  if (!IN_ADDRESS.test(text)) return [];
  const links: BareLink[] = [];
  for (const { 0: chunk, index } of text.matchAll(/\S+/g)) {
    if (IN_ADDRESS.test(chunk)) links.push(...bareLinksBetween(text, index, index + chunk.length));
  }
  return links;
}

function bareLinksBetween(text: string, from: number, to: number): BareLink[] {
  const links: BareLink[] = [];
  LINK_START.lastIndex = from;
  for (let match = LINK_START.exec(text); match !== null && match.index < to; match = LINK_START.exec(text)) {
    const link = bareLinkAt(text, match.index);
    if (link === undefined) continue;
    links.push(link);
    LINK_START.lastIndex = link.end;
  }
  return links;
}

function bareLinkAt(text: string, start: number): BareLink | undefined {
  const protocolEnd = endOf(PROTOCOL, text, start);
  if (protocolEnd !== undefined) {
    const hostEnd = endOf(HOST, text, protocolEnd);
    return hostEnd === undefined ? undefined : { start, end: urlEnd(text, hostEnd), kind: 'url' };
  }
  const wordEnd = endOf(WORD, text, start) ?? start;
  if (text[wordEnd] === '@') {
    const end = endOf(EMAIL_HOST, text, wordEnd);
    return end !== undefined && endOf(AFTER, text, end) !== undefined ? { start, end, kind: 'email' } : undefined;
  }
  return domainAt(text, start, wordEnd);
}

function domainAt(text: string, start: number, wordEnd: number): BareLink | undefined {
  const word = text.slice(start, wordEnd).replace(/\.{1,3}$/, '');
  const topLevel = DOMAIN.exec(word)?.[1]?.toLowerCase();
  if (topLevel === undefined || !topLevelDomains().has(topLevel)) return undefined;
  const end = start + word.length;
  if (text[end] === '/') return { start, end: urlEnd(text, end), kind: 'domain' };
  return endOf(AFTER, text, end) === undefined ? undefined : { start, end, kind: 'domain' };
}

/**
 * The end of an address whose host ends at `hostEnd`: with its path, but without what belongs to the text around it.
 * Stars and tildes at the end are taken for marks of emphasis (our choice).
 */
function urlEnd(text: string, hostEnd: number): number {
  let end = /[/?#]/.test(text[hostEnd] ?? '') ? pathEnd(text, hostEnd) : hostEnd;
  while (end > 0 && /[!:;?,.'*~]/.test(text[end - 1] ?? '')) end--;
  return end;
}

function pathEnd(text: string, start: number): number {
  const opened: number[] = [];
  let end = start;
  for (; end < text.length && !endsPath(text, end); end++) {
    if (text[end] === '(') {
      if (opened.length === MAX_PARENTHESES) break;
      opened.push(end);
    } else if (text[end] === ')' && opened.pop() === undefined) {
      break;
    }
  }
  return opened[0] ?? end;
}

/** At white space, at a mark that quotes addresses, or at a place-holder. */
function endsPath(text: string, at: number): boolean {
  const isHigh = (code: number) => code >= 0xd800 && code < 0xdc00;
  const code = text.charCodeAt(at);
  return isHigh(code) ? isHigh(text.charCodeAt(at + 1)) : /[\s<>"]/.test(text[at] ?? '');
}

let known: ReadonlySet<string> | undefined;

function topLevelDomains(): ReadonlySet<string> {
  known ??= new Set(
    (createRequire(import.meta.url)('tlds') as readonly string[]).filter((name) => !FILE_ENDINGS.has(name)),
  );
  return known;
}
