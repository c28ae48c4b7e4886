import type { StateBlock } from 'markdown-it';

/** How much further than its marker an item's content is indented, at least. */
export const ITEM_INDENT = 2;

/**
 * How deep quotes, lists and spoilers nest, counted in levels of tokens: a list and its item are two. What is deeper
 * is text. Our choice: nobody reads deeper, and it bounds the work on each line.
 */
const MAX_LEVEL = 24;

/** Whether there is room for another quote, list or spoiler. */
export const mayNest = (state: StateBlock): boolean => state.level < MAX_LEVEL;

/** How far the line is indented, in columns; negative for a line that belongs to a quote only by continuing it. */
export const columnOf = (state: StateBlock, line: number): number => state.sCount[line] ?? 0;

/** Whether the line is indented far enough to be code, which no other construct then takes. */
export const isIndented = (state: StateBlock, line: number): boolean => columnOf(state, line) - state.blkIndent >= 4;

/** Where the text of the line begins in the source. */
export const textStartOf = (state: StateBlock, line: number): number =>
  (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);

/** The line without its indentation. */
export const textOf = (state: StateBlock, line: number): string =>
  state.src.slice(textStartOf(state, line), state.eMarks[line]);

/** Adds text whose inline constructs are looked for later. */
export function pushInline(state: StateBlock, content: string): void {
  state.push('inline', '', 0).content = content;
}
