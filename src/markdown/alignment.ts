import { diffArrays } from 'diff';
import type { HtmlElement, HtmlUnit } from './html-units.ts';

/** A stretch of two contents: units that are the same in both, one to one, or units that took the place of others. */
export interface Chunk {
  readonly same: boolean;
  readonly old: readonly HtmlUnit[];
  readonly new: readonly HtmlUnit[];
}

/** How much work one comparison of two documents may still do, in steps of the search for what is common. */
export interface Budget {
  steps: number;
}

/** About 100 ms at the worst; ordinary edits take a thousandth of it. Our choice. */
export const BUDGET_STEPS = 500_000;

/** The most insertions and deletions looked for in one element; beyond, its texts have little in common. Our choice. */
const MAX_EDITS = 600;

/** The most pairs of elements whose words are compared in one place. Our choice. */
const MAX_PAIRS = 2500;

/**
 * What `before` and `after` have in common, and what not, in order. Two units are the same when their HTML is; the
 * white space after them may differ.
 *
 * When the budget does not suffice, everything between the common start and the common end counts as replaced.
 */
export function align(before: readonly HtmlUnit[], after: readonly HtmlUnit[], budget: Budget): Chunk[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start]?.html === after[start]?.html) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end)?.html === after.at(-1 - end)?.html) end++;
  const middle = { old: before.slice(start, before.length - end), new: after.slice(start, after.length - end) };
  const chunks: Chunk[] = [
    { same: true, old: before.slice(0, start), new: after.slice(0, start) },
    ...(commonOf(middle.old, middle.new, budget) ?? [{ same: false, ...middle }]),
    { same: true, old: before.slice(before.length - end), new: after.slice(after.length - end) },
  ];
  return withoutChance(chunks.filter((chunk) => chunk.old.length + chunk.new.length > 0));
}

function commonOf(before: readonly HtmlUnit[], after: readonly HtmlUnit[], budget: Budget): Chunk[] | undefined {
  const found = search(
    before.map(({ html }) => html),
    after.map(({ html }) => html),
    budget,
  );
  if (!found) return undefined;
  const chunks: { same: boolean; old: HtmlUnit[]; new: HtmlUnit[] }[] = [];
  let [i, j] = [0, 0];
  for (const { count, added, removed } of found) {
    const old = added ? [] : before.slice(i, i + count);
    const now = removed ? [] : after.slice(j, j + count);
    i += old.length;
    j += now.length;
    const last = chunks.at(-1);
    const same = !added && !removed;
    if (last?.same === false && !same) {
      last.old.push(...old);
      last.new.push(...now);
    } else {
      chunks.push({ same, old, new: now });
    }
  }
  return chunks;
}

/** The shortest way from one list to the other; undefined when it is too long to look for. */
function search(before: readonly string[], after: readonly string[], budget: Budget) {
  // Comparing numbers, not texts, keeps a step's cost the same however long the elements are.
  const ids = new Map<string, number>();
  const numbered = (text: string) => {
    const id = ids.get(text) ?? ids.size;
    ids.set(text, id);
    return id;
  };
  const [old, now] = [before.map(numbered), after.map(numbered)];
  // A search that goes as far as n edits takes about n²/2 steps.
  const maxEditLength = Math.min(MAX_EDITS, Math.floor(Math.sqrt(2 * Math.max(budget.steps, 0))));
  const found = diffArrays(old, now, { maxEditLength });
  const edits = found
    ? found.reduce((sum, { count, added, removed }) => sum + (added || removed ? count : 0), 0)
    : maxEditLength;
  budget.steps -= edits ** 2 / 2;
  return found;
}

/**
 * Drops what is common by chance: words between two changes that are both at least as long. A text in which every
 * fifth word survived is easier to read as one that was replaced.
 */
function withoutChance(chunks: readonly Chunk[]): Chunk[] {
  const kept: { same: boolean; old: HtmlUnit[]; new: HtmlUnit[]; size: number; isText: boolean }[] = [];
  for (const { same, old, new: now } of chunks) {
    const size = Math.max(lengthOf(old), lengthOf(now));
    const isText = areWords(old) && areWords(now);
    const [before, between] = [kept.at(-2), kept.at(-1)];
    const surrounded = !same && between?.same === true && before?.same === false;
    const allText = isText && between?.isText === true && before?.isText === true;
    if (surrounded && allText && between.size <= Math.min(before.size, size)) {
      kept.pop();
      before.old.push(...between.old, ...old);
      before.new.push(...between.new, ...now);
      before.size += between.size + size;
    } else {
      kept.push({ same, old: [...old], new: [...now], size, isText });
    }
  }
  return kept;
}

