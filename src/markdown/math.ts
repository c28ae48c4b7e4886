import { createRequire } from 'node:module';
import type { KatexOptions } from 'katex';
import type { Inline } from './inline-text.ts';
import type { Rendering } from './rendering.ts';

/**
 * Maximum length of a formula, in characters: enough for a long derivation. Longer formulas are shown as source. The work grows
 * faster than the length.
 */
const MAX_FORMULA_LENGTH = 2_000;

/**
 * Number of characters that is added to the length of a formula for each cell of a matrix. Even an empty cell results in as
 * much HTML as these characters.
 */
const CELL_LENGTH = 5;

/**
 * Maximum work for all formulas of a text. A formula counts as (length + `BASE_LENGTH`)². Formulas beyond the limit are shown
 * as source. The limit is enough for four of the longest formulas, or for about 1,500 formulas of a few characters.
 */
const MAX_WORK = 4 * MAX_FORMULA_LENGTH ** 2;
/** Number of characters that is added to the length of each formula. It stands for the fixed work of rendering a formula. */
const BASE_LENGTH = 100;

/**
 * Maximum length of the HTML of all formulas of a text, in characters. Once it is exceeded, formulas are shown as source. The
 * value is less than half of the maximum length of a message's HTML, so that formulas alone never exceed that length.
 */
const MAX_HTML_LENGTH = 400_000;

/**
 * Matches commands that formulas cannot use. Most of them define names, or are internal names of the engine. Some of these can
 * expand a short formula without limit: the engine limits the number of expansions but not the size of the result. The others
 * (`errmessage`, `message`, `show`) write to the output of the service.
 */
const FORBIDDEN =
  /^\\(?:[egx]?def|(?:future)?let|(?:new|renew|provide)command|global|long|.*@.*|(?:err)?message|show)$/;
const COMMANDS = /\\(?:[a-zA-Z@]+|[\s\S])/g;

/** Matches HTML with horizontal offsets of three or more digits, which would move a formula over messages of other users. */
const FAR_AWAY = /margin-(?:left|right):-?\d{3}/;

const OPTIONS: KatexOptions = {
  // The engine throws an error for unsupported input. The source of the formula is then shown instead.
  throwOnError: true,
  strict: 'ignore',
  trust: false,
  output: 'htmlAndMathml',
  /** Maximum of the sizes that a formula can specify, in em. Larger sizes are reduced to it. */
  maxSize: 20,
};

interface Tex {
  renderToString(source: string, options: KatexOptions): string;
}

let tex: Tex | undefined;

/** Loads the engine that renders formulas. The first call takes about 30 ms. */
export function loadTex(): Tex {
  tex ??= createRequire(import.meta.url)('katex') as Tex;
  return tex;
}

/** Replaces formulas of the form `$$x$$` within a line by placeholders of their HTML. */
export function mathSpans(inline: Inline, text: string): string {
  if (!text.includes('$$')) return text;
  // The formula contains no `$` except `\$`, and no line break. No `$`, letter, digit or underscore is next to it.
  return text.replace(
    /(?<![$\p{L}\p{N}_])\$\$(?![_$])((?:\\\$|[^\n$])+)\$\$(?![$\p{L}\p{N}_])/gu,
    (source: string, formula: string) => {
      const written = inline.source(formula);
      const html = written === formula ? renderTex(inline.rendering, formula, { isDisplay: false }) : undefined;
      if (html !== undefined) return inline.keep(source, html);
      return inline.keep(
        source,
        `<span class="tex-error">$$${inline.html(formula)}$$</span>`,
        inline.holdsLink(formula),
      );
    },
  );
}

/**
 * Renders a formula as HTML.
 *
 * @param isDisplay Whether the formula is a block of its own and not part of a line.
 * @returns Undefined if the formula is invalid, uses a forbidden command or a large horizontal offset, or exceeds a limit. Also
 *   undefined if the rendering does not render formulas (`isPlain`).
 */
export function renderTex(
  { spent, isPlain }: Rendering,
  source: string,
  { isDisplay }: { isDisplay: boolean },
): string | undefined {
  const length = source.length + CELL_LENGTH * (source.split('&').length - 1);
  const work = (length + BASE_LENGTH) ** 2;
  const isTooMuch = isPlain || length > MAX_FORMULA_LENGTH || spent.math + work > MAX_WORK;
  if (isTooMuch || spent.mathHtml > MAX_HTML_LENGTH || isForbidden(source)) return undefined;
  spent.math += work;
  const html = tryTex(source, isDisplay);
  spent.mathHtml += html?.length ?? 0;
  return spent.mathHtml > MAX_HTML_LENGTH || (html !== undefined && FAR_AWAY.test(html)) ? undefined : html;
}

const isForbidden = (source: string) =>
  source.match(COMMANDS)?.some((command) => command.length > 2 && FORBIDDEN.test(command)) === true;

function tryTex(source: string, displayMode: boolean): string | undefined {
  try {
    // A formula can produce any character, including null characters and lone surrogates. These are replaced.
    return loadTex()
      .renderToString(source, { ...OPTIONS, displayMode })
      .toWellFormed()
      .replaceAll('\0', '\uFFFD');
  } catch {
    // The engine throws for an invalid formula. Deep nesting causes a stack overflow.
    return undefined;
  }
}
