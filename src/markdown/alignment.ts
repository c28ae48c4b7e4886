import { diffArrays } from 'diff';
import type { HtmlElement, HtmlUnit } from './html-units.ts';

/**
 * A section of two aligned texts. If `same` is true, it has units that both texts contain. Otherwise, it has units of the old
 * text and the units of the new text that replace them.
 */
export interface Chunk {
  readonly same: boolean;
  readonly old: readonly HtmlUnit[];
  readonly new: readonly HtmlUnit[];
}

/** Remaining work that one or several comparisons can do, in steps of the search for common units. */
export interface Budget {
  steps: number;
}

/**
 * Maximum work of one comparison, in steps of the search: about 100 ms in the worst case. If it does not suffice, the differing
 * middle parts of the texts count as replaced. An ordinary edit takes a thousandth of this work.
 */
export const BUDGET_STEPS = 500_000;

/**
 * Maximum total number of insertions and deletions of units in one element. If there are more, the differing middle parts of
 * the element count as replaced.
 */
const MAX_EDITS = 600;

/**
 * Maximum number of possible pairs of elements in a replaced section. If there are more, the words of the elements are not
 * compared, and the elements are paired by their order only.
 */
const MAX_PAIRS = 2500;

/**
 * Aligns the units of an old and a new text, and returns the common and the replaced sections, in order. Two units are equal if
 * their HTML is equal; the white space after them may differ.
 *
 * If the budget does not suffice, all units between the common start and the common end of the two texts count as replaced.
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

/**
 * Returns the shortest edit script from `before` to `after`. Undefined if the script has more edits than `MAX_EDITS` or than
 * the budget allows.
 */
function search(before: readonly string[], after: readonly string[], budget: Budget) {
  // Compares numbers instead of texts, so that the cost of a step does not depend on the length of the elements.
  const ids = new Map<string, number>();
  const numbered = (text: string) => {
    const id = ids.get(text) ?? ids.size;
    ids.set(text, id);
    return id;
  };
  const [old, now] = [before.map(numbered), after.map(numbered)];
  // A search for up to n edits takes about n²/2 steps, so this number of edits uses up the budget.
  const maxEditLength = Math.min(MAX_EDITS, Math.floor(Math.sqrt(2 * Math.max(budget.steps, 0))));
  const found = diffArrays(old, now, { maxEditLength });
  const edits = found
    ? found.reduce((sum, { count, added, removed }) => sum + (added || removed ? count : 0), 0)
    : maxEditLength;
  budget.steps -= edits ** 2 / 2;
  return found;
}

/**
 * Merges accidental matches into the replaced sections around them. A common section is an accidental match if it is not longer
 * than either of the two replaced sections around it, and if all three sections contain no elements. For example, a text in
 * which only every fifth word is unchanged is easier to read if the whole text is shown as replaced.
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
 * Pairs old with new elements of a replaced section. The two elements of a pair have the same start tag. The chosen pairs have
 * the most words in common. In a section with more than `MAX_PAIRS` possible pairs, elements are paired by their order only.
 *
 * @returns Pairs of an index in `before` and an index in `after`. Both ascend.
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
    // A pair without common words is better than no pair: the new element then appears in place of the old one.
    return 0.01 + similarity(bags[0]?.[i] ?? new Map(), bags[1]?.[j] ?? new Map());
  };
  const gains = old.map((_, i) => now.map((_, j) => gain(i, j)));
  // best[i][j] is the largest total gain of pairs of elements at index i or later with elements at index j or later.
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

/** Returns a weight for each word in an element: the number of its occurrences times its length. */
function bagOf(element: HtmlElement, bag = new Map<string, number>()): Map<string, number> {
  for (const { html, element: inner } of element.content.units) {
    if (inner) bagOf(inner, bag);
    else bag.set(html, (bag.get(html) ?? 0) + html.length);
  }
  return bag;
}

/** Returns the similarity of two bags of words, from 0 (nothing in common) to 1 (equal). */
function similarity(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  if (a.size > b.size) return similarity(b, a);
  let common = 0;
  for (const [word, weight] of a) common += Math.min(weight, b.get(word) ?? 0);
  const total = [...a.values(), ...b.values()].reduce((sum, weight) => sum + weight, 0);
  return total === 0 ? 0 : (2 * common) / total;
}
