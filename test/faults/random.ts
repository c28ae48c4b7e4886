/**
 * A function that returns the next number of a pseudorandom sequence, from 0 to below 1. The sequence depends only on the seed.
 */
export type Random = () => number;

/** Returns a Mulberry32 generator. It is small, and random enough to choose positions of cuts and lengths of delays. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns an integer from `low` to below `high`. */
export const between = (random: Random, low: number, high: number): number => low + Math.floor(random() * (high - low));
