import type { Preview, Rendering } from './rendering.ts';

/** What a place-holder stands for. */
interface Node {
  readonly source: string;
  readonly html: string;
  readonly holdsLink: boolean;
}

/** Two halves of surrogate pairs that begin one: no well-formed text holds them side by side. */
const PLACEHOLDER = /[\uD800-\uDBFF]{2}/g;

const SPECIAL = /[\uD800-\uDBFF]{2}|[&<>\n]/g;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\n': '<br>\n' };

const placeholderOf = (index: number) => String.fromCharCode(0xd800 + (index >> 10), 0xd800 + (index & 1023));

const indexOf = (placeholder: string) =>
  (placeholder.charCodeAt(0) - 0xd800) * 1024 + placeholder.charCodeAt(1) - 0xd800;

/**
 * Looks for one construct in a text, and puts a place-holder where it finds it.
 *
 * @param next The number of the pass after this one: what a construct holds is looked through from there.
 */
export type Pass = (inline: Inline, text: string, next: number) => string;

/** The text of one block while it is looked through: a string in which place-holders stand for what was found. */
export class Inline {
  readonly rendering: Rendering;
  readonly previews: Preview[] = [];
  readonly #passes: readonly Pass[];
  readonly #nodes: Node[] = [];

  /** @param passes What is looked for, in matching order. */
  constructor(rendering: Rendering, passes: readonly Pass[]) {
    this.rendering = rendering;
    this.#passes = passes;
  }

  /**
   * Takes a construct out of the text.
   *
   * @param source What it was written as; may hold place-holders.
   * @param html What it becomes.
   * @returns What stands for it in the text from here on.
   */
  keep(source: string, html: string, holdsLink = false): string {
    this.#nodes.push({ source, html, holdsLink });
    return placeholderOf(this.#nodes.length - 1);
  }

  /** Takes what looks like a construct but is none out of the text, so that no other construct is found in it. */
  literal(source: string): string {
    return this.keep(source, this.html(source), this.holdsLink(source));
  }

  /** Looks for constructs from the pass of that number on. */
  run(text: string, from: number): string {
    let result = text;
    for (let i = from; i < this.#passes.length; i++) result = this.#passes[i]?.(this, result, i + 1) ?? result;
    return result;
  }

  /** The text as HTML, with what its place-holders stand for. */
  html(text: string): string {
    return text.replace(SPECIAL, (found) => ESCAPES[found] ?? this.#nodes[indexOf(found)]?.html ?? '');
  }

  /** The text as it was written. */
  source(text: string): string {
    return text.replace(PLACEHOLDER, (found) => this.source(this.#nodes[indexOf(found)]?.source ?? ''));
  }

  /** Whether there is a link in the text already: links do not nest. */
  holdsLink(text: string): boolean {
    return (text.match(PLACEHOLDER) ?? []).some((found) => this.#nodes[indexOf(found)]?.holdsLink);
  }
}
