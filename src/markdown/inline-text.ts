import type { Preview, Rendering } from './rendering.ts';

/**
 * A construct, such as a link or a mention, that was found in the text of a block. A placeholder in the text stands for the
 * construct.
 */
interface Node {
  readonly source: string;
  readonly html: string;
  readonly holdsLink: boolean;
}

/** Matches a placeholder: two consecutive high surrogates. Well-formed text cannot contain them. */
const PLACEHOLDER = /[\uD800-\uDBFF]{2}/g;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\n': '<br>\n' };

const isHighSurrogate = (code: number) => code >= 0xd800 && code < 0xdc00;

const placeholderOf = (index: number) => String.fromCharCode(0xd800 + (index >> 10), 0xd800 + (index & 1023));

const indexOf = (placeholder: string) =>
  (placeholder.charCodeAt(0) - 0xd800) * 1024 + placeholder.charCodeAt(1) - 0xd800;

/**
 * Function that finds the constructs of one kind in a text and replaces each by a placeholder.
 *
 * @param next Index of the following pass in the list of passes. The content of a construct that this pass finds is processed
 *   only by that pass and the passes after it.
 */
export type Pass = (inline: Inline, text: string, next: number) => string;

/** Text of one block while it is processed. Placeholders in it stand for the constructs that were found. */
export class Inline {
  readonly rendering: Rendering;
  readonly previews: Preview[] = [];
  readonly #passes: readonly Pass[];
  readonly #nodes: Node[] = [];
  /** Placeholders by source, for constructs whose HTML depends only on their source. */
  readonly #alike = new Map<string, string>();

  /** @param passes Functions that find constructs, in the order in which they run. */
  constructor(rendering: Rendering, passes: readonly Pass[]) {
    this.rendering = rendering;
    this.#passes = passes;
  }

  /**
   * Stores a construct, and returns the placeholder that replaces it in the text.
   *
   * @param source Source of the construct. Can contain placeholders.
   * @param html HTML of the construct.
   * @param holdsLink Whether the HTML contains a link.
   */
  keep(source: string, html: string, holdsLink = false): string {
    this.#nodes.push({ source, html, holdsLink });
    return placeholderOf(this.#nodes.length - 1);
  }

  /**
   * Stores a construct whose HTML depends only on its source, and returns the placeholder that replaces it in the text.
   * Constructs with the same source share one placeholder, for example a thousand occurrences of one emoji.
   *
   * @param html Renders the construct. Called only for its first occurrence.
   */
  keepAlike(source: string, html: (source: string) => string): string {
    const known = this.#alike.get(source);
    if (known !== undefined) return known;
    const placeholder = this.keep(source, html(source));
    this.#alike.set(source, placeholder);
    return placeholder;
  }

  /**
   * Returns a placeholder for text that resembles a construct but is none. The placeholder prevents other passes from finding a
   * construct in this text.
   */
  literal(source: string): string {
    return this.keep(source, this.html(source), this.holdsLink(source));
  }

  /** Runs the passes from the index `from` to the last pass, and returns the text with placeholders. */
  run(text: string, from: number): string {
    let result = text;
    for (let i = from; i < this.#passes.length; i++) result = this.#passes[i]?.(this, result, i + 1) ?? result;
    return result;
  }

  /** Returns the text as HTML, including the HTML of its placeholders. */
  html(text: string): string {
    let [result, end] = ['', 0];
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      // All characters of `ESCAPES` are before "?".
      if (code >= 0x3f && !isHighSurrogate(code)) continue;
      const isPlaceholder = isHighSurrogate(code) && isHighSurrogate(text.charCodeAt(i + 1));
      const html = isPlaceholder ? (this.#nodes[indexOf(text.slice(i, i + 2))]?.html ?? '') : ESCAPES[text[i] ?? ''];
      if (html === undefined) continue;
      result += text.slice(end, i) + html;
      if (isPlaceholder) i++;
      end = i + 1;
    }
    return result + text.slice(end);
  }

  /** Returns the source of a text: each placeholder is replaced by the source of its construct. */
  source(text: string): string {
    return text.replace(PLACEHOLDER, (found) => this.source(this.#nodes[indexOf(found)]?.source ?? ''));
  }

  /** Returns whether the text already contains a link. Links cannot be nested. */
  holdsLink(text: string): boolean {
    return (text.match(PLACEHOLDER) ?? []).some((found) => this.#nodes[indexOf(found)]?.holdsLink);
  }
}
