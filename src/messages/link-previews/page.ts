import { Tokenizer } from 'htmlparser2';

/** Title, description and image of a web page, from its metadata. */
export interface PageData {
  /** At most 200 characters. Null if the page has none. */
  readonly title: string | null;
  /** At most 500 characters. Null if the page has none. */
  readonly description: string | null;
  /** Absolute URL of an image, with http or https. Null if the page has none. */
  readonly imageUrl: string | null;
}

const MAX_TITLE = 200;
const MAX_DESCRIPTION = 500;
const MAX_IMAGE_URL = 2_048;
/** Maximum number of characters of a content type that are read. */
const MAX_CONTENT_TYPE = 200;
/** Number of bytes at the start of a page in which its encoding is declared. */
const PRESCANNED_BYTES = 1_024;

/** Names of the `meta` elements that are read, the preferred ones first. */
const TITLES = ['og:title', 'twitter:title'] as const;
const DESCRIPTIONS = ['og:description', 'twitter:description', 'description'] as const;
const IMAGES = ['og:image:secure_url', 'og:image:url', 'og:image', 'twitter:image', 'twitter:image:src'] as const;
const NAMES: ReadonlySet<string> = new Set([...TITLES, ...DESCRIPTIONS, ...IMAGES]);

/** Returns whether a content type is that of a web page. */
export const isPage = (contentType: string): boolean =>
  /^(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(contentType);

/**
 * Returns the title, the description and the image of a web page: from the tags of Open Graph, else from those of cards, else
 * from the elements of HTML.
 *
 * @param page The page, or its beginning.
 */
export function readPage({ url, contentType, body }: { url: string; contentType: string; body: Buffer }): PageData {
  const { meta, title, base } = metadataIn(decoded(body, contentType.slice(0, MAX_CONTENT_TYPE)));
  const first = (keys: readonly string[]) => keys.map((key) => meta.get(key)).find((value) => value !== undefined);
  const image = first(IMAGES);
  const baseUrl = base === undefined ? url : (URL.parse(base, url)?.href ?? url);
  return {
    title: shown(first(TITLES) ?? title, MAX_TITLE),
    description: shown(first(DESCRIPTIONS), MAX_DESCRIPTION),
    imageUrl: image === undefined ? null : imageUrl(image, baseUrl),
  };
}

/** The metadata of a page as the page contains it. */
interface Metadata {
  /** Contents of `meta` elements by their names. */
  readonly meta: ReadonlyMap<string, string>;
  /** Text of the first `title` element that has a text and is not part of an SVG image. */
  readonly title: string | undefined;
  /** URL of the first `base` element that has one. */
  readonly base: string | undefined;
}

/**
 * Reads the metadata of a page. Takes linear time for any content. A parser that matches start tags with end tags would take
 * quadratic time for unclosed elements.
 */
function metadataIn(html: string): Metadata {
  const meta = new Map<string, string>();
  let title: string | undefined;
  let base: string | undefined;
  let isTitle = false;
  /** Number of open SVG images. Titles within them are not that of the page. */
  let images = 0;
  let tag = '';
  let attribute = '';
  let value = '';
  const attributes = new Map<string, string>();

  const addMeta = () => {
    const key = (attributes.get('property') ?? attributes.get('name') ?? '').trim().toLowerCase();
    const content = attributes.get('content') ?? '';
    if (NAMES.has(key) && !meta.has(key) && content.trim() !== '') meta.set(key, content);
  };
  const open = (isClosed: boolean) => {
    if (tag === 'meta') addMeta();
    else if (tag === 'base') base ??= attributes.get('href');
    else if (tag === 'svg' && !isClosed) images++;
    else if (tag === 'title' && images === 0) isTitle = title === undefined;
  };
  const addText = (text: string) => {
    const known = title ?? '';
    if (isTitle) title = known + text.slice(0, Math.max(0, 10 * MAX_TITLE - known.length));
  };
  const ignored = () => undefined;
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase();
        attributes.clear();
      },
      onattribname(start, end) {
        attribute = html.slice(start, end).toLowerCase();
        value = '';
      },
      onattribdata(start, end) {
        value += html.slice(start, end);
      },
      onattribentity(codePoint) {
        value += String.fromCodePoint(codePoint);
      },
      onattribend() {
        if (!attributes.has(attribute)) attributes.set(attribute, value);
      },
      onopentagend: () => open(false),
      onselfclosingtag: () => open(true),
      onclosetag(start, end) {
        const name = html.slice(start, end).toLowerCase();
        if (name === 'title') isTitle = false;
        else if (name === 'svg') images = Math.max(0, images - 1);
      },
      ontext: (start, end) => addText(html.slice(start, end)),
      ontextentity: (codePoint) => addText(String.fromCodePoint(codePoint)),
      isInForeignContext: () => images > 0,
      ...{
        oncdata: ignored,
        oncomment: ignored,
        ondeclaration: ignored,
        onprocessinginstruction: ignored,
        onend: ignored,
      },
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return { meta, title, base };
}

/** Matches invisible characters, with which a page could reorder or hide text of the message. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u061C\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF]/gu;

/** Returns a text on one line, cut to a number of code points. Null if nothing is left. */
function shown(text: string | undefined, max: number): string | null {
  const line = (text ?? '')
    .slice(0, 20 * max)
    .replace(/\s+/g, ' ')
    .replace(INVISIBLE, '')
    .trim();
  const points = [...line];
  if (points.length === 0) return null;
  return points.length <= max
    ? line
    : `${points
        .slice(0, max - 1)
        .join('')
        .trimEnd()}…`;
}

function imageUrl(text: string, base: string): string | null {
  const url = URL.parse(text.trim(), base);
  return url !== null && /^https?:$/.test(url.protocol) && url.href.length <= MAX_IMAGE_URL ? url.href : null;
}

/** Decodes a page: by its byte order mark, the content type, or the encoding that the page declares. Default: UTF-8. */
function decoded(body: Buffer, contentType: string): string {
  const start = body.subarray(0, PRESCANNED_BYTES).toString('latin1');
  const [, declared] = /charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(contentType) ?? [];
  const [, inPage] = /<meta[^>]*\bcharset\s*=\s*["']?\s*([\w.:-]+)/i.exec(start) ?? [];
  const mark = start.startsWith('\xef\xbb\xbf')
    ? 'utf-8'
    : start.startsWith('\xfe\xff')
      ? 'utf-16be'
      : start.startsWith('\xff\xfe')
        ? 'utf-16le'
        : undefined;
  const encoding = mark ?? declared ?? inPage ?? 'utf-8';
  try {
    return new TextDecoder(encoding).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}
