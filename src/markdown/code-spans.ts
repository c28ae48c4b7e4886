/** A span of code: index of its first back-tick, index after its last back-tick, and number of back-ticks on each side. */
export type CodeSpan = readonly [start: number, end: number, marks: number];

/**
 * Finds the spans of code in a text, in order. A span begins with a run of back-ticks, and ends at the next run with the same
 * number of back-ticks.
 */
export function codeSpansIn(text: string): CodeSpan[] {
  const runs: { readonly start: number; readonly length: number }[] = [];
  for (let start = text.indexOf('`'); start !== -1; start = text.indexOf('`', start)) {
    let end = start + 1;
    while (text[end] === '`') end++;
    runs.push({ start, length: end - start });
    start = end;
  }
  if (runs.length === 0) return [];
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

/** Returns, for each length in the list, the index of the next equal length. Undefined if no equal length follows. */
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
