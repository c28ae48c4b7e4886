import MarkdownIt, { type StateBlock, type Token } from 'markdown-it';
import { fence } from './fences.ts';
import { columnOf, ITEM_INDENT, isIndented, mayNest, pushInline, textOf, textStartOf } from './lines.ts';
import { list } from './lists.ts';

type BlockRule = (state: StateBlock, startLine: number, endLine: number, silent: boolean) => boolean;

const markdown = new MarkdownIt('zero', { html: false, maxNesting: 1_000 });

/** The rules of the dialect, each with the constructs that it ends when it begins on a line of theirs. */
const RULES: readonly (readonly [name: string, rule: BlockRule, ends: string[]])[] = [
  ['table', narrow(commonMarkRule('table')), ['paragraph']],
  ['fence', fence, ['paragraph', 'blockquote', 'list']],
  ['blockquote', quoteIfAny(commonMarkRule('blockquote')), ['paragraph', 'blockquote', 'list']],
  ['list', list, ['paragraph', 'blockquote']],
  ['heading', heading, ['paragraph', 'blockquote']],
  ['paragraph', paragraph, []],
];

for (const [name, rule, alt] of RULES) markdown.block.ruler.at(name, rule, { alt });
markdown.block.ruler.enableOnly(['code', 'hr', ...RULES.map(([name]) => name)]);

/**
 * The blocks of a text, as tokens: the tokens of markdown-it, and `spoiler_open`, `spoiler_content`, `spoiler_close`,
 * `code` and `math`. Text within blocks is not looked into.
 *
 * The dialect has rules of its own for quotes, lists, fences, headings and paragraphs; tables, indented code and
 * horizontal rules are CommonMark's.
 */
export function parseBlocks(source: string): Token[] {
  const tokens: Token[] = [];
  markdown.block.parse(source, markdown, {}, tokens);
  return tokens;
}

/** What an HTML entity such as `&eacute;` stands for; any other text is returned as it is. */
export const decodeEntity = (entity: string): string => markdown.utils.unescapeAll(entity);

/** The rule that the parser comes with; it gives it away only as one of those that are in force. */
function commonMarkRule(name: string): BlockRule {
  markdown.block.ruler.enableOnly([name]);
  const [rule] = markdown.block.ruler.getRules('');
  if (rule === undefined) throw new Error(`The parser has no rule ${name}`);
  return rule;
}

function quoteIfAny(quote: BlockRule): BlockRule {
  return (state, startLine, endLine, silent) => {
    if (state.src[textStartOf(state, startLine)] !== '>' || !mayNest(state)) return false;
    return saysSomething(state, startLine, endLine) && quote(state, startLine, endLine, silent);
  };
}

/** Where the lines end that were looked at and hold nothing but ">", by the text they are of: each is looked at once. */
const emptyQuoteEnds = new WeakMap<object, number>();

function saysSomething(state: StateBlock, startLine: number, endLine: number): boolean {
  if (startLine < (emptyQuoteEnds.get(state.env) ?? 0)) return false;
  let line = startLine;
  for (; line < endLine; line++) {
    const text = textOf(state, line);
    if (!text.startsWith('>')) break;
    if (/[^>\s]/.test(text)) return true;
  }
  emptyQuoteEnds.set(state.env, line);
  return false;
}

/** Our choice: twice as many as a message has room for. Rows that are too short are filled up to the width of the table. */
const MAX_CELLS = 10_000;

function narrow(table: BlockRule): BlockRule {
  return (state, startLine, endLine, silent) => {
    if (!table(state, startLine, endLine, true)) return false;
    let endOfRows = startLine + 2;
    while (endOfRows < endLine && !state.isEmpty(endOfRows)) endOfRows++;
    const columns = textOf(state, startLine + 1).split('|').length;
    if (columns * (endOfRows - startLine) > MAX_CELLS) return false;
    return silent || table(state, startLine, endLine, false);
  };
}

function heading(state: StateBlock, startLine: number, _endLine: number, silent: boolean): boolean {
  if (isIndented(state, startLine) || state.src[textStartOf(state, startLine)] !== '#') return false;
  const [, marks = '', text = ''] = /^(#{1,6})[ \t]+(.*)$/.exec(textOf(state, startLine)) ?? [];
  const content = withoutClosingMarks(text);
  if (content === '') return false;
  if (silent) return true;
  state.line = startLine + 1;
  state.push('heading_open', `h${marks.length}`, 1);
  pushInline(state, content);
  state.push('heading_close', `h${marks.length}`, -1);
  return true;
}

function withoutClosingMarks(text: string): string {
  let end = text.trimEnd().length;
  while (text[end - 1] === '#') end--;
  return text.slice(0, end).trim();
}

/** A paragraph keeps the spaces at the end of its lines, and those that indent a line further than the first. */
function paragraph(state: StateBlock, startLine: number, endLine: number): boolean {
  const isFirstOfItem = state.tokens.at(-1)?.type === 'list_item_open';
  const outerType = state.parentType;
  state.parentType = 'paragraph';
  let line = startLine + 1;
  while (line < endLine && !state.isEmpty(line) && !endsParagraph(state, line, endLine)) line++;
  state.parentType = outerType;
  const further = state.getLines(startLine + 1, line, state.blkIndent - (isFirstOfItem ? ITEM_INDENT : 0), false);
  state.line = line;
  state.push('paragraph_open', 'p', 1);
  pushInline(state, line > startLine + 1 ? `${textOf(state, startLine)}\n${further}` : textOf(state, startLine));
  state.push('paragraph_close', 'p', -1);
  return true;
}

function endsParagraph(state: StateBlock, line: number, endLine: number): boolean {
  const column = columnOf(state, line);
  if (column - state.blkIndent > 3 || column < 0) return false;
  return state.md.block.ruler.getRules('paragraph').some((rule) => rule(state, line, endLine, true));
}
