import { Parser } from 'htmlparser2';
import { withoutEntities } from './entities.ts';
import { escapeAttribute, escapeText } from './escape.ts';

/** Maximum number of web pages of which a text shows previews. If it links more, none is shown. */
const MAX_EMBEDS = 24;
/** Maximum length of the URL of a page, in characters. Longer URLs have no preview. */
const MAX_URL = 2_048;

/** A preview of a web page to which a text links. */
export interface Embed {
  readonly url: string;
  readonly title: string;
  /** "" if the page has none. */
  readonly description: string;
  /** Address from which clients load an image of the page. Null if it has none. */
  readonly image: string | null;
}

const EMBED =
  /\n?<div class="message_embed">(?:<a class="message_embed_image" href="[^"]*" style="background-image: url\(&quot;(?<image>[^"]*?)&quot;\)"><\/a>)?<div class="data-container"><div class="message_embed_title"><a href="(?<url>[^"]*)" title="(?<title>[^"]*)">[^<]*<\/a><\/div><div class="message_embed_description">(?<description>[^<]*)<\/div><\/div><\/div>/g;
const MARK = '<div class="message_embed">';

/** Returns the previews of pages in the HTML of a message. */
export function embedsIn(html: string): Embed[] {
  if (!html.includes(MARK)) return [];
  return [...html.matchAll(EMBED)].map(({ groups }) => {
    const { url = '', title = '', description = '', image }: Partial<Record<string, string>> = groups ?? {};
    return {
      url: withoutEntities(url),
      title: withoutEntities(title),
      description: withoutEntities(description),
      image: image === undefined ? null : withoutEntities(image),
    };
  });
}

/** Returns the HTML of a message without previews of pages, as it was rendered. */
export const withoutEmbeds = (html: string): string => (html.includes(MARK) ? html.replace(EMBED, '') : html);

function htmlOf({ url, title, description, image }: Embed): string {
  const href = escapeAttribute(url);
  // The address is percent-encoded: without a backslash, it cannot end the string of the style.
  const source = escapeAttribute((image ?? '').replaceAll('\\', '%5C'));
  const picture =
    image === null
      ? ''
      : `<a class="message_embed_image" href="${href}" style="background-image: url(&quot;${source}&quot;)"></a>`;
  return (
    `${MARK}${picture}<div class="data-container">` +
    `<div class="message_embed_title"><a href="${href}" title="${escapeAttribute(title)}">${escapeText(title)}</a></div>` +
    `<div class="message_embed_description">${escapeText(description)}</div></div></div>`
  );
}

/** A link to a web page of which a preview can be shown. */
export interface EmbedPlace {
  readonly url: string;
  /** Index in the HTML at which the preview is inserted: after the block with the link. */
  readonly at: number;
}

/** Tags of the blocks behind which previews are inserted. */
const BLOCKS: ReadonlySet<string> = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table']);

/**
 * Returns the links in the HTML of a message of which previews can be shown: those to websites, outside of quotes, each URL once.
 * Links to images and videos that are shown have no other preview. Empty if there are more than 24.
 *
 * @param html Without previews of pages.
 */
export function embedPlaces(html: string): EmbedPlace[] {
  if (!html.includes('<a href="http')) return [];
  const found = new Map<string, number>();
  const shown = new Set<string>();
  let pending: string[] = [];
  let quotes = 0;
  let isImage = false;
  const place = (at: number) => {
    for (const url of pending) if (!found.has(url)) found.set(url, at);
    pending = [];
  };
  const parser = new Parser({
    onopentag(name, { href, class: classes }) {
      // The text of a tight item ends where a nested list begins.
      if (name === 'ul' || name === 'ol') place(parser.startIndex);
      if (name === 'blockquote') quotes++;
      else if (name === 'div' && classes?.startsWith('message_inline_image')) isImage = true;
      else if (name === 'a' && href !== undefined && classes === undefined && quotes === 0) {
        if (isImage) shown.add(href);
        else if (/^https?:\/\//i.test(href) && href.length <= MAX_URL) pending.push(href);
      }
    },
    onclosetag(name) {
      if (name === 'blockquote') quotes--;
      else if (name === 'div') isImage = false;
      else if (BLOCKS.has(name)) place(parser.endIndex + 1);
      // A tight item has its text without a paragraph.
      else if (name === 'li') place(parser.startIndex);
    },
  });
  parser.end(html);
  place(html.length);
  for (const url of shown) found.delete(url);
  return found.size > MAX_EMBEDS ? [] : [...found].map(([url, at]) => ({ url, at }));
}

/**
 * Returns the HTML of a message with previews of pages.
 *
 * @param html Without previews of pages.
 * @param embeds Previews by the URLs of `embedPlaces`.
 */
export function withEmbeds(html: string, places: readonly EmbedPlace[], embeds: ReadonlyMap<string, Embed>): string {
  let [result, end] = ['', 0];
  for (const { url, at } of places) {
    const embed = embeds.get(url);
    if (embed === undefined) continue;
    result += `${html.slice(end, at)}\n${htmlOf(embed)}`;
    end = at;
  }
  return result + html.slice(end);
}
