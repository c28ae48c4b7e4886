import fc, { type GeneratorValue } from 'fast-check';
import katex from 'katex';
import { type DefaultTreeAdapterTypes, defaultTreeAdapter, html as names, parseFragment } from 'parse5';
import { expect, test } from 'vitest';
import { htmlDiff, sharedBudget } from '../../src/markdown/diff.ts';
import { renderMarkdown } from '../../src/markdown/render.ts';

type Mark = 'inserted' | 'deleted';
type Node = DefaultTreeAdapterTypes.ChildNode;
type Element = DefaultTreeAdapterTypes.Element;

const SEED = 20_261_120;
const VOID = ['br', 'hr', 'img'];

/**
 * Parses HTML strictly. Throws on parse errors, on elements that the parser implies, moves or closes, and on a mark (`ins` or
 * `del`) within a mark.
 */
function parse(html: string): Node[] {
  const errors: string[] = [];
  const context = defaultTreeAdapter.createElement('div', names.NS.HTML, []);
  const options = { sourceCodeLocationInfo: true, onParseError: ({ code }: { code: string }) => errors.push(code) };
  const { childNodes } = parseFragment(context, html, options);
  const check = (nodes: readonly Node[], from: number, to: number, marked: boolean) => {
    let at = from;
    for (const node of nodes) {
      const place = node.sourceCodeLocation;
      if (place?.startOffset !== at) throw new Error(`${node.nodeName} is not where it was written: ${html}`);
      at = place.endOffset;
      if (!isElement(node)) continue;
      const isMarked = markOf(node) !== undefined;
      if (marked && isMarked) throw new Error(`a mark within a mark: ${html}`);
      const { startTag, endTag } = place as { startTag?: Range; endTag?: Range };
      if (VOID.includes(node.tagName) || html.endsWith('/>', at)) continue;
      if (!startTag || !endTag) throw new Error(`${node.tagName} is not closed: ${html}`);
      check(node.childNodes, startTag.endOffset, endTag.startOffset, marked || isMarked);
    }
    if (at !== to) throw new Error(`something is missing at ${at}: ${html}`);
  };
  check(childNodes, 0, html.length, false);
  expect(errors).toEqual([]);
  return childNodes;
}

interface Range {
  startOffset: number;
  endOffset: number;
}

const isElement = (node: Node | undefined): node is Element => node !== undefined && 'tagName' in node;
const isBlank = (node: Node | undefined) => node?.nodeName === '#text' && 'value' in node && !/\S/.test(node.value);

function markOf(node: Node | undefined): Mark | undefined {
  if (!isElement(node) || node.tagName !== 'span') return undefined;
  const name = node.attrs.find((attr) => attr.name === 'class')?.value;
  return name === 'highlight_text_inserted' ? 'inserted' : name === 'highlight_text_deleted' ? 'deleted' : undefined;
}

/**
 * Returns whether a table cell or list item contains only one mark. For a row or part of a table: whether all cells in it
 * contain only one mark.
 */
function isPart(node: Node, mark: Mark): boolean {
  if (!isElement(node)) return false;
  if (['li', 'td', 'th'].includes(node.tagName)) {
    return node.childNodes.length === 1 && markOf(node.childNodes[0]) === mark;
  }
  const parts = node.childNodes.filter((child) => !isBlank(child));
  return (
    ['tr', 'thead', 'tbody'].includes(node.tagName) && parts.length > 0 && parts.every((part) => isPart(part, mark))
  );
}

/**
 * Returns one side of a diff. Removes the marks of the kind `gone` with their content, and the other marks without their
 * content, as the docstring of `htmlDiff` describes.
 */
function takeOut(diff: string, gone: Mark): string {
  const cuts: [number, number][] = [];
  const visit = (nodes: readonly Node[]) => {
    nodes.forEach((node, i) => {
      if (!isElement(node)) return;
      const { startOffset, endOffset, startTag, endTag } = node.sourceCodeLocation ?? {};
      if (startOffset === undefined || endOffset === undefined) return;
      const next = nodes[i + 1];
      if (isPart(node, gone)) {
        cuts.push([startOffset, (isBlank(next) && next?.sourceCodeLocation?.endOffset) || endOffset]);
      } else if (markOf(node) === gone) {
        cuts.push([startOffset, endOffset]);
      } else {
        const unwrapped = markOf(node) !== undefined && startTag && endTag;
        if (unwrapped) cuts.push([startOffset, startTag.endOffset]);
        visit(node.childNodes);
        if (unwrapped) cuts.push([endTag.startOffset, endOffset]);
      }
    });
  };
  visit(parse(diff));
  let at = 0;
  const kept = cuts.map(([from, to]) => {
    const before = diff.slice(at, from);
    at = to;
    return before;
  });
  return kept.join('') + diff.slice(at);
}

