import { type Embed, embedsIn, withoutEmbeds } from './embeds.ts';
import { withoutEntities } from './entities.ts';

/** A user, a group, or all members of a channel or topic, mentioned in a text. */
export interface Mention {
  readonly type: 'user' | 'group' | 'channel' | 'topic';
  /** Id of the user or group. Null for a channel or topic. */
  readonly id: number | null;
  /** Whether all mentions of this user, group, channel or topic in the text are silent. */
  readonly isSilent: boolean;
}

/** A link in a text. */
export interface HtmlLink {
  readonly text: string;
  /** Target, as in the HTML: absolute, or relative to the organization's URL. */
  readonly href: string;
}

/** An image that is shown within a text, or whose preview is shown below it. */
export interface HtmlImage {
  /** Address of the image as in the HTML: absolute, or relative to the URL of the organization. */
  readonly href: string;
  /** Text of the link to the image, or alternative text of an image within the text. Null if the link shows only its URL, or the text is empty. */
  readonly title: string | null;
  /** Address of the thumbnail, and size of the whole image in pixels. Null for an image of another website. */
  readonly thumbnail: { readonly href: string; readonly width: number; readonly height: number } | null;
  /**
   * Address from which an image of another website is loaded. Null for an uploaded file, and in HTML in which such images are
   * loaded from the website itself.
   */
  readonly proxied: string | null;
}

/** An uploaded sound or video that is played with a text. */
export interface HtmlPlayer {
  readonly type: 'audio' | 'video';
  /** Address of the file as in the HTML: relative to the URL of the organization. */
  readonly href: string;
  /** Name of the sound. Null for a video. */
  readonly title: string | null;
}

/** Mentions (each once), links, images, players and page previews of a text, each in the order of the text. */
export interface HtmlParts {
  readonly mentions: readonly Mention[];
  readonly links: readonly HtmlLink[];
  readonly images: readonly HtmlImage[];
  readonly players: readonly HtmlPlayer[];
  readonly embeds: readonly Embed[];
}

/** Matches images and players: the preview of an image or video, an image within the text, and the player of a sound. */
const MEDIA =
  /<div class="message_inline_image"><a href="(?<href>[^"]*)"(?: title="(?<title>[^"]*)")?><img(?<preview>(?: [a-z-]+="[^"]*")*)><\/a><\/div>|<div class="message_inline_image message_inline_video"><a href="[^"]*"><video preload="metadata" src="(?<video>[^"]*)"><\/video><\/a><\/div>|<img alt="(?<alt>[^"]*)" class="inline-image"(?<inline>(?: [a-z-]+="[^"]*")*)>|<audio controls preload="metadata" src="(?<audio>[^"]*)" title="(?<name>[^"]*)"><\/audio>/g;

/** Matches the parts of the remaining HTML: the start and end of a link, a mention, an image, another tag, and text. */
const PART =
  /<a (?:[^>"]|"[^"]*")*?href="(?<href>[^"]*)"[^>]*>|(?<end><\/a>)|<span class="(?<mention>(?:user-mention|user-group-mention|topic-mention)[^"]*)"(?: data-user(?:-group)?-id="(?<id>\d+|\*)")?>|<img alt="(?<alt>[^"]*)"[^>]*>|<(?:[^"'>]|"[^"]*"|'[^']*')*>|(?<text>[^<]+)/g;

/** Returns the mentions, links, images, players and page previews in HTML that this renderer wrote. The work is linear in the length of the HTML. */
export function partsOf(html: string): HtmlParts {
  const images: HtmlImage[] = [];
  const players: HtmlPlayer[] = [];
  const embeds = embedsIn(html);
  const rest = embeds.length === 0 ? html : withoutEmbeds(html);
  for (const { groups = {} } of rest.matchAll(MEDIA)) {
    const { href, title, preview, video, alt, inline, audio, name } = groups;
    if (video !== undefined) players.push({ type: 'video', href: withoutEntities(video), title: null });
    else if (audio !== undefined) players.push({ type: 'audio', href: withoutEntities(audio), title: textIn(name) });
    else
      images.push(preview === undefined ? inlineImage(inline ?? '', alt) : previewedImage(preview, href ?? '', title));
  }
  const mentions = new Map<string, Mention>();
  const links: HtmlLink[] = [];
  let link: { href: string; text: string } | undefined;
  for (const { groups = {} } of rest.replace(MEDIA, '').matchAll(PART)) {
    const { href, end, mention, id, alt, text } = groups;
    if (href !== undefined) link = { href: withoutEntities(href), text: '' };
    else if (end !== undefined && link !== undefined) {
      links.push(link);
      link = undefined;
    } else if (link !== undefined) link.text += withoutEntities(text ?? alt ?? '');
    if (mention !== undefined) addMention(mentions, mention.split(' '), id);
  }
  return { mentions: [...mentions.values()], links, images, players, embeds };
}

const textIn = (attribute: string | undefined): string | null =>
  attribute === undefined || attribute === '' ? null : withoutEntities(attribute);

const previewedImage = (attributes: string, href: string, title: string | undefined): HtmlImage => ({
  href: withoutEntities(href),
  title: title === undefined ? null : withoutEntities(title),
  thumbnail: thumbnailIn(attributes),
  proxied: proxiedIn(attributes, href),
});

function inlineImage(attributes: string, alt: string | undefined): HtmlImage {
  const [, source = ''] = / data-original-src="([^"]*)"/.exec(attributes) ?? [];
  return { href: withoutEntities(source), title: textIn(alt), thumbnail: thumbnailIn(attributes), proxied: null };
}

function thumbnailIn(attributes: string): HtmlImage['thumbnail'] {
  const [, width, height] = / data-original-dimensions="(\d+)x(\d+)"/.exec(attributes) ?? [];
  const [, source] = / src="([^"]*)"/.exec(attributes) ?? [];
  if (width === undefined || source === undefined) return null;
  return { href: withoutEntities(source), width: Number(width), height: Number(height) };
}

function proxiedIn(attributes: string, href: string): string | null {
  const [, source] = /^ src="([^"]*)"$/.exec(attributes) ?? [];
  return source === undefined || source === href ? null : withoutEntities(source);
}

function addMention(mentions: Map<string, Mention>, classes: readonly string[], id: string | undefined): void {
  const type = typeOf(classes);
  const isId = type === 'user' || type === 'group';
  const key = isId ? `${type} ${id}` : type;
  const isSilent = classes.includes('silent') && (mentions.get(key)?.isSilent ?? true);
  mentions.set(key, { type, id: isId ? Number(id) : null, isSilent });
}

function typeOf(classes: readonly string[]): Mention['type'] {
  if (classes.includes('topic-mention')) return 'topic';
  if (classes.includes('channel-wildcard-mention')) return 'channel';
  return classes.includes('user-group-mention') ? 'group' : 'user';
}
