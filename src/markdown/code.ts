import { createRequire } from 'node:module';
import type { HLJSApi, LanguageFn } from 'highlight.js';
import { escapeAttribute, escapeCode } from './escape.ts';
import { languageNamed } from './languages.ts';
import type { Rendering } from './rendering.ts';
import { tokenSpans } from './token-spans.ts';

/** Length of the longest highlighted code, in characters: several pages. Longer code is not highlighted. */
const MAX_CODE_LENGTH = 5_000;

/**
 * Work limit for all code of a text. The unit is length squared: some grammars take quadratic time for text in another
 * language.
 */
const MAX_WORK = MAX_CODE_LENGTH ** 2;
const BASE_LENGTH = 50;

/**
 * Matches lines that real code does not contain. They are not highlighted, because grammars are slowest on them: they look
 * ahead for the end of a line or word.
 */
const HARD = /[^\n]{301}|\s{101}/;

/** Matches marks that may open a fence, and captures the first word after them. */
const FENCE_WORDS = /(?:`{3,}|~{3,})[ \t]*\{?\.?([\w+\-./#]+)?/g;

const require = createRequire(import.meta.url);
let highlighter: HLJSApi | undefined;

/**
 * Loads the highlighter and the grammars for the languages named in a text. The first call takes a few milliseconds.
 *
 * @param defaultLanguage The language of fences that name none.
 * @returns Whether there are any grammars.
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
    // The first use compiles the grammar.
    highlighter.highlight('', { language: grammar });
  }
  return highlighter;
}

/**
 * Renders a block of code.
 *
 * @param word Name of the language, in lower case. "" for the organization's default. Undefined for indented code, which
 *   has no language.
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

/** Removes blank lines at the start and the end, and spaces at the end of lines. */
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