function expectExact(before: string, after: string, budget = sharedBudget()): string {
  const diff = htmlDiff(before, after, budget);
  const back = { before: takeOut(diff, 'inserted'), after: takeOut(diff, 'deleted') };
  if (back.before !== before || back.after !== after) expect({ ...back, diff }).toEqual({ before, after, diff });
  return diff;
}

const WORDS = (
  'the a of and not it we meet today tomorrow noon build fails again release server & < "quoted" it\'s e-mail 3.14 ' +
  'naïve 日本語 ありがとう 👍 🐱\u200D👤 ok, yes! no? (maybe) C++ snake_case &copy;'
).split(' ');

type Draw = GeneratorValue;
/** Generators of numbers, by the maximum. A generator searches for calls of the same function by comparing their arguments. */
const numbersUpTo = Array.from({ length: 1_000 }, (_, max) => () => fc.nat({ max }));
const upTo = (g: Draw, max: number) => g(numbersUpTo[max] ?? (() => fc.nat({ max })));
const pick = <T>(g: Draw, list: readonly T[]): T => list[upTo(g, list.length - 1)] as T;
const many = <T>(g: Draw, min: number, max: number, make: () => T): T[] =>
  Array.from({ length: min + upTo(g, max - min) }, make);
const words = (g: Draw, max = 6) => many(g, 1, max, () => pick(g, WORDS)).join(' ');

const INLINE: readonly ((text: string, n: number) => string)[] = [
  (text) => `**${text}**`,
  (text) => `*${text}*`,
  (text) => `~~${text}~~`,
  (text) => `\`${text}\``,
  (text, n) => `[${text}](https://example.com/${n})`,
  (_, n) => `https://example.com/${n}`,
  (_, n) => `$$x^${n}$$`,
  () => ':heart_eyes:',
  () => '@**all**',
];
const line = (g: Draw) =>
  many(g, 1, 5, () => (upTo(g, 2) > 0 ? words(g) : pick(g, INLINE)(words(g, 3), upTo(g, 2)))).join(' ');

const BLOCKS: readonly ((g: Draw) => string)[] = [
  (g) => line(g),
  (g) => many(g, 1, 3, () => line(g)).join('\n'),
  (g) => many(g, 1, 5, () => `${'  '.repeat(upTo(g, 2))}* ${line(g)}`).join(pick(g, ['\n', '\n', '\n\n'])),
  (g) => many(g, 1, 4, () => `${1 + upTo(g, 3)}. ${line(g)}`).join('\n'),
  (g) => many(g, 1, 3, () => `> ${line(g)}`).join('\n'),
  (g) =>
    `\`\`\`${pick(g, ['', 'python', 'js', 'quote', 'math', 'spoiler Secret'])}\n${many(g, 1, 4, () => line(g)).join('\n')}\n\`\`\``,
  (g) => ['| a | b |', '|---|---|', ...many(g, 0, 3, () => `| ${words(g, 2)} | ${words(g, 2)} |`)].join('\n'),
  (g) => `# ${words(g)}`,
  () => '---',
];
const content = (g: Draw) => many(g, 0, 5, () => pick(g, BLOCKS)(g)).join('\n\n');

/** Returns `source` with some of its lines changed, added, dropped or moved at random. */
function edited(g: Draw, source: string): string {
  const lines = source.split('\n');
  for (let edits = upTo(g, 3); edits >= 0; edits--) {
    const at = upTo(g, lines.length);
    const parts = (lines[at] ?? '').split(' ');
    parts.splice(upTo(g, parts.length), upTo(g, 2), ...many(g, 0, 2, () => pick(g, WORDS)));
    const changes = [
      [parts.join(' ')],
      [parts.join(' ')],
      [],
      [pick(g, BLOCKS)(g), lines[at] ?? ''],
      lines.slice(at, at + 3),
    ];
    lines.splice(at, 1, ...pick(g, changes));
  }
  return lines.join('\n');
}

test('reproduces both renderings of 2,000 pairs of contents, related and unrelated', () => {
  const pair = (g: Draw) => {
    const before = content(g);
    expectExact(renderMarkdown(before), renderMarkdown(upTo(g, 3) > 0 ? edited(g, before) : content(g)));
  };
  fc.assert(fc.property(fc.gen(), pair), { seed: SEED, numRuns: 2000 });
});

/** A tree of elements that can represent any output of the renderer, and whose parts can be changed. */
interface Tree {
  readonly tag: string;
  readonly open: string;
  /** Text after the start tag of the element, and after each of its children. */
  gap: string;
  readonly kids: (Tree | string)[];
}