function areWords(units: readonly HtmlUnit[]): boolean {
  return units.every(({ html }) => !html.startsWith('<'));
}

function lengthOf(units: readonly HtmlUnit[]): number {
  return units.reduce((sum, { html }) => sum + html.length, 0);
}

/**
 * Which elements of a replaced stretch became which: those with the same start tag, in order, that have the most words
 * in common.
 *
 * @returns Pairs of positions, rising in both.
 */
export function pairElements(
  before: readonly HtmlUnit[],
  after: readonly HtmlUnit[],
  budget: Budget,
): [number, number][] {
  const old = candidates(before, after);
  const now = candidates(after, before);
  if (old.length === 0 || now.length === 0) return [];
  const pairs = old.length * now.length > MAX_PAIRS ? pairInOrder(old, now, budget) : pairBySimilarity(old, now);
  return pairs.map(([i, j]) => [old[i]?.at ?? 0, now[j]?.at ?? 0]);
}

interface Candidate {
  readonly at: number;
  readonly element: HtmlElement;
}

function candidates(units: readonly HtmlUnit[], others: readonly HtmlUnit[]): Candidate[] {
  const tags = new Set(others.map(({ element }) => element?.open));
  return units.flatMap(({ element }, at) => (element && tags.has(element.open) ? [{ at, element }] : []));
}

function pairInOrder(old: readonly Candidate[], now: readonly Candidate[], budget: Budget): [number, number][] {
  const tags = (list: readonly Candidate[]) => list.map(({ element }) => element.open);
  const pairs: [number, number][] = [];
  let [i, j] = [0, 0];
  for (const { count, added, removed } of search(tags(old), tags(now), budget) ?? []) {
    if (!added && !removed) for (let k = 0; k < count; k++) pairs.push([i + k, j + k]);
    if (!added) i += count;
    if (!removed) j += count;
  }
  return pairs;
}

function pairBySimilarity(old: readonly Candidate[], now: readonly Candidate[]): [number, number][] {
  const bags = [old, now].map((list) => list.map(({ element }) => bagOf(element)));
  const gain = (i: number, j: number) => {
    if (old[i]?.element.open !== now[j]?.element.open) return 0;
    // Even nothing in common is better than no pair: the one then stands where the other stood.
    return 0.01 + similarity(bags[0]?.[i] ?? new Map(), bags[1]?.[j] ?? new Map());
  };
  const gains = old.map((_, i) => now.map((_, j) => gain(i, j)));
  // best[i][j]: the most that pairs from i and j on can give.
  const best = Array.from({ length: old.length + 1 }, () => new Float64Array(now.length + 1));
  const at = (i: number, j: number) => best[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const gained = gains[i]?.[j] ?? 0;
      const paired = gained > 0 ? gained + at(i + 1, j + 1) : 0;
      const row = best[i];
      if (row) row[j] = Math.max(paired, at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let [i, j] = [0, 0]; i < old.length && j < now.length; ) {
    if (at(i, j) === at(i + 1, j)) i++;
    else if (at(i, j) === at(i, j + 1)) j++;
    else pairs.push([i++, j++]);
  }
  return pairs;
}

/** How often each word occurs in an element. */
function bagOf(element: HtmlElement, bag = new Map<string, number>()): Map<string, number> {
  for (const { html, element: inner } of element.content.units) {
    if (inner) bagOf(inner, bag);
    else bag.set(html, (bag.get(html) ?? 0) + html.length);
  }
  return bag;
}

/** 0 when two bags have nothing in common, 1 when they are equal. */
function similarity(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  if (a.size > b.size) return similarity(b, a);
  let common = 0;
  for (const [word, weight] of a) common += Math.min(weight, b.get(word) ?? 0);
  const total = [...a.values(), ...b.values()].reduce((sum, weight) => sum + weight, 0);
  return total === 0 ? 0 : (2 * common) / total;
}
