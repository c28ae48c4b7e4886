import { parseBlocks } from './blocks.ts';
import { loadLanguages } from './code.ts';
import { writeDocument } from './document.ts';
import { escapeText } from './escape.ts';
import { bareLinksIn } from './links.ts';
import { loadTex } from './math.ts';
import type { Directory, RenderedMessage, RenderOptions } from './types.ts';
import { OutOfTimeError, watched } from './watch.ts';

/** The text cannot be rendered, or is too long as HTML. */
export class UnrenderableError extends Error {
  override name = 'UnrenderableError';

  constructor(options?: ErrorOptions) {
    super('Unable to render message', options);
  }
}

/** The longest HTML of a message: 100 times the longest source. */
const MAX_HTML_LENGTH = 1_000_000;

/** Our choice, well below the 5 s after which clients give a text up: while one text is rendered, nobody else is served. */
const RENDER_MS = 1_000;

/**
 * Rendered under a watch are only long texts, and those with code in some language: the rest is our own and linear in
 * the text, and done before a watch could be set up.
 */
const WATCHED_LENGTH = 2_000;

/** Lines that begin with a letter, and hold nothing that any construct begins with: most of what people write. */
const HARMLESS = String.raw`[\p{L}\p{N} ,;!?'"()/-]*`;
const PLAIN_LINE = String.raw`\p{L}${HARMLESS}(?:[.:](?=[ \n]|$)${HARMLESS})*`;
const PLAIN = new RegExp(`^${PLAIN_LINE}(?:\\n${PLAIN_LINE})*$`, 'u');

/**
 * A message as HTML: blocks joined by newlines.
 *
 * The same text, directory and options always give the same, with one exception: a text that takes longer than
 * `milliseconds` is rendered without highlighting and formulas, and if that takes as long, as paragraphs of plain text.
 * The known ways to spend time are bounded before that, by the sizes in code.ts and math.ts; what is above them is
 * shown plain.
 *
 * @param source A message's length, 10,000 code points, at most.
 * @throws UnrenderableError when the HTML is longer than 1,000,000 characters, or the renderer fails.
 */
export function renderMessage(source: string, directory: Directory, options: RenderOptions = {}): RenderedMessage {
  return render(source, directory, options);
}

/**
 * Flavoured Markdown that is no message, such as a description, as HTML: mentions and links to channels stay text.
 *
 * @returns Block elements joined by newlines; "" for an empty source.
 * @throws UnrenderableError as `renderMessage` does.
 */
export function renderMarkdown(source: string): string {
  return render(source, undefined, {}).html;
}

/** Whether the message tells what its sender does, and is shown behind their name. */
export const isMeMessage = (source: string): boolean => source.startsWith('/me ');

/** A link of a topic, which has no other markup. */
export interface TopicLink {
  readonly text: string;
  readonly url: string;
}

/**
 * The addresses of sites in a topic, in the order of their places.
 *
 * @param topic Of 60 code points at most.
 */
export function topicLinks(topic: string): TopicLink[] {
  return bareLinksIn(topic)
    .filter(({ kind }) => kind !== 'email')
    .map(({ start, end, kind }) => ({ text: topic.slice(start, end), kind }))
    .map(({ text, kind }) => ({ text, url: kind === 'domain' ? `https://${text}` : text }));
}

function render(source: string, directory: Directory | undefined, options: RenderOptions): RenderedMessage {
  const text = source.toWellFormed().replaceAll('\0', '\uFFFD').replace(/\r\n?/g, '\n');
  if (!options.translateEmoticons && PLAIN.test(text)) return plain(text);
  const rendered = renderInTime(text, directory, options);
  if (rendered.html.length > MAX_HTML_LENGTH) throw new UnrenderableError();
  return rendered;
}

function renderInTime(text: string, directory: Directory | undefined, options: RenderOptions): RenderedMessage {
  const attempt = (isPlain: boolean) => writeDocument(parseBlocks(text), { directory, options, isPlain });
  try {
    if (!loadMachines(text, options) && text.length <= WATCHED_LENGTH) return attempt(false);
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
 * Loads what code and formulas are rendered with. Not under the watch: a module whose loading is broken off stays broken.
 *
 * @returns Whether the text may hold code in some language.
 */
function loadMachines(text: string, { defaultCodeLanguage = '' }: RenderOptions): boolean {
  const hasFence = /`{3}|~{3}/.test(text);
  if (text.includes('$$') || (hasFence && /math/i.test(text))) loadTex();
  return hasFence && loadLanguages(text, defaultCodeLanguage);
}

/** Paragraphs of the text as it stands. */
function plain(text: string): RenderedMessage {
  const paragraphs = text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== '');
  return {
    html: paragraphs.map((paragraph) => `<p>${escapeText(paragraph).replaceAll('\n', '<br>\n')}</p>`).join('\n'),
    mentionedUserIds: [],
    mentionedGroupIds: [],
    channelWildcard: false,
    topicWildcard: false,
    hasLink: false,
    hasImage: false,
    hasAttachment: false,
  };
}
