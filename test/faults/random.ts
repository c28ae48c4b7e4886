/** Numbers from 0 to 1, the same ones for the same seed. */
export type Random = () => number;

/** Mulberry32: small, and good enough to place cuts and delays. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** An integer from `low` up to and without `high`. */
export const between = (random: Random, low: number, high: number): number => low + Math.floor(random() * (high - low));
