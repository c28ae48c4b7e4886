import MarkdownIt, { type StateBlock, type Token } from 'markdown-it';
import { codeSpansIn } from './code-spans.ts';
import { fence } from './fences.ts';
import { columnOf, ITEM_INDENT, isIndented, mayNest, pushInline, textOf, textStartOf } from './lines.ts';
import { list } from './lists.ts';

type BlockRule = (state: StateBlock, startLine: number, endLine: number, silent: boolean) => boolean;

const markdown = new MarkdownIt('zero', { html: false, maxNesting: 1_000 });

/** Built-in rule of markdown-it that parses a table and splits its lines into cells. */
const divide = commonMarkRule('table');

/** Block rules of the Markdown dialect. Each rule has a list of the constructs that end at a line that the rule matches. */
const RULES: readonly (readonly [name: string, rule: BlockRule, ends: string[]])[] = [
  ['table', table, ['paragraph']],
  ['fence', fence, ['paragraph', 'blockquote', 'list']],
  ['blockquote', quoteIfAny(commonMarkRule('blockquote')), ['paragraph', 'blockquote', 'list']],
  ['list', list, ['paragraph', 'blockquote']],
  ['heading', heading, ['paragraph', 'blockquote']],
  ['paragraph', paragraph, []],
];

for (const [name, rule, alt] of RULES) markdown.block.ruler.at(name, rule, { alt });
markdown.block.ruler.enableOnly(['code', 'hr', ...RULES.map(([name]) => name)]);

/**
 * Parses the blocks of a text into tokens of markdown-it, and of the additional types `spoiler_open`, `spoiler_content`,
 * `spoiler_close`, `code` and `math`. Does not parse the text within blocks.
 *
 * The dialect has its own rules for quotes, lists, fences, headings and paragraphs. Tables, indented code and horizontal rules
 * follow CommonMark.
 */
export function parseBlocks(source: string): Token[] {
  const tokens: Token[] = [];
  markdown.block.parse(source, markdown, {}, tokens);
  return tokens;
}

/** Decodes an HTML entity such as `&eacute;` to its character. Returns any other text unchanged. */
export const decodeEntity = (entity: string): string => markdown.utils.unescapeAll(entity);

/**
 * Returns a built-in rule of markdown-it. Enables the rule, because markdown-it only gives access to enabled rules.
 *
 * @throws Error if there is no such rule.
 */
function commonMarkRule(name: string): BlockRule {
  markdown.block.ruler.enableOnly([name]);
  const [rule] = markdown.block.ruler.getRules('');
  if (rule === undefined) throw new Error(`Unknown parser rule ${name}`);
  return rule;
}

function quoteIfAny(quote: BlockRule): BlockRule {
  return (state, startLine, endLine, silent) => {
    if (state.src[textStartOf(state, startLine)] !== '>' || !mayNest(state)) return false;
    return hasQuotedText(state, startLine, endLine) && quote(state, startLine, endLine, silent);
  };
}

/**
 * For each text that is being parsed, the index of the line after the last quoted lines that were found to contain only ">". It
 * ensures that no line is checked twice. The key is the `state.env` of the text.
 */
const emptyQuoteEnds = new WeakMap<object, number>();

function hasQuotedText(state: StateBlock, startLine: number, endLine: number): boolean {
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

/**
 * Maximum number of cells in a table, twice as many as fit into a message. A larger table remains text. Short rows are padded,
 * so a table can have more cells than its source.
 */
const MAX_CELLS = 10_000;

/**
 * Placeholder for a pipe within another construct while a table is split into cells. Well-formed text cannot contain it.
 */
const PIPE = '\uDC00';

/** Matches every text that may have a construct with a pipe in it. It is a cheap test before the patterns of `WITH_PIPE`. */
const HIDES_PIPE = /[`@#]|\$\$|\]\(/;

/**
 * Patterns of constructs that can contain a pipe. In this order: a mention with an id, a link to a channel or topic, a formula,
 * and a link whose label has no brackets.
 */
const WITH_PIPE = [
  /@_?\*\*[^*|\n]*\|\d{1,10}\*\*/g,
  /#\*\*[^*\n]+\*\*/g,
  /(?<![$\p{L}\p{N}_])\$\$(?![_$])(?:\\\$|[^\n$])+\$\$(?![$\p{L}\p{N}_])/gu,
  /\[[^[\]\n]*\]\([^()\s]+(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\)/g,
];

/** Matches the line that separates the head of a table from its rows. */
const DIVIDER = /^[-:|\s]+$/;

function table(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  if (startLine + 2 > endLine || !DIVIDER.test(textOf(state, startLine + 1))) return false;
  const { src, tokens } = state;
  // This rule runs for every line of a paragraph. So the rows are only read if the lines are the head of a table.
  state.src = withoutInnerPipes(state, startLine, startLine + 1);
  const isHead = divide(state, startLine, endLine, true);
  state.src = src;
  if (!isHead) return false;
  let endOfRows = startLine + 2;
  while (endOfRows < endLine && !state.isEmpty(endOfRows)) endOfRows++;
  const columns = textOf(state, startLine + 1).split('|').length;
  if (columns * (endOfRows - startLine) > MAX_CELLS) return false;
  if (silent) return true;
  const first = tokens.length;
  state.src = withoutInnerPipes(state, startLine, endOfRows);
  const isTable = divide(state, startLine, endLine, false);
  state.src = src;
  for (const token of tokens.slice(first)) token.content = token.content.replaceAll(PIPE, '|');
  return isTable;
}

/**
 * Returns the source with the pipes within constructs replaced, on the lines from `startLine` to before `endLine`. The replaced
 * pipes do not end table cells.
 */
function withoutInnerPipes(state: StateBlock, startLine: number, endLine: number): string {
  const [start, end] = [state.bMarks[startLine] ?? 0, state.eMarks[endLine - 1] ?? state.src.length];
  const text = state.src.slice(start, end);
  if (!HIDES_PIPE.test(text)) return state.src;
  const lines = text.split('\n');
  const plain = lines.map((line) => (line.includes('|') && HIDES_PIPE.test(line) ? withoutPipes(line) : line));
  return state.src.slice(0, start) + plain.join('\n') + state.src.slice(end);
}

function withoutPipes(line: string): string {
  let [result, end] = ['', 0];
  for (const [start, close] of codeSpansIn(line)) {
    result += outsideCode(line.slice(end, start)) + hidden(line.slice(start, close));
    end = close;
  }
  return result + outsideCode(line.slice(end));
}

const outsideCode = (text: string) => WITH_PIPE.reduce((rest, pattern) => rest.replace(pattern, hidden), text);

/**
 * Replaces the pipes in a construct by the placeholder `PIPE`. A pipe after a backslash remains, because such a pipe does not
 * end a cell.
 */
const hidden = (construct: string) => construct.replace(/(?<!\\)\|/g, PIPE);

function heading(state: StateBlock, startLine: number, _endLine: number, silent: boolean): boolean {
  if (isIndented(state, startLine) || state.src[textStartOf(state, startLine)] !== '#') return false;
  const [, marks = '', text = ''] = /^(#{1,6})[ \t]+([^\n]*)$/.exec(textOf(state, startLine)) ?? [];
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

/** Parses a paragraph. Keeps the spaces at the end of lines, and the additional indentation of lines after the first. */
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
