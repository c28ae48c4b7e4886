import type { StateBlock } from 'markdown-it';

/**
 * Minimum indentation of the content of a list item relative to its marker, in columns. A further block that is indented less
 * does not belong to the item.
 */
export const ITEM_INDENT = 2;

/**
 * Maximum nesting of quotes, lists and spoilers, in token levels. A list with its item counts as two levels. Anything that is
 * nested deeper is text. Users do not read deeper nesting, and the limit bounds the work for each line.
 */
const MAX_LEVEL = 24;

/** Returns whether another quote, list or spoiler can be nested at the current position. */
export const mayNest = (state: StateBlock): boolean => state.level < MAX_LEVEL;

/** Returns the indentation of the line, in columns. Negative for a line of a quote that lacks the ">" of the quote. */
export const columnOf = (state: StateBlock, line: number): number => state.sCount[line] ?? 0;

/**
 * Returns whether the line is indented by four or more columns within its quote or list item. At such a line, only indented
 * code can begin.
 */
export const isIndented = (state: StateBlock, line: number): boolean => columnOf(state, line) - state.blkIndent >= 4;

/** Returns the index in the source at which the text of the line begins. */
export const textStartOf = (state: StateBlock, line: number): number =>
  (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);

/** Returns the line without its indentation. */
export const textOf = (state: StateBlock, line: number): string =>
  state.src.slice(textStartOf(state, line), state.eMarks[line]);

/** Adds a token with text whose inline constructs are parsed later. */
export function pushInline(state: StateBlock, content: string): void {
  state.push('inline', '', 0).content = content;
}
