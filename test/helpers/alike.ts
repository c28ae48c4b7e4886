import { expect } from 'vitest';
import type { Json } from './http.ts';
import { type Names, nothing } from './scene.ts';

/** The status and body of a response. */
export interface Outcome {
  readonly status: number;
  readonly body: Json;
}

/** A name that a call gave, and the name that replaces it in the outcome. */
interface Renaming {
  readonly name: string | number;
  readonly by: string | number;
}

/**
 * Returns an outcome as text in which the values that differ between calls are replaced: created ids and keys, and the name
 * that the call gave.
 */
export function comparable({ status, body }: Outcome, renaming?: Renaming): string {
  const replacer = (key: string, value: unknown) => {
    if (key === 'locations') return undefined;
    // Marks a total count, so that it is not replaced: it can be 0, which is also an id of a nonexistent object.
    return key === 'totalCount' ? `n${value}` : value;
  };
  const text = renamed(JSON.stringify(body, replacer), renaming)
    .replaceAll(/new (in GraphQL )?\d+/g, '<new>')
    .replaceAll(/"(api_key|apiKey)":"\w{32}"/g, '"$1":"<made>"')
    .replaceAll(/(\/join\/)[\w-]{43}/g, '$1<token>')
    .replaceAll(/(\/avatar\/\d+)\/[\w-]+/g, '$1/<signed>');
  const isMade = status === 200 && !text.includes('"code"');
  return `${status} ${isMade ? text.replaceAll(/[\da-f]{8}-[-\da-f]{27}|\d+/g, '<made>') : text}`;
}

function renamed(text: string, renaming: Renaming | undefined): string {
  if (renaming === undefined) return text;
  const { name, by } = renaming;
  return text.replaceAll(typeof name === 'number' ? new RegExp(`\\b${name}\\b`, 'g') : name, `${by}`);
}

/** Returns the paths at which `value` contains the name. */
function placesOf(name: string, value: unknown, place = ''): string[] {
  if (value === name) return [place];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => placesOf(name, inner, `${place}.${key}`));
}

/** A string or number within a value, with its path. */
interface Leaf {
  readonly place: string;
  readonly leaf: string | number;
  /** @returns A copy of the whole value with another leaf at this path. */
  readonly with: (other: unknown) => unknown;
}

/** Returns every string and number in `value`, at any depth, with its path. */
export function leavesOf(value: unknown, place = ''): Leaf[] {
  if (typeof value === 'string' || typeof value === 'number') return [{ place, leaf: value, with: (leaf) => leaf }];
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    leavesOf(inner, `${place}.${key}`).map((leaf) => ({
      ...leaf,
      with: (other: unknown) =>
        Array.isArray(value) ? value.with(Number(key), leaf.with(other)) : { ...value, [key]: leaf.with(other) },
    })),
  );
}

type Kind = keyof Names;

interface Compared {
  /** Names of objects that the caller can access. */
  readonly own: Names;
  /** Names of objects that the caller must not see. */
  readonly foreign: Names;
  readonly kinds: readonly Kind[];
}

/**
 * Checks that calls that name a hidden object have the outcome of calls that name a nonexistent object.
 *
 * @param calls Builds the calls from names.
 * @param make Sends one call.
 * @returns Number of paths in the calls where a name was replaced.
 */
export async function expectAlike<C>(
  { own, foreign, kinds }: Compared,
  calls: (names: Names) => readonly C[],
  make: (call: C) => Promise<Outcome>,
): Promise<number> {
  const tried = new Set<string>();
  for (const kind of kinds) {
    const withName = (name: string | number) => calls({ ...own, [kind]: name });
    // The names of nonexistent objects are equivalent, so only the first call is compared with each of them.
    let namesOfNothing = allNamesOfNothing(kind);
    for (const [i, call] of withName('<the name>').entries()) {
      const places = placesOf('<the name>', call).map((place) => kind + place);
      if (places.every((place) => tried.has(place))) continue;
      for (const place of places) tried.add(place);
      const outcomeOf = (name: string | number) => make(withName(name)[i] as C);
      const by = foreign[kind];
      const found = comparable(await outcomeOf(by));
      for (const name of namesOfNothing) {
        // The hidden name replaces the nonexistent one and not conversely: another id in the outcome can equal the hidden id.
        const expected = comparable(await outcomeOf(name), { name, by });
        expect(found, `${kind} ${name} in ${JSON.stringify(call)}`).toEqual(expected);
      }
      namesOfNothing = namesOfNothing.slice(0, 1);
    }
  }
  return tried.size;
}

/**
 * Returns names of nonexistent objects of a kind: one that an object could have and, for numbers, also 0, which no id can be.
 */
function allNamesOfNothing(kind: Kind): (string | number)[] {
  const name = nothing()[kind];
  return typeof name === 'number' ? [name, 0] : [name];
}
