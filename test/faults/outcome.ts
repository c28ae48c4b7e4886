import type { Felt } from './felt.ts';

/** What a trial did and found. */
export interface Outcome {
  readonly trial: string;
  /** What happened, counted: how often the fault struck, how much was at stake. */
  readonly facts: Readonly<Record<string, number | string>>;
  /** One sentence each; none when all promises were kept. */
  readonly violations: readonly string[];
  /** Its lines of the table of faults. */
  readonly felt?: readonly Felt[];
}

/** Counts by name, for tables. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  /** Takes in another tally's counts. */
  take(other: Tally): void {
    for (const [name, count] of other.#counts) this.add(name, count);
  }

  /** Each name once, with how often it was counted. */
  get lines(): string[] {
    return [...this.#counts].map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`));
  }

  /** "3 of this, 1 of that", the most frequent first. */
  toString(): string {
    const sorted = [...this.#counts].sort(([, a], [, b]) => b - a);
    return sorted.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
  }
}

/** The first few of a list that may be long. */
export function some(items: Iterable<unknown>, limit = 5): string {
  const all = [...items];
  return all.slice(0, limit).join(', ') + (all.length > limit ? `, … (${all.length})` : '');
}

/** The members of `all` that are not in `known`. */
export function without<T>(all: Iterable<T>, known: ReadonlySet<T>): T[] {
  return [...all].filter((one) => !known.has(one));
}
