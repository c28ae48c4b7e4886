/** A span of code: index of its first back-tick, index after its last back-tick, and number of back-ticks on each side. */
export type CodeSpan = readonly [start: number, end: number, marks: number];

/**
 * Finds the spans of code in a text, in order. A span begins with a run of back-ticks, and ends at the next run with the same
 * number of back-ticks.
 */
export function codeSpansIn(text: string): CodeSpan[] {
  if (!text.includes('`')) return [];
  const runs = [...text.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ start: index, length }));
  const nextOfLength = nextOfSameLength(runs.map(({ length }) => length));
  const spans: CodeSpan[] = [];
  for (let i = 0; i < runs.length; i++) {
    const close = nextOfLength[i];
    const [from, to] = [runs[i], runs[close ?? -1]];
    if (close === undefined || from === undefined || to === undefined) continue;
    spans.push([from.start, to.start + to.length, from.length]);
    i = close;
  }
  return spans;
}

/** Returns, for each of the lengths, the index of the next equal length. Undefined if there is none. */
function nextOfSameLength(lengths: readonly number[]): (number | undefined)[] {
  const last = new Map<number, number>();
  const next: (number | undefined)[] = [];
  for (let i = lengths.length - 1; i >= 0; i--) {
    const length = lengths[i] ?? 0;
    next[i] = last.get(length);
    last.set(length, i);
  }
  return next;
}
