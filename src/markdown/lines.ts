import type { StateBlock } from 'markdown-it';

/** Smallest indentation of an item's content relative to its marker, in columns. */
export const ITEM_INDENT = 2;

/**
 * Deepest nesting of quotes, lists and spoilers, in token levels: a list and its item are two. Anything deeper is text.
 * Users do not read deeper nesting, and the limit bounds the work on each line.
 */
const MAX_LEVEL = 24;

/** Whether another quote, list or spoiler can be nested. */
export const mayNest = (state: StateBlock): boolean => state.level < MAX_LEVEL;

/** Returns the indentation of the line, in columns. Negative for a lazy continuation line of a quote. */
export const columnOf = (state: StateBlock, line: number): number => state.sCount[line] ?? 0;

/** Whether the line is indented enough to be code. Other constructs do not match such a line. */
export const isIndented = (state: StateBlock, line: number): boolean => columnOf(state, line) - state.blkIndent >= 4;

/** Returns the index in the source at which the text of the line begins. */
export const textStartOf = (state: StateBlock, line: number): number =>
  (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);

/** Returns the line without its indentation. */
export const textOf = (state: StateBlock, line: number): string =>
  state.src.slice(textStartOf(state, line), state.eMarks[line]);

/** Adds text whose inline constructs are parsed later. */
export function pushInline(state: StateBlock, content: string): void {
  state.push('inline', '', 0).content = content;
}
