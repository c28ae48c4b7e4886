import fc from 'fast-check';
import { between, type Random, seeded } from '../faults/random.ts';
import { HOSTILE_TEXTS } from './texts.ts';

/** Source of the random choices of one input. The choices depend only on the seed. */
export class Dice {
  readonly random: Random;
  readonly #pools: Pools;

  constructor(seed: number, pools: Pools) {
    this.random = seeded(seed);
    this.#pools = pools;
  }

  /** Returns true with this probability. */
  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** Returns an integer from `low` to below `high`. */
  int(low: number, high: number): number {
    return between(this.random, low, high);
  }

  /** Returns a random element. @throws RangeError if `choices` is empty. */
  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new RangeError('Nothing to choose from');
    return choices[this.int(0, choices.length)] as T;
  }

  /** Returns a random element. The probability of each element is proportional to its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.random() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    return (choices.at(-1) as readonly [number, T])[1];
  }

  /** Returns a text: a hostile one or an arbitrary one, with equal probability. */
  text(): string {
    return this.pick(this.chance(0.5) ? HOSTILE_TEXTS : this.#pools.texts);
  }

  /** Returns an arbitrary JSON value. */
  json(): unknown {
    return this.pick(this.#pools.values);
  }

  /** Returns a number: a boundary value or an arbitrary integer, with equal probability. */
  number(): number {
    return this.chance(0.5) ? this.pick(EDGES) : this.pick(this.#pools.integers);
  }

  /** Returns a copy of `value` in which one random part is changed. */
  mutated(value: unknown): unknown {
    if (this.chance(0.35) || typeof value !== 'object' || value === null) return this.#instead(value);
    if (Array.isArray(value)) {
      const at = this.int(0, value.length + 1);
      if (at === value.length) return this.chance(0.5) ? [...value, this.json()] : [...value, ...value];
      return this.chance(0.2) ? value.toSpliced(at, 1) : value.with(at, this.mutated(value[at]));
    }
    const entries = Object.entries(value);
    if (entries.length === 0 || this.chance(0.15)) {
      return Object.fromEntries([...entries, [this.pick(KEYS), this.json()]]);
    }
    const at = this.int(0, entries.length);
    const [name, inner] = entries[at] as [string, unknown];
    return Object.fromEntries(
      this.chance(0.2) ? entries.toSpliced(at, 1) : entries.with(at, [name, this.mutated(inner)]),
    );
  }

  #instead(value: unknown): unknown {
    if (typeof value === 'string') return this.chance(0.8) ? this.#spliced(value) : this.json();
    if (typeof value === 'number') return this.chance(0.8) ? this.number() : this.json();
    if (typeof value === 'boolean') return this.chance(0.7) ? !value : this.json();
    return this.json();
  }

  #spliced(text: string): string {
    const at = this.int(0, text.length + 1);
    return this.pick([
      this.text(),
      text.slice(0, at) + this.text() + text.slice(at),
      text.slice(0, at),
      text.repeat(this.int(0, 5)),
      text.toUpperCase(),
    ]);
  }
}

const EDGES = [0, 1, -1, 2, 100, 255, 256, 1000, 5000, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53 - 1, 2 ** 53];
const KEYS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'type', 'id', 'unknown', '0'];

interface Pools {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
  readonly integers: readonly number[];
}

/**
 * Number of values in each pool of random values. A batch of inputs uses fewer. All are generated within a tenth of a second.
 */
const POOL_SIZE = 2_000;

/**
 * Returns pools of arbitrary values that fast-check generated. All inputs of a run choose their values from these pools. The
 * values depend only on the seed.
 */
export function poolsOf(seed: number): Pools {
  const drawn = <T>(arbitrary: fc.Arbitrary<T>) => fc.sample(arbitrary, { seed, numRuns: POOL_SIZE });
  return {
    texts: drawn(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 30 }),
        fc.string({ unit: 'grapheme', maxLength: 80 }),
        fc.string({ unit: 'binary-ascii', maxLength: 200 }),
        fc.emailAddress(),
        fc.webUrl(),
        fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      ),
    ),
    values: drawn(fc.jsonValue({ maxDepth: 4, noUnicodeString: false })),
    integers: drawn(fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.nat(200))),
  };
}
