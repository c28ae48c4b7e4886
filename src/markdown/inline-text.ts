import type { Preview, Rendering } from './rendering.ts';

/** A construct that a placeholder stands for. */
interface Node {
  readonly source: string;
  readonly html: string;
  readonly holdsLink: boolean;
}

/** Matches a placeholder: two high surrogates in sequence. Well-formed text cannot contain these. */
const PLACEHOLDER = /[\uD800-\uDBFF]{2}/g;

const SPECIAL = /[\uD800-\uDBFF]{2}|[&<>\n]/g;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\n': '<br>\n' };

const placeholderOf = (index: number) => String.fromCharCode(0xd800 + (index >> 10), 0xd800 + (index & 1023));

const indexOf = (placeholder: string) =>
  (placeholder.charCodeAt(0) - 0xd800) * 1024 + placeholder.charCodeAt(1) - 0xd800;

/**
 * Finds one construct in a text and replaces it with placeholders.
 *
 * @param next Index of the pass after this one. The content of a construct is processed from there.
 */
export type Pass = (inline: Inline, text: string, next: number) => string;

/** The text of one block while it is processed: a string in which placeholders stand for the constructs found. */
export class Inline {
  readonly rendering: Rendering;
  readonly previews: Preview[] = [];
  readonly #passes: readonly Pass[];
  readonly #nodes: Node[] = [];
  /** Placeholders of constructs whose HTML depends on their source alone, by the source. */
  readonly #alike = new Map<string, string>();

  /** @param passes In matching order. */
  constructor(rendering: Rendering, passes: readonly Pass[]) {
    this.rendering = rendering;
    this.#passes = passes;
  }

  /**
   * Replaces a construct with a placeholder.
   *
   * @param source Source of the construct. Can contain placeholders.
   * @param html HTML of the construct.
   * @returns The placeholder.
   */
  keep(source: string, html: string, holdsLink = false): string {
    this.#nodes.push({ source, html, holdsLink });
    return placeholderOf(this.#nodes.length - 1);
  }

  /**
   * Does the same as `keep` for a construct whose HTML depends on its source alone. Equal constructs share one node, for example
   * thousands of the same emoji.
   *
   * @param html Renders the construct. Called at its first occurrence.
   */
  keepAlike(source: string, html: (source: string) => string): string {
    const known = this.#alike.get(source);
    if (known !== undefined) return known;
    const placeholder = this.keep(source, html(source));
    this.#alike.set(source, placeholder);
    return placeholder;
  }

  /** Replaces text that resembles a construct but is none with a placeholder, so that no other construct is found in it. */
  literal(source: string): string {
    return this.keep(source, this.html(source), this.holdsLink(source));
  }

  /** Runs the passes from an index on. */
  run(text: string, from: number): string {
    let result = text;
    for (let i = from; i < this.#passes.length; i++) result = this.#passes[i]?.(this, result, i + 1) ?? result;
    return result;
  }

  /** Returns the text as HTML, including the HTML of its placeholders. */
  html(text: string): string {
    return text.replace(SPECIAL, (found) => ESCAPES[found] ?? this.#nodes[indexOf(found)]?.html ?? '');
  }

  /** Returns the text as it was written, without placeholders. */
  source(text: string): string {
    return text.replace(PLACEHOLDER, (found) => this.source(this.#nodes[indexOf(found)]?.source ?? ''));
  }

  /** Whether the text already contains a link: links do not nest. */
  holdsLink(text: string): boolean {
    return (text.match(PLACEHOLDER) ?? []).some((found) => this.#nodes[indexOf(found)]?.holdsLink);
  }
}
