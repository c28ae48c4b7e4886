import { createRequire } from 'node:module';
import type { HLJSApi, LanguageFn } from 'highlight.js';
import { escapeAttribute, escapeCode } from './escape.ts';
import { languageNamed } from './languages.ts';
import type { Rendering } from './rendering.ts';
import { tokenSpans } from './token-spans.ts';

/** Our choice: pages of code. What is longer in a text is shown without highlighting. */
const MAX_CODE_LENGTH = 5_000;

/** What all code of a text may take, in squares of its length: some grammars take so long on what is not their language. */
const MAX_WORK = MAX_CODE_LENGTH ** 2;
const BASE_LENGTH = 50;

/** Nobody writes such lines, and grammars are slowest on them: they look ahead for a line's end, or for a word's. */
const HARD = /[^\n]{301}|\s{101}/;

/** The first word after what may open a fence. */
const FENCE_WORDS = /(?:`{3,}|~{3,})[ \t]*\{?\.?([\w+\-./#]+)?/g;

const require = createRequire(import.meta.url);
let highlighter: HLJSApi | undefined;

/**
 * Loads the highlighter and the grammars that a text names, which takes some milliseconds the first time.
 *
 * @param defaultLanguage The language of fences that name none.
 * @returns Whether there are any.
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
    // The first use compiles it.
    highlighter.highlight('', { language: grammar });
  }
  return highlighter;
}

/**
 * A block of code as HTML.
 *
 * @param word What names the language, in lower case; "" for the organisation's default; undefined for indented code,
 *   which has none.
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

/** Without blank lines at the beginning and the end, and without spaces at the end of lines. */
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
