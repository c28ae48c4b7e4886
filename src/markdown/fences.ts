import type { StateBlock } from 'markdown-it';
import { columnOf, isIndented, mayNest, textOf, textStartOf } from './lines.ts';

/** The parsed first line of a fence, a block between two lines of back-ticks or tildes. */
interface Fence {
  /** Run of three or more back-ticks or tildes. A line with the same run closes the fence. */
  readonly marks: string;
  readonly kind: 'quote' | 'spoiler' | 'math' | 'code';
  /** First word after the run, in lower case. "" if there is none. */
  readonly word: string;
  /** Rest of the line after `word`. */
  readonly header: string;
}

const KINDS: ReadonlyMap<string, Fence['kind']> = new Map([
  ['quote', 'quote'],
  ['quoted', 'quote'],
  ['spoiler', 'spoiler'],
  ['math', 'math'],
]);

/**
 * Parses fenced quotes, spoilers, formulas and code. A fence that is not closed ends where its container ends.
 *
 * @returns Whether a fence begins at the line.
 */
export function fence(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const mark = state.src[textStartOf(state, startLine)];
  if ((mark !== '`' && mark !== '~') || isIndented(state, startLine)) return false;
  const opened = fenceIn(textOf(state, startLine));
  if (opened === undefined || (parsesInside(opened) && !mayNest(state))) return false;
  if (silent) return true;
  const lastLine = endOf(state, opened, startLine, endLine);
  const outerType = state.parentType;
  // With the type of a list or a paragraph as parent, other rules would apply to the content of the fence.
  state.parentType = 'root';
  pushFence(state, opened, startLine, lastLine);
  state.parentType = outerType;
  state.line = lastLine < endLine && isClose(state, opened, lastLine) ? lastLine + 1 : lastLine;
  return true;
}

function fenceIn(line: string): Fence | undefined {
  const [whole, marks = ''] = /^(`{3,}|~{3,})(?![`~])/.exec(line) ?? [];
  const info = line.slice(marks.length);
  if (whole === undefined || /[`~]/.test(info)) return undefined;
  const [head = '', name = ''] = /^[ \t]*(?:\{?\.?([\w+\-./#]+)\}?(?=\s|$))?/.exec(info) ?? [];
  const word = name.toLowerCase();
  return { marks, kind: KINDS.get(word) ?? 'code', word, header: info.slice(head.length).trim() };
}

const parsesInside = ({ kind }: Fence) => kind === 'quote' || kind === 'spoiler';

const isClose = (state: StateBlock, { marks }: Fence, line: number) =>
  !isIndented(state, line) && textOf(state, line).trimEnd() === marks;

/**
 * Returns the index of the line that closes the fence. If no line closes it, returns the index of the first line outside of the
 * fence's container.
 */
function endOf(state: StateBlock, opened: Fence, startLine: number, endLine: number): number {
  const open = [opened];
  let line = startLine + 1;
  for (; line < endLine; line++) {
    if (columnOf(state, line) < state.blkIndent && !state.isEmpty(line)) break;
    const [inner] = open.slice(-1);
    if (inner === undefined) break;
    if (isClose(state, inner, line)) {
      open.pop();
      if (open.length === 0) break;
    } else if (parsesInside(inner) && !isIndented(state, line)) {
      const next = fenceIn(textOf(state, line));
      if (next !== undefined) open.push(next);
    }
  }
  return line;
}

function pushFence(state: StateBlock, { kind, word, header }: Fence, startLine: number, lastLine: number): void {
  if (kind === 'quote') {
    state.push('blockquote_open', 'blockquote', 1);
    state.md.block.tokenize(state, startLine + 1, lastLine);
    state.push('blockquote_close', 'blockquote', -1);
  } else if (kind === 'spoiler') {
    state.push('spoiler_open', 'div', 1);
    pushBlocksOf(state, header);
    state.push('spoiler_content', 'div', 0);
    state.md.block.tokenize(state, startLine + 1, lastLine);
    state.push('spoiler_close', 'div', -1);
  } else {
    const token = state.push(kind, '', 0);
    token.content = state.getLines(startLine + 1, lastLine, Math.max(columnOf(state, startLine), 0), true);
    token.info = word;
  }
}

/** Parses the blocks of a separate text, at the nesting depth of the state, and adds their tokens to the state. */
function pushBlocksOf(state: StateBlock, source: string): void {
  if (source === '') return;
  const { md, tokens, level } = state;
  const inner = new md.block.State(source, md, {}, tokens);
  inner.level = level;
  md.block.tokenize(inner, 0, inner.lineMax);
}
