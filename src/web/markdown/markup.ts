import { addressOfLink } from '../routing/fragments.ts';
import { chunkOf } from '../ui/chunks.ts';
import { clock } from '../ui/clock.ts';
import { glyphOf } from '../ui/person.tsx';

// The service renders messages as safe HTML. The functions below adapt the HTML to the page: emoji become characters,
// spoilers can be opened, and times use the browser's time zone. HTML is never concatenated from text.

/**
 * Maximum number of cached results of `dress`. Beyond it, the oldest result is removed. The messages of a few screens fit, so
 * that each is converted only once.
 */
const KEPT = 2_000;
/** Chunk with the styles and fonts of formulas. Loaded when the first formula is shown. */
const formulas = chunkOf(() => import('./formulas.ts'));
const dressed = new Map<string, string>();
// If the time format changes, the cached results contain times in the previous format.
clock.watch(() => dressed.clear());

/** Returns the HTML of a message with the changes that this page needs. @param html `renderedContent` of the message. */
export function dress(html: string): string {
  const known = dressed.get(html);
  if (known !== undefined) return known;
  const made = /class=|<a |<time|<img|<audio/.test(html) || RIGHT_TO_LEFT.test(html) ? dressAnew(html) : html;
  if (dressed.size >= KEPT) dressed.delete(dressed.keys().next().value ?? '');
  dressed.set(html, made);
  return made;
}

/** Matches text in scripts that are written from right to left. */
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
/** Selector of the blocks that have their own text direction. */
const BLOCKS = 'p, li, ul, ol, blockquote, h1, h2, h3, h4, h5, h6, table, th, td, summary, .spoiler-header';

function dressAnew(html: string): string {
  const template = document.createElement('template');
  template.innerHTML = html;
  const { content } = template;
  if (content.querySelector('.katex') !== null) void formulas.load(new AbortController().signal);
  for (const emoji of content.querySelectorAll<HTMLElement>('span.emoji')) showEmoji(emoji);
  for (const spoiler of content.querySelectorAll<HTMLElement>('.spoiler-block')) foldSpoiler(spoiler);
  for (const time of content.querySelectorAll('time')) showTime(time);
  // Sets ARIA roles on the insertions and deletions in an edit history. Without roles, only their color distinguishes them.
  for (const [name, role] of CHANGES) for (const part of content.querySelectorAll(name)) part.role = role;
  for (const block of content.querySelectorAll<HTMLElement>(BLOCKS)) block.dir = 'auto';
  for (const code of content.querySelectorAll<HTMLElement>('pre, code')) code.dir = 'ltr';
  for (const image of content.querySelectorAll('img')) linkExternal(image);
  for (const image of content.querySelectorAll<HTMLImageElement>('img.inline-image')) linkPicture(image);
  for (const image of content.querySelectorAll<HTMLImageElement>(PICTURES)) reserveSize(image);
  for (const image of content.querySelectorAll<HTMLImageElement>(EXTERNAL)) frame(image);
  for (const video of content.querySelectorAll('video')) playHere(video);
  for (const audio of content.querySelectorAll('audio')) labelPlayer(audio);
  for (const card of content.querySelectorAll<HTMLElement>('.message_embed')) labelCard(card);
  for (const link of content.querySelectorAll('a')) directLink(link);
  for (const mention of content.querySelectorAll<HTMLElement>('.user-mention')) openCard(mention);
  // A message is a single tab stop until the user enters it: see `useRovingFocus`.
  for (const stop of content.querySelectorAll<HTMLElement>(TAB_STOPS)) stop.tabIndex = -1;
  return template.innerHTML;
}

export const TAB_STOPS = 'a[href]:not([aria-hidden]), button, summary, audio, video, .user-mention[role="button"]';

const CHANGES = [
  ['.highlight_text_inserted', 'insertion'],
  ['.highlight_text_deleted', 'deletion'],
] as const;

/** Replaces an image of another host with a link to it, because the page's content security policy blocks such images. */
function linkExternal(image: HTMLImageElement): void {
  const source = image.getAttribute('src') ?? '';
  if (URL.canParse(source, location.origin) && new URL(source, location.origin).origin === location.origin) return;
  const preview = image.closest<HTMLElement>('.message_inline_image');
  const link = image.closest('a');
  const text = image.alt || source;
  if (preview !== null) preview.className = 'message-image-link';
  if (link !== null) image.replaceWith(text);
  else {
    const made = document.createElement('a');
    made.setAttribute('href', source);
    made.textContent = text;
    image.replaceWith(made);
  }
}

/** Selector of images that users have uploaded. */
const PICTURES = 'img[data-original-dimensions]';
/** Maximum width and height of a picture in a message, in CSS pixels. */
const [MAX_WIDTH, MAX_HEIGHT] = [360, 240];

