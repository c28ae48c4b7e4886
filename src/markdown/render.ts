import { parseBlocks } from './blocks.ts';
import { loadLanguages } from './code.ts';
import { writeDocument } from './document.ts';
import { escapeText } from './escape.ts';
import { bareLinksIn } from './links.ts';
import { loadTex } from './math.ts';
import type { Directory, RenderedMessage, RenderOptions } from './types.ts';
import { OutOfTimeError, watched } from './watch.ts';

/** Error for a text that cannot be rendered, or whose HTML is too long. */
export class UnrenderableError extends Error {
  override name = 'UnrenderableError';

  constructor(options?: ErrorOptions) {
    super('Unable to render message', options);
  }
}

/** Length of the longest HTML of a message, in characters: 100 times the longest source. */
const MAX_HTML_LENGTH = 1_000_000;

/**
 * Time limit of a rendering, in milliseconds. Well below the 5 s after which clients time out, because the process serves
 * no other request meanwhile.
 */
const RENDER_MS = 1_000;

/**
 * Length of the longest text that is rendered without a time limit, if it has no highlighted code. Rendering such a text is
 * linear and takes less time than the setup of a limit.
 */
const WATCHED_LENGTH = 2_000;

/** Matches lines that begin with a letter and contain no mark of any construct. Most messages consist of such lines. */
const HARMLESS = String.raw`[\p{L}\p{N} ,;!?'"()/-]*`;
const PLAIN_LINE = String.raw`\p{L}${HARMLESS}(?:[.:](?=[ \n]|$)${HARMLESS})*`;
const PLAIN = new RegExp(`^${PLAIN_LINE}(?:\\n${PLAIN_LINE})*$`, 'u');

/**
 * Renders a message as HTML: blocks joined by newlines.
 *
 * The result depends only on text, directory and options, with one exception. A text that takes longer than `milliseconds`
 * is rendered without highlighting and formulas. If that takes as long, it is rendered as paragraphs of plain text. Known
 * causes of long times are limited before that, by the sizes in code.ts and math.ts: larger parts are shown plain.
 *
 * @param source At most 10,000 code points, the length of a message.
 * @throws UnrenderableError if the HTML is longer than 1,000,000 characters, or the renderer fails.
 */
export function renderMessage(source: string, directory: Directory, options: RenderOptions = {}): RenderedMessage {
  return render(source, directory, options);
}

/**
 * Renders Flavored Markdown that is not a message, such as a description. Mentions and links to channels stay text.
 *
 * @returns Block elements joined by newlines. "" for an empty source.
 * @throws UnrenderableError as `renderMessage` does.
 */
export function renderMarkdown(source: string): string {
  return render(source, undefined, {}).html;
}

/** Whether the message describes what its sender does, and is shown after their name. */
export const isMeMessage = (source: string): boolean => source.startsWith('/me ');

/** A link in a topic. Topics have no other markup. */
export interface TopicLink {
  readonly text: string;
  readonly url: string;
}

/**
 * Returns the website addresses in a topic, in order of position.
 *
 * @param topic At most 60 code points.
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
 * Loads the modules that render code and formulas. Without time limit: a module whose loading is interrupted stays broken.
 *
 * @returns Whether the text may contain code in some language.
 */
function loadMachines(text: string, { defaultCodeLanguage = '' }: RenderOptions): boolean {
  const hasFence = /`{3}|~{3}/.test(text);
  if (text.includes('$$') || (hasFence && /math/i.test(text))) loadTex();
  return hasFence && loadLanguages(text, defaultCodeLanguage);
}

/** Renders the text as paragraphs of plain text. */
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
