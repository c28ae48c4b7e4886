import { bareLinksIn } from './bare-links.ts';
import { parseBlocks } from './blocks.ts';
import { loadLanguages } from './code.ts';
import { writeDocument } from './document.ts';
import { escapeText } from './escape.ts';
import { loadTex } from './math.ts';
import type { Directory, RenderedMessage, RenderOptions } from './types.ts';
import { OutOfTimeError, watched } from './watch.ts';

/** Error for a text whose rendering fails, or whose HTML is too long. */
export class UnrenderableError extends Error {
  override name = 'UnrenderableError';

  constructor(options?: ErrorOptions) {
    super('Unable to render message', options);
  }
}

/**
 * Maximum length of the HTML of a message, in characters: 100 times the maximum length of its source. A message with longer
 * HTML is refused with UnrenderableError.
 */
const MAX_HTML_LENGTH = 1_000_000;

/**
 * Time limit of rendering, in milliseconds. After it, the text is rendered again without highlighting and formulas, then as
 * plain text. The limit is well below the 5 s after which clients time out, because the process serves no other request while
 * it renders.
 */
const RENDER_MS = 1_000;

/**
 * Maximum length, in characters, of a text without highlighted code that is rendered without a time limit. Such a text takes
 * linear time. Up to this length, rendering takes less time than setting up a limit.
 */
const WATCHED_LENGTH = 2_000;

/** Pattern for text without any character of a construct. Most messages consist of lines with a letter and such text. */
const HARMLESS = String.raw`[\p{L}\p{N} ,;!?'"()/-]*`;
const PLAIN_LINE = String.raw`\p{L}${HARMLESS}(?:[.:](?=[ \n]|$)${HARMLESS})*`;
const PLAIN = new RegExp(`^${PLAIN_LINE}(?:\\n${PLAIN_LINE})*$`, 'u');

/**
 * Renders a message as HTML: block elements joined by newlines.
 *
 * The result depends only on the source, directory and options, with one exception. If rendering takes longer than
 * `milliseconds`, the text is rendered again without highlighting and formulas. If the second rendering also takes longer, the
 * text is rendered as paragraphs of plain text. The limits in code.ts and math.ts prevent the known causes of slow rendering.
 *
 * @param source At most 10,000 code points, the maximum length of a message.
 * @throws UnrenderableError if the HTML is longer than 1,000,000 characters, or the renderer fails.
 */
export function renderMessage(source: string, directory: Directory, options: RenderOptions = {}): RenderedMessage {
  return render(source, directory, options);
}

/**
 * Renders Flavored Markdown that is not a message, such as a description. Mentions and links to channels stay text.
 *
 * @returns Block elements joined by newlines. "" for an empty source.
 * @throws UnrenderableError if the HTML is longer than 1,000,000 characters, or the renderer fails.
 */
export function renderMarkdown(source: string): string {
  return render(source, undefined, {}).html;
}

/** Returns whether the message begins with "/me ". Clients show such a message as an action, after the name of its sender. */
export const isMeMessage = (source: string): boolean => source.startsWith('/me ');

/** Matches a character that every link in the name of a topic contains. */
const IN_LINK = /[.@/]/;

/** A link in the name of a topic. Topic names have no other markup. */
export interface TopicLink {
  readonly text: string;
  readonly url: string;
}

/**
 * Returns the URLs and domains in the name of a topic, in order of position. A domain becomes an https URL.
 *
 * @param topic Name of the topic, at most 60 code points.
 */
export function topicLinks(topic: string): TopicLink[] {
  if (!IN_LINK.test(topic)) return [];
  return bareLinksIn(topic)
    .filter(({ kind }) => kind !== 'email')
    .map(({ start, end, kind }) => ({ text: topic.slice(start, end), kind }))
    .map(({ text, kind }) => ({ text, url: kind === 'domain' ? `https://${text}` : text }));
}

/**
 * Renders a text without any construct, like most messages. The text contains no reference to look up in a directory.
 *
 * @returns The HTML and the properties of the message. Undefined if the text may contain a construct.
 */
export function renderPlain(
  text: string,
  { translateEmoticons = false }: Pick<RenderOptions, 'translateEmoticons'>,
): RenderedMessage | undefined {
  if (translateEmoticons || !PLAIN.test(text)) return undefined;
  // The text has neither empty lines nor characters to escape.
  return { ...NO_PROPERTIES, html: `<p>${text.replaceAll('\n', '<br>\n')}</p>` };
}

function render(source: string, directory: Directory | undefined, options: RenderOptions): RenderedMessage {
  const text = source.toWellFormed().replaceAll('\0', '\uFFFD').replace(/\r\n?/g, '\n');
  const rendered = renderPlain(text, options) ?? renderInTime(text, directory, options);
  if (rendered.html.length > MAX_HTML_LENGTH) throw new UnrenderableError();
  return rendered;
}

function renderInTime(text: string, directory: Directory | undefined, options: RenderOptions): RenderedMessage {
  const attempt = (isPlain: boolean) => writeDocument(parseBlocks(text), { directory, options, isPlain });
  try {
    if (!loadModules(text, options) && text.length <= WATCHED_LENGTH) return attempt(false);
    const milliseconds = options.milliseconds ?? RENDER_MS;
    return tryInTime(milliseconds, () => attempt(false)) ?? tryInTime(milliseconds, () => attempt(true)) ?? plain(text);
  } catch (error) {
    throw new UnrenderableError({ cause: error });
  }
}

function tryInTime(milliseconds: number, attempt: () => RenderedMessage): RenderedMessage | undefined {
  try {
    return watched(milliseconds, attempt);
  } catch (error) {
    if (error instanceof OutOfTimeError) return undefined;
    throw error;
  }
}

/**
 * Loads the modules that render code and formulas. Must not run under a time limit, because a module whose loading is
 * interrupted cannot be used any more.
 *
 * @returns Whether the text may contain highlighted code.
 */
function loadModules(text: string, { defaultCodeLanguage = '' }: RenderOptions): boolean {
  const hasFence = /`{3}|~{3}/.test(text);
  if (text.includes('$$') || (hasFence && /math/i.test(text))) loadTex();
  return hasFence && loadLanguages(text, defaultCodeLanguage);
}

/** Renders the text as paragraphs of plain text, without any construct. */
function plain(text: string): RenderedMessage {
  const paragraphs = text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== '');
  return {
    ...NO_PROPERTIES,
    html: paragraphs.map((paragraph) => `<p>${escapeText(paragraph).replaceAll('\n', '<br>\n')}</p>`).join('\n'),
  };
}

/** Properties of a text without any construct. */
const NO_PROPERTIES = {
  mentionedUserIds: [],
  mentionedGroupIds: [],
  channelWildcard: false,
  topicWildcard: false,
  hasLink: false,
  hasImage: false,
  hasAttachment: false,
  attachmentIds: [],
} satisfies Omit<RenderedMessage, 'html'>;