/** Gives an uploaded image the size at which it is shown, so that nothing moves when it is loaded, and loads it when visible. */
function reserveSize(image: HTMLImageElement): void {
  const [width = 0, height = 0] = (image.dataset['originalDimensions'] ?? '').split('x').map(Number);
  const scale = Math.min(1, MAX_WIDTH / width, MAX_HEIGHT / height);
  if (!(width > 0 && height > 0)) return;
  image.setAttribute('width', String(Math.max(1, Math.round(width * scale))));
  image.setAttribute('height', String(Math.max(1, Math.round(height * scale))));
  loadWhenVisible(image);
}

/** Selector of images of other websites, which the service delivers. */
const EXTERNAL = '.message_inline_image img[src^="/external_content/"]';

/** Shows an image of another website in a frame of fixed height, because its size is unknown until it is loaded. */
function frame(image: HTMLImageElement): void {
  loadWhenVisible(image);
  image.closest('a')?.classList.add('picture-frame');
}

/** Puts an uploaded image within the text in a link to the whole image, like that of a preview. */
function linkPicture(image: HTMLImageElement): void {
  const link = document.createElement('a');
  link.setAttribute('href', image.dataset['originalSrc'] ?? '');
  link.title = image.alt;
  image.replaceWith(link);
  link.append(image);
}

/** Replaces the link around an uploaded video by the video with controls, because a click in a link leaves the page. */
function playHere(video: HTMLVideoElement): void {
  video.setAttribute('controls', '');
  video.setAttribute('playsinline', '');
  video.setAttribute('aria-label', nameIn(video.getAttribute('src')) || 'Video');
  video.closest('a')?.replaceWith(video);
}

/** Shows the name of a sound above its player. */
function labelPlayer(audio: HTMLAudioElement): void {
  const [player, name] = [document.createElement('span'), document.createElement('span')];
  player.className = 'player';
  name.className = 'player-name';
  name.textContent = audio.title || 'Sound';
  audio.setAttribute('aria-label', name.textContent);
  audio.replaceWith(player);
  player.append(name, audio);
}

/** Returns the name of the file at an address. Undefined without an address. */
const nameIn = (address: string | null | undefined) => address?.split(/[?#]/, 1)[0]?.split('/').at(-1);

/** Hides the picture link of a page's preview from the keyboard and from screen readers: the title is the same link. */
function labelCard(card: HTMLElement): void {
  const picture = card.querySelector('a.message_embed_image');
  picture?.setAttribute('aria-hidden', 'true');
  picture?.setAttribute('tabindex', '-1');
}

function loadWhenVisible(image: HTMLImageElement): void {
  image.setAttribute('loading', 'lazy');
  image.setAttribute('decoding', 'async');
  const link = image.closest('a');
  image.alt = link?.title || nameIn(link?.getAttribute('href')) || 'Picture';
  link?.classList.add('picture');
}

/** Makes links to views of the chat open in this page, and all other links in a new tab. */
function directLink(link: HTMLAnchorElement): void {
  const address = addressOfLink(link.getAttribute('href') ?? '');
  if (address !== undefined) {
    link.setAttribute('href', address);
    return;
  }
  link.target = '_blank';
  link.rel = 'noopener noreferrer';
}

/** Makes the mention of a user a button, which opens the card of the user: `people/open-mentions.ts`. */
function openCard(mention: HTMLElement): void {
  if (/^\d+$/.test(mention.dataset['userId'] ?? '')) mention.role = 'button';
}

function showEmoji(emoji: HTMLElement): void {
  const code = [...emoji.classList].find((name) => name.startsWith('emoji-'))?.slice('emoji-'.length);
  const glyph = glyphOf(code ?? null);
  if (glyph !== undefined) emoji.textContent = glyph;
}

function foldSpoiler(spoiler: HTMLElement): void {
  const [header, content] = [spoiler.querySelector('.spoiler-header'), spoiler.querySelector('.spoiler-content')];
  const details = document.createElement('details');
  const summary = document.createElement('summary');
  details.className = 'spoiler-block';
  summary.append(...(header?.childNodes ?? []));
  if (summary.textContent?.trim() === '') summary.textContent = 'Spoiler';
  details.append(summary, ...(content?.childNodes ?? []));
  spoiler.replaceWith(details);
}

function showTime(time: HTMLTimeElement): void {
  const moment = new Date(time.dateTime);
  if (Number.isNaN(moment.getTime())) return;
  time.title = time.textContent ?? '';
  time.textContent = clock.get().moment(time.dateTime);
}

/** Returns the text of rendered HTML, for screen readers. */
export function spoken(html: string): string {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content.textContent?.trim() ?? '';
}
