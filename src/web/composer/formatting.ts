import type { KeyboardEvent } from 'react';
import { isForInputMethod } from '../keyboard/input-method.ts';
import { replaceRange } from '../ui/write.ts';

/** A format that can be applied to a part of a text. */
export type Format = 'bold' | 'italic' | 'strike' | 'code' | 'link' | 'quote' | 'list' | 'spoiler' | 'math';

/** A replacement of a part of a text, and the selection after it. */
interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Start and end of the new selection, as offsets from `start`. */
  readonly selection: readonly [from: number, to: number];
}

/** A text and the selected part of it. */
interface Selected {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

const MARKS = { bold: '**', italic: '*', strike: '~~', code: '`', math: '$$' } as const;
const LINE_STARTS = { quote: '> ', list: '- ' } as const;
/** Language of the code fence around whole lines, by format. Empty: no language. */
const FENCES = { code: '', math: 'math', spoiler: 'spoiler' } as const;

/** Formats the selection of a field, or removes the format if the selection already has it. */
export function format(field: HTMLTextAreaElement, kind: Format): void {
  const { value, selectionStart: start, selectionEnd: end } = field;
  const change = changeFor(kind, { value, start, end });
  replaceRange(field, change.start, change.end, change.text, change.selection);
}

/** Keyboard shortcuts of the formats, as shown to users. */
export const FORMAT_KEYS: Readonly<Partial<Record<Format, string>>> = {
  bold: 'Ctrl+B',
  italic: 'Ctrl+I',
  link: 'Ctrl+Shift+K',
};

/** Applies the format of a keyboard shortcut. @returns Whether the key was a shortcut. */
export function formatByKey(event: KeyboardEvent<HTMLTextAreaElement>): boolean {
  if (event.altKey || !(event.ctrlKey || event.metaKey) || isForInputMethod(event.nativeEvent)) return false;
  const pressed = `Ctrl+${event.shiftKey ? 'Shift+' : ''}${event.key.toUpperCase()}`;
  const [kind] = Object.entries(FORMAT_KEYS).find(([, keys]) => keys === pressed) ?? [];
  if (kind === undefined) return false;
  event.preventDefault();
  event.stopPropagation();
  format(event.currentTarget, kind as Format);
  return true;
}

/** Returns the change that a format makes to a text. */
export function changeFor(kind: Format, selected: Selected): Change {
  switch (kind) {
    case 'link':
      return linked(trimmed(selected));
    case 'quote':
    case 'list':
      return withLineStarts(selected, LINE_STARTS[kind]);
    case 'spoiler':
      return fenced(selected, FENCES[kind]);
    case 'code':
    case 'math':
      return isOfLines(selected) ? fenced(selected, FENCES[kind]) : marked(trimmed(selected), MARKS[kind]);
    default:
      return marked(trimmed(selected), MARKS[kind]);
  }
}

const isOfLines = ({ value, start, end }: Selected): boolean => value.slice(start, end).includes('\n');

/** Excludes white space at both ends from a selection, because Markdown requires such white space outside of the marks. */
function trimmed({ value, start, end }: Selected): Selected {
  const text = value.slice(start, end);
  const before = text.length - text.trimStart().length;
  // If only white space is selected, the marks are inserted after it.
  if (before === text.length) return { value, start: end, end };
  return { value, start: start + before, end: start + text.trimEnd().length };
}

function marked({ value, start, end }: Selected, mark: string): Change {
  const text = value.slice(start, end);
  const { length } = mark;
  const sign = mark.charAt(0);
  const around = Math.min(runAtEnd(value.slice(0, start), sign), runAtStart(value.slice(end), sign));
  if (isMarked(around, mark)) return { start: start - length, end: end + length, text, selection: [0, text.length] };
  const within = Math.min(runAtStart(text, sign), runAtEnd(text, sign));
  if (text.length > 2 * length && isMarked(within, mark)) {
    const inside = text.slice(length, -length);
    return { start, end, text: inside, selection: [0, inside.length] };
  }
  return { start, end, text: mark + text + mark, selection: [length, length + text.length] };
}

/**
 * Returns whether the characters on each side of a text include a mark, such as `*`, `**` or `~~`. Two asterisks on each side
 * mean bold, three mean bold and italic.
 *
 * @param run Number of mark characters on each side of the text.
 */
const isMarked = (run: number, mark: string): boolean => (mark === '*' ? run % 2 === 1 : run >= mark.length);

function runAtStart(text: string, sign: string): number {
  let run = 0;
  while (text[run] === sign) run += 1;
  return run;
}

function runAtEnd(text: string, sign: string): number {
  let run = 0;
  while (text.at(-1 - run) === sign) run += 1;
  return run;
}

const ADDRESS = 'https://';

function linked({ value, start, end }: Selected): Change {
  const text = value.slice(start, end);
  if (/^https?:\/\/\S+$/.test(text)) return { start, end, text: `[](${text})`, selection: [1, 1] };
  const from = text.length + 3;
  // Selects the next part to type: first the label of the link, then its URL.
  const selection = text === '' ? ([1, 1] as const) : ([from, from + ADDRESS.length] as const);
  return { start, end, text: `[${text}](${ADDRESS})`, selection };
}

/** Extends a selection to whole lines. */
function linesOf({ value, start, end }: Selected): Selected {
  const next = value.indexOf('\n', end > start && value[end - 1] === '\n' ? end - 1 : end);
  return { value, start: value.lastIndexOf('\n', start - 1) + 1, end: next < 0 ? value.length : next };
}

function withLineStarts(selected: Selected, sign: string): Change {
  const { value, start, end } = linesOf(selected);
  const lines = value.slice(start, end).split('\n');
  const isSo = lines.every((line) => line.startsWith(sign));
  const text = lines.map((line) => (isSo ? line.slice(sign.length) : sign + line)).join('\n');
  const from = lines.length > 1 ? 0 : text.length;
  return { start, end, text, selection: [from, text.length] };
}

/** Encloses the selected lines in a code fence, or removes the fence. */
function fenced(selected: Selected, word: string): Change {
  const { value, start, end } = linesOf(selected);
  const text = value.slice(start, end);
  const [, opening] = /(?:^|\n)(`{3,}[^`\n]*\n)$/.exec(value.slice(0, start)) ?? [];
  const [closing] = /^\n`{3,}(?=\n|$)/.exec(value.slice(end)) ?? [];
  if (opening?.replaceAll('`', '').startsWith(word || '\n') && closing !== undefined)
    return { start: start - opening.length, end: end + closing.length, text, selection: [0, text.length] };
  const ticks = '`'.repeat(Math.max(3, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length + 1)));
  const from = ticks.length + word.length + 1;
  return { start, end, text: `${ticks}${word}\n${text}\n${ticks}`, selection: [from, from + text.length] };
}
