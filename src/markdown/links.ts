import { bareLinksIn } from './bare-links.ts';
import { entities, withoutEntities } from './entities.ts';
import { escapeAttribute, escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';
import { kindOf, mediaHtml } from './media.ts';
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

/** Maximum length of the URL of an image that is shown, in characters. Longer URLs stay links. */
const MAX_IMAGE_URL = 2_048;

/**
 * Replaces links of the form `[text](url "title")` in a text by placeholders of their HTML. After `!`, a link to an uploaded image
 * or sound becomes that image or a player.
 */
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
    const target = targetIn(inline, text.slice(labelEnd + 2, close));
    if (target === undefined || inline.holdsLink(label)) continue;
    const media = text[start - 1] === '!' && start > end ? mediaIn(inline, label, target) : undefined;
    const from = media === undefined ? start : start - 1;
    result += text.slice(end, from);
    result += inline.keep(text.slice(from, close + 1), media ?? linkHtml(inline, label, target), true);
    end = close + 1;
  }
  return result + text.slice(end);
}

/**
 * Finds pairs of brackets in a text. Returns the index of the closing bracket of each pair, by the index of its opening
 * bracket.
 */
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

/** Target of a link of the form `[text](url "title")`. */
interface Target {
  /** URL as written. */
  readonly written: string;
  readonly href: string;
  readonly title: string | undefined;
}

/** Reads the part of a link between the parentheses. Undefined if it is no URL, or a URL that is not allowed. */
function targetIn(inline: Inline, source: string): Target | undefined {
  const [, bracketed, plain = bracketed, double, single = double] =
    /^\s*(?:<([^<>\n]*)>|([^\s<]\S*))(?:\s+(?:"([\s\S]*)"|'([\s\S]*)'))?\s*$/.exec(source) ?? [];
  if (plain === undefined || inline.source(plain) !== plain) return undefined;
  const href = hrefOf(inline, plain);
  const title = single === undefined ? undefined : withoutEntities(inline.source(single));
  return href === undefined ? undefined : { written: plain, href, title };
}

function linkHtml(inline: Inline, label: string, { written: plain, href, title }: Target): string {
  const titled = title === undefined ? '' : ` title="${escapeAttribute(title)}"`;
  const html = inline.html(entities(inline, label));
  const isBlank = showsNothing(html);
  const shown = isBlank ? escapeText(plain) : html;
  const written = isBlank ? plain : inline.source(label);
  recordLink(inline, href, { title: written === plain ? undefined : written, bare: undefined });
  return `<a href="${escapeAttribute(href)}"${titled}>${shown}</a>`;
}

/**
 * Returns the HTML of an uploaded image or sound within the text: in a quote, a link. Undefined for other targets, and if the label
 * contains a construct, such as a mention: the HTML could not show it.
 */
function mediaIn(inline: Inline, label: string, target: Target): string | undefined {
  const { rendering } = inline;
  const upload = rendering.directory?.upload?.(target.href);
  if (upload === undefined || inline.source(label) !== label) return undefined;
  const html = mediaHtml(upload, withoutEntities(label).replace(/\s+/g, ' ').trim());
  if (html === undefined) return undefined;
  if (rendering.isQuote) return linkHtml(inline, label, target);
  rendering.attachmentIds.add(upload.id);
  if (upload.image !== null) rendering.hasInlineImage = true;
  return html;
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
  return directory === undefined ? url : withinOrganization(url, directory.organizationUrl);
}

/**
 * Makes a link to a fragment (`#…`) or an uploaded file of the organization relative. Such a link works at each host name of
 * the organization. Returns any other URL unchanged.
 */
function withinOrganization(url: string, organizationUrl: string): string {
  const isOwn = url.startsWith(`${organizationUrl}/#`) || url.startsWith(`${organizationUrl}/user_uploads/`);
  return isOwn ? url.slice(organizationUrl.length + 1) : url;
}

/**
 * Records that the text has a link. If the URL is that of an image or of an uploaded video, and its preview is shown, also records
 * the preview.
 */
function recordLink(
  inline: Inline,
  url: string,
  { title, bare }: { title: string | undefined; bare: string | undefined },
) {
  const { rendering } = inline;
  rendering.hasLink = true;
  const upload = rendering.directory?.upload?.(url);
  if (upload !== undefined) rendering.attachmentIds.add(upload.id);
  const kind = upload === undefined ? externalKindOf(url) : kindOf(upload);
  if (kind !== undefined && rendering.claimPreview(url, kind)) inline.previews.push({ url, title, bare, upload });
}

const externalKindOf = (url: string) =>
  url.length <= MAX_IMAGE_URL && IMAGE_URL.test(url) ? 'external image' : undefined;

/** Replaces bare website and email addresses in a text by placeholders of links. */
export function bareLinks(inline: Inline, text: string): string {
  let [result, end] = ['', 0];
  for (const link of bareLinksIn(text)) {
    const written = text.slice(link.start, link.end);
    const href = hrefOf(inline, link.kind === 'email' ? `mailto:${written}` : written);
    if (href === undefined) continue;
    const placeholder = inline.keep(written, `<a href="${escapeAttribute(href)}">${escapeText(written)}</a>`, true);
    recordLink(inline, href, { title: undefined, bare: placeholder });
    result += text.slice(end, link.start) + placeholder;
    end = link.end;
  }
  return result + text.slice(end);
}
