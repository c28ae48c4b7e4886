import { clock } from '../ui/clock.ts';
import { glyphOf } from '../ui/person.tsx';

// Messages come as HTML that the service has made and made safe. Here it is dressed for this page: emoji as characters,
// spoilers that open, moments in the reader's time. Nothing of a message is put together from text.

/** As many as a few screens show: a message is dressed once. */
const KEPT = 2_000;
const dressed = new Map<string, string>();
// What was dressed shows moments as the reader wanted them then.
clock.watch(() => dressed.clear());

/** @param html `renderedContent` of a message. */
export function dress(html: string): string {
  const known = dressed.get(html);
  if (known !== undefined) return known;
  const made = /class=|<a |<time|<img/.test(html) ? dressAnew(html) : html;
  if (dressed.size >= KEPT) dressed.delete(dressed.keys().next().value ?? '');
  dressed.set(html, made);
  return made;
}

function dressAnew(html: string): string {
  const template = document.createElement('template');
  template.innerHTML = html;
  const { content } = template;
  if (content.querySelector('.katex') !== null) void import('./formulas.ts');
  for (const emoji of content.querySelectorAll<HTMLElement>('span.emoji')) showEmoji(emoji);
  for (const spoiler of content.querySelectorAll<HTMLElement>('.spoiler-block')) foldSpoiler(spoiler);
  for (const time of content.querySelectorAll('time')) showTime(time);
  // Of an edit: told by colors alone otherwise.
  for (const [name, role] of CHANGES) for (const part of content.querySelectorAll(name)) part.role = role;
  for (const link of content.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
  }
  // A message is one stop of the Tab key, until somebody goes into it: see `useRovingFocus`.
  for (const stop of content.querySelectorAll<HTMLElement>(TAB_STOPS)) stop.tabIndex = -1;
  return template.innerHTML;
}

export const TAB_STOPS = 'a[href], button, summary, audio, video';

const CHANGES = [
  ['.highlight_text_inserted', 'insertion'],
  ['.highlight_text_deleted', 'deletion'],
] as const;

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

/** What a message says, for the ear. */
export function spoken(html: string): string {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content.textContent?.trim() ?? '';
}
