import type { StateBlock } from 'markdown-it';
import { columnOf, ITEM_INDENT, isIndented, mayNest, textOf, textStartOf } from './lines.ts';

interface Marker {
  /** Number of a numbered item. Undefined for an item with a bullet. */
  readonly number: number | undefined;
  /** Length of the marker in characters, including the white space after it. */
  readonly length: number;
  readonly isBlank: boolean;
}

/**
 * Parses lists with the markers `*`, `-`, `+` and `1.`. Lines that are indented by at least two columns more than the marker
 * belong to its item.
 *
 * @returns Whether a list begins at the line.
 */
export function list(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  if (isIndented(state, startLine) || !mayNest(state)) return false;
  const first = markerOf(state, startLine);
  if (first === undefined) return false;
  if (silent) return state.parentType !== 'paragraph' || mayInterrupt(state, startLine, first);
  const type = first.number === undefined ? 'bullet_list' : 'ordered_list';
  const tag = first.number === undefined ? 'ul' : 'ol';
  const open = state.push(`${type}_open`, tag, 1);
  const outerType = state.parentType;
  state.parentType = 'list';
  const isLoose = pushItems(state, first, startLine, endLine);
  state.parentType = outerType;
  open.meta = { isTight: !isLoose };
  if (first.number !== undefined && first.number !== 1) open.attrSet('start', String(first.number));
  state.push(`${type}_close`, tag, -1);
  return true;
}

function markerOf(state: StateBlock, line: number): Marker | undefined {
  const text = textOf(state, line);
  const [marker, number] = /^(?:[*+-]|(\d{1,9})\.)(?:[ \t]+)/.exec(text) ?? [];
  if (marker === undefined) return undefined;
  return {
    number: number === undefined ? undefined : Number(number),
    length: marker.length,
    isBlank: marker.length === text.length,
  };
}

/**
 * Returns whether a marker at the start of a line of a paragraph begins a list item. Always true for an item of a list that
 * contains the paragraph. In other text, true only for an item that is not blank and has a bullet or a number of one digit. So
 * a year at the start of a line does not begin a list.
 */
function mayInterrupt(state: StateBlock, line: number, { number = 1, isBlank }: Marker): boolean {
  return columnOf(state, line) < state.blkIndent || (!isBlank && number < 10);
}

/** Parses the items of a list. Returns whether a blank line separates any two items, or any two blocks of one item. */
function pushItems(state: StateBlock, first: Marker, startLine: number, endLine: number): boolean {
  const indent = columnOf(state, startLine) + ITEM_INDENT;
  let [line, isLoose, endedBlank] = [startLine, false, false];
  for (let marker: Marker | undefined = first; marker !== undefined; marker = nextMarker(state, first, line, endLine)) {
    const isItemLoose = pushItem(state, marker, indent, line, endLine);
    if (isItemLoose || endedBlank) isLoose = true;
    endedBlank = state.line - line > 1 && state.isEmpty(state.line - 1);
    line = state.line;
  }
  return isLoose;
}

/**
 * Returns the marker of the item that begins at the line. Undefined if the line does not begin an item of the same list as
 * `first`.
 */
function nextMarker(state: StateBlock, first: Marker, line: number, endLine: number): Marker | undefined {
  if (line >= endLine || columnOf(state, line) < state.blkIndent || isIndented(state, line)) return undefined;
  const marker = markerOf(state, line);
  if (marker === undefined || (marker.number === undefined) !== (first.number === undefined)) return undefined;
  const isOther = state.md.block.ruler.getRules('list').some((rule) => rule(state, line, endLine, true));
  return isOther ? undefined : marker;
}

/** Parses an item of a list. Returns whether a blank line separates any two blocks of the item. */
function pushItem(state: StateBlock, marker: Marker, indent: number, line: number, endLine: number): boolean {
  const { tight, blkIndent } = state;
  const [shift, column] = [state.tShift[line] ?? 0, columnOf(state, line)];
  state.push('list_item_open', 'li', 1);
  state.tight = true;
  state.blkIndent = indent;
  state.tShift[line] = textStartOf(state, line) + marker.length - (state.bMarks[line] ?? 0);
  // The indentation of the text is set to the minimum, so that it is not code, however many spaces follow the marker.
  state.sCount[line] = Math.max(column + ITEM_INDENT, indent);
  if (marker.isBlank && state.isEmpty(line + 1)) state.line = Math.min(state.skipEmptyLines(line + 1), endLine);
  else state.md.block.tokenize(state, line, endLine);
  const isLoose = !state.tight;
  state.tShift[line] = shift;
  state.sCount[line] = column;
  state.tight = tight;
  state.blkIndent = blkIndent;
  state.push('list_item_close', 'li', -1);
  return isLoose;
}
