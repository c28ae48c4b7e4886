import { createRequire } from 'node:module';
import type { HLJSApi, LanguageFn } from 'highlight.js';
import { escapeAttribute, escapeCode } from './escape.ts';
import { languageNamed } from './languages.ts';
import type { Rendering } from './rendering.ts';
import { tokenSpans } from './token-spans.ts';

/** Maximum sum of the length of a block of code and `BASE_LENGTH`, in characters: several pages. Others are not highlighted. */
const MAX_CODE_LENGTH = 5_000;

/**
 * Maximum work for highlighting all code of a text, in squared characters. Code beyond it is not highlighted. The unit is
 * squared because some grammars take quadratic time for text in another language.
 */
const MAX_WORK = MAX_CODE_LENGTH ** 2;
/**
 * Number of characters that is added to the length of each block of code when its work is calculated. This number stands for
 * the fixed work of highlighting a block.
 */
const BASE_LENGTH = 50;

/**
 * Matches code with very long lines or runs of white space, which real code does not contain. Such code is not highlighted,
 * because grammars are slowest on such code: they look ahead for the end of a line or word.
 */
const HARD = /[^\n]{301}|\s{101}/;

/** Matches characters that may open a fence, and captures the first word after them. */
const FENCE_WORDS = /(?:`{3,}|~{3,})[ \t]*\{?\.?([\w+\-./#]+)?/g;

const require = createRequire(import.meta.url);
let highlighter: HLJSApi | undefined;

/**
 * Loads the highlighter and the grammars of the languages that a text names. The first call takes a few milliseconds.
 *
 * @param defaultLanguage Language of fences that name none.
 * @returns Whether any of the languages has a grammar.
 */
export function loadLanguages(text: string, defaultLanguage: string): boolean {
  const words = [...text.matchAll(FENCE_WORDS)].map(([, word = defaultLanguage]) => word.toLowerCase());
  const grammars = new Set(words.flatMap((word) => languageNamed(word)?.grammar ?? []));
  for (const grammar of grammars) loadGrammar(grammar);
  return grammars.size > 0;
}

function loadGrammar(grammar: string): HLJSApi {
  highlighter ??= require('highlight.js/lib/core') as HLJSApi;
  if (highlighter.getLanguage(grammar) === undefined) {
    highlighter.registerLanguage(grammar, require(`highlight.js/lib/languages/${grammar}`) as LanguageFn);
    // Highlights an empty text, because the first use of a grammar compiles it.
    highlighter.highlight('', { language: grammar });
  }
  return highlighter;
}

/**
 * Renders a block of code as HTML.
 *
 * @param word Name of the language, in lower case. "" means the organization's default language. Undefined for indented code,
 *   which has no language.
 */
export function renderCode(rendering: Rendering, content: string, word: string | undefined): string {
  const code = trimmed(content);
  const named = word === '' ? (rendering.options.defaultCodeLanguage ?? '').toLowerCase() : (word ?? '');
  if (named === '') return codeBlock(escapeCode(code), '');
  const language = languageNamed(named);
  const attribute = ` data-code-language="${escapeAttribute(language?.name ?? named)}"`;
  const html = language?.grammar && highlighted(rendering, code, language.grammar);
  return codeBlock(html ? tokenSpans(html, { isCode: language.isCode }) : escapeCode(code), attribute);
}

const codeBlock = (html: string, attribute: string) =>
  `<div class="codehilite"${attribute}><pre><span></span><code>${html}\n</code></pre></div>`;

/** Removes blank lines at the start and at the end, and white space at the end of lines. */
function trimmed(content: string): string {
  const lines = content.split('\n').map((line) => line.trimEnd());
  const first = lines.findIndex((line) => line !== '');
  const last = lines.findLastIndex((line) => line !== '');
  return first === -1 ? '' : lines.slice(first, last + 1).join('\n');
}

function highlighted({ spent, isPlain }: Rendering, code: string, grammar: string): string | undefined {
  const work = (code.length + BASE_LENGTH) ** 2;
  if (isPlain || code === '' || spent.code + work > MAX_WORK || HARD.test(code)) return undefined;
  spent.code += work;
  return loadGrammar(grammar).highlight(code, { language: grammar, ignoreIllegals: true }).value;
}
