import { createRequire } from 'node:module';
import type { KatexOptions } from 'katex';
import type { Inline } from './inline-text.ts';
import type { Rendering } from './rendering.ts';

/** Our choice: a long derivation. The work grows faster than the formula. */
const MAX_FORMULA_LENGTH = 2_000;

/** What each cell of a matrix counts for, in characters: an empty one becomes as much HTML as these. */
const CELL_LENGTH = 5;

/**
 * What all formulas of a text may take: for each the square of its length, with something for its being one. Our
 * choice: four of the longest, or some 1,500 of a few characters.
 */
const MAX_WORK = 4 * MAX_FORMULA_LENGTH ** 2;
const BASE_LENGTH = 100;

/** Our choice: less than half of what a message may be, so that formulas alone never make one unrenderable. */
const MAX_HTML_LENGTH = 400_000;

/**
 * Commands that no formula may use. Those that give names a new meaning, or reach names meant for the engine itself: a
 * few of them blow up a short formula beyond all measure, and the engine counts uses of a name, not what they become.
 * And those that write to the service's own output.
 */
const FORBIDDEN =
  /^\\(?:[egx]?def|(?:future)?let|(?:new|renew|provide)command|global|long|.*@.*|(?:err)?message|show)$/;
const COMMANDS = /\\(?:[a-zA-Z@]+|[\s\S])/g;

/** Lengths beyond this move a formula over what others wrote. */
const FAR_AWAY = /margin-(?:left|right):-?\d{3}/;

const OPTIONS: KatexOptions = {
  // Throws for what it does not know, instead of marking it: the source is shown then.
  throwOnError: true,
  strict: 'ignore',
  trust: false,
  output: 'htmlAndMathml',
  /** In em; our choice. */
  maxSize: 20,
};

interface Tex {
  renderToString(source: string, options: KatexOptions): string;
}

let tex: Tex | undefined;

/** Loads the engine, which takes some 30 ms the first time. */
export function loadTex(): Tex {
  tex ??= createRequire(import.meta.url)('katex') as Tex;
  return tex;
}

/** `$$x$$` within a line. */
export function mathSpans(inline: Inline, text: string): string {
  if (!text.includes('$$')) return text;
  // No dollar sign inside but \$, no place-holder, and none of both next to it.
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
 * A formula as HTML.
 *
 * @param isDisplay Whether it stands in a block of its own.
 * @returns undefined when it is no formula, uses a forbidden command, or is more than the text may spend on formulas.
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
    // A formula can name any character, also those that no text may hold.
    return loadTex()
      .renderToString(source, { ...OPTIONS, displayMode })
      .toWellFormed()
      .replaceAll('\0', '\uFFFD');
  } catch {
    // The engine throws for a formula that is none, and overflows the stack on one that nests too deep.
    return undefined;
  }
}