const HOLDS: Readonly<Record<string, readonly string[]>> = {
  root: ['p', 'p', 'ul', 'ol', 'blockquote', 'table', 'pre', 'div', 'hr'],
  blockquote: ['p', 'ul', 'blockquote', 'pre', 'table'],
  div: ['p', 'ul', 'table', 'div', 'pre'],
  li: ['text', 'text', 'em', 'p', 'ul', 'br'],
  p: ['text', 'text', 'text', 'strong', 'em', 'a', 'span', 'math', 'br', 'code'],
  td: ['text', 'strong', 'span'],
  pre: ['text', 'span'],
  ul: ['li'],
  ol: ['li'],
  table: ['thead', 'tbody'],
  thead: ['tr'],
  tbody: ['tr'],
  tr: ['td'],
};
const SPACED = ['root', 'ul', 'ol', 'table', 'thead', 'tbody', 'tr', 'blockquote', 'div'];
const FORMULAS = ['x^2', '\\sqrt{y}', '\\frac{1}{2}'].map((tex) => katex.renderToString(tex));

function grow(g: Draw, tag: string, depth = 0): Tree | string {
  if (tag === 'text')
    return pick(g, WORDS).replace(/^&$/, '&amp;').replace('<', '&lt;') + pick(g, ['', ' ', ' ', '\n']);
  if (tag === 'math') return pick(g, FORMULAS);
  if (tag === 'br' || tag === 'hr') return `<${tag}>${pick(g, ['', '\n'])}`;
  const attribute = {
    a: ' href="/x?a=1&amp;b=2"',
    span: ` class="${pick(g, ['k', 'mi'])}"`,
    div: ' class="spoiler-block"',
  };
  const open = `<${tag}${attribute[tag as 'a'] ?? ''}>`;
  const holds = HOLDS[tag] ?? ['text'];
  const kids = depth > 5 ? [] : tag === 'table' ? [...holds] : many(g, 0, 4, () => pick(g, holds));
  const gap = SPACED.includes(tag) ? '\n' : '';
  return { tag, open, gap, kids: kids.map((kid) => grow(g, kid, depth + 1)) };
}

function written(tree: Tree | string): string {
  if (typeof tree === 'string') return tree;
  const kids = tree.kids.map((kid) => written(kid) + tree.gap).join('');
  if (tree.tag === 'root') return kids.trim();
  if (tree.tag === 'pre') return `<pre><span></span><code>${kids}</code></pre>`;
  return `${tree.open}${tree.gap}${kids}</${tree.tag}>`;
}

function changed(g: Draw, tree: Tree): Tree {
  const copy = structuredClone(tree);
  for (let edits = upTo(g, 3); edits >= 0; edits--) {
    let place = copy;
    for (let down = upTo(g, 5); down > 0; down--) {
      const inner = place.kids.filter((kid) => typeof kid !== 'string');
      if (inner.length > 0) place = pick(g, inner);
    }
    if (SPACED.includes(place.tag) && upTo(g, 9) === 0) place.gap = pick(g, ['', '\n', '\n\n']);
    if (place.tag === 'table') continue;
    const fresh = many(g, 0, 2, () => grow(g, pick(g, HOLDS[place.tag] ?? ['text']), 3));
    place.kids.splice(upTo(g, place.kids.length), upTo(g, 2), ...fresh);
  }
  return copy;
}

test('reproduces any lists, tables, quotes, code and formulas, however nested and changed', () => {
  const pair = (g: Draw) => {
    const before = grow(g, 'root') as Tree;
    expectExact(written(before), written(upTo(g, 4) > 0 ? changed(g, before) : (grow(g, 'root') as Tree)));
  };
  fc.assert(fc.property(fc.gen(), pair), { seed: SEED, numRuns: 2000 });
});

test('reproduces contents of maximum length, even if they have nothing in common', () => {
  const at = (i: number, n: number) => (i * i * 7919 + i * 104_729) % n;
  const text = (from: number, n: number) => Array.from({ length: 2500 }, (_, i) => `w${at(i + from, n)}`).join(' ');
  for (const n of [2, 300, 99_991]) {
    const [before, after] = [text(1, n), text(5000, n)];
    expectExact(`<p>${before}</p>`, `<p>${after}</p>`);
    const [items, others] = [before, after].map((all) => `<ul>\n<li>${all.replaceAll(' ', '</li>\n<li>')}</li>\n</ul>`);
    expectExact(items ?? '', others ?? '');
  }
  const quote = (text: string) => `${'<blockquote>'.repeat(3000)}${text}${'</blockquote>'.repeat(3000)}`;
  expect(htmlDiff(quote('a'), quote('b'))).toContain('<span class="highlight_text_inserted"><blockquote>');
});

