import type { Felt } from './felt.ts';

/** Result of a trial. */
export interface Outcome {
  readonly trial: string;
  /** Counts and durations by name, for example how often the fault happened and how many changes were made. */
  readonly facts: Readonly<Record<string, number | string>>;
  /** One sentence for each broken guarantee. */
  readonly violations: readonly string[];
  /** Rows that this trial adds to the table of all faults. */
  readonly felt?: readonly Felt[];
}

/** Counters by name, for tables. */
export class NamedCounters {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  /** Adds all counts of another `NamedCounters` object to the counts of this one. */
  take(other: NamedCounters): void {
    for (const [name, count] of other.#counts) this.add(name, count);
  }

  /** Returns each name once, followed by its count if the count is more than one. */
  get lines(): string[] {
    return [...this.#counts].map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`));
  }

  /** Returns the counts as text, highest first: "3 of this, 1 of that". */
  toString(): string {
    const sorted = [...this.#counts].sort(([, a], [, b]) => b - a);
    return sorted.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
  }
}

/** Returns the first `limit` items as text. If there are more, appends the total number. */
export function some(items: Iterable<unknown>, limit = 5): string {
  const all = [...items];
  return all.slice(0, limit).join(', ') + (all.length > limit ? `, … (${all.length})` : '');
}

/** Returns the elements of `all` that are not in `known`. */
export function without<T>(all: Iterable<T>, known: ReadonlySet<T>): T[] {
  return [...all].filter((one) => !known.has(one));
}