const ins = (html: string) => `<span class="highlight_text_inserted">${html}</span>`;
const del = (html: string) => `<span class="highlight_text_deleted">${html}</span>`;

test('marks words, items and rows; whole blocks only if their kind changed', () => {
  const list = (...items: string[]) => `<ul>\n${items.map((item) => `<li>${item}</li>\n`).join('')}</ul>`;
  const table = (...cells: string[][]) =>
    `<table>\n<tbody>\n${cells.map((row) => `<tr>\n${row.map((cell) => `<td>${cell}</td>\n`).join('')}</tr>\n`).join('')}</tbody>\n</table>`;
  const golden: [before: string, after: string, diff: string][] = [
    ['<p>same</p>', '<p>same</p>', '<p>same</p>'],
    ['<p>hello world</p>', '<p>hello there world</p>', `<p>hello ${ins('there ')}world</p>`],
    ['<p>hello, world</p>', '<p>goodbye, world</p>', `<p>${del('hello')}${ins('goodbye')}, world</p>`],
    ['<p>a &lt; b</p>', '<p>a &gt; b</p>', `<p>a ${del('&lt;')}${ins('&gt;')} b</p>`],
    ['<p>東京で会う</p>', '<p>京都で会う</p>', `<p>${del('東京')}${ins('京都')}で会う</p>`],
    [
      '<p>one two three four</p>',
      '<p>uno due tre quattro</p>',
      `<p>${del('one two three four')}${ins('uno due tre quattro')}</p>`,
    ],
    [
      '<p>big <em>red dog</em></p>',
      '<p>big <em>red cat</em></p>',
      `<p>big <em>red ${del('dog')}${ins('cat')}</em></p>`,
    ],
    ['<p>plain</p>', '<p><strong>plain</strong></p>', `<p>${del('plain')}${ins('<strong>plain</strong>')}</p>`],
    ['<p>a</p>', '<p>a</p>\n<p>b</p>', `<p>a</p>${ins('\n<p>b</p>')}`],
    ['', '<p>b</p>', ins('<p>b</p>')],
    [
      '<p>a</p>',
      '<blockquote>\n<p>a</p>\n</blockquote>',
      del('<p>a</p>') + ins('<blockquote>\n<p>a</p>\n</blockquote>'),
    ],
    [list('a', 'c d'), list('a', 'b', 'c e'), list('a', ins('b'), `c ${del('d')}${ins('e')}`)],
    [
      '<ul><li>a</li> <li>b</li></ul>',
      '<ul><li>a</li><li>b</li></ul>',
      `<ul><li>${del('a')}</li> <li>${ins('a')}</li><li>b</li></ul>`,
    ],
    [list('a', ''), list('a', 'b'), list('a', del('') + ins('b'))],
    [table(['a', 'b']), table(['a', 'x'], ['c', 'd']), table(['a', del('b') + ins('x')], [ins('c'), ins('d')])],
    [
      '<pre><span></span><code>x = 1\ny = 2\n</code></pre>',
      '<pre><span></span><code>x = 1\ny = 3\n</code></pre>',
      `<pre><span></span><code>x = 1\ny = ${del('2')}${ins('3')}\n</code></pre>`,
    ],
  ];
  for (const [before, after, diff] of golden) expect(expectExact(before, after)).toBe(diff);
});

test('comparisons share a budget, and when it is used up, everything between the common ends is marked', () => {
  const budget = sharedBudget();
  const [before, after] = [
    '<p>the tide is late as we all know and low</p>',
    '<p>the ship is late as we all know and here</p>',
  ];
  const words = `${del('tide')}${ins('ship')} is late as we all know and ${del('low')}${ins('here')}`;
  expect(htmlDiff(before, after, budget)).toBe(`<p>the ${words}</p>`);
  const { steps } = budget;
  expect(steps).toBeLessThan(sharedBudget().steps);
  expect(steps).toBeGreaterThan(sharedBudget().steps - 100);
  const many = (from: number) => Array.from({ length: 1_500 }, (_, i) => `w${(i * from) % 1_009}`).join(' ');
  let asked = 0;
  for (; budget.steps > 0 && asked < 100; asked++) htmlDiff(`<p>${many(7)}</p>`, `<p>${many(11)}</p>`, budget);
  expect(asked).toBeLessThan(100);
  budget.steps = 0;
  expect(expectExact(before, after, budget)).toBe(
    `<p>the ${del('tide is late as we all know and low')}${ins('ship is late as we all know and here')}</p>`,
  );
});
