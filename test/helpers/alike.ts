import { expect } from 'vitest';
import type { Json } from './http.ts';
import { type Names, nothing } from './scene.ts';

/** What came of a call. */
export interface Outcome {
  readonly status: number;
  readonly body: Json;
}

/** Without what differs from one call to the next: the name itself, and what was made. */
export function comparable({ status, body }: Outcome, name: string | number): string {
  const told = (key: string, value: unknown) => {
    if (key === 'locations') return undefined;
    // A number of things is not the name, though it may be the same number.
    return key === 'totalCount' ? `n${value}` : value;
  };
  const text = JSON.stringify(body, told)
    .replaceAll(typeof name === 'number' ? new RegExp(`\\b${name}\\b`, 'g') : name, '<it>')
    .replaceAll(/new (in GraphQL )?\d+/g, '<new>');
  const isMade = status === 200 && !text.includes('"code"');
  return `${status} ${isMade ? text.replaceAll(/[\da-f]{8}-[-\da-f]{27}|\d+/g, '<made>') : text}`;
}

/** Where in `value` the name stands. */
function placesOf(name: string, value: unknown, place = ''): string[] {
  if (value === name) return [place];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => placesOf(name, inner, `${place}.${key}`));
}

/** A text or number somewhere in a value. */
interface Leaf {
  readonly place: string;
  readonly leaf: string | number;
  /** @returns The whole value with something else in this place. */
  readonly with: (other: unknown) => unknown;
}

/** Every text and number in `value`. */
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
  /** Of what the caller may use. */
  readonly own: Names;
  /** Of what is not there for the caller. */
  readonly foreign: Names;
  readonly kinds: readonly Kind[];
}

/**
 * Checks that calls with a name of what is not there for the caller come to what they come to with names of nothing.
 *
 * @param calls Makes them from names. @param make Makes one of them. @returns In how many places they stood.
 */
export async function expectAlike<C>(
  { own, foreign, kinds }: Compared,
  calls: (names: Names) => readonly C[],
  make: (call: C) => Promise<Outcome>,
): Promise<number> {
  const tried = new Set<string>();
  for (const kind of kinds) {
    const withName = (name: string | number) => calls({ ...own, [kind]: name });
    // One name of nothing is like another, wherever it stands: the first place tries them all.
    let namesOfNothing = allNamesOfNothing(kind);
    for (const [i, call] of withName('<the name>').entries()) {
      const places = placesOf('<the name>', call).map((place) => kind + place);
      if (places.every((place) => tried.has(place))) continue;
      for (const place of places) tried.add(place);
      const outcomeOf = async (name: string | number) => comparable(await make(withName(name)[i] as C), name);
      const found = await outcomeOf(foreign[kind]);
      for (const name of namesOfNothing) {
        expect(found, `${kind} ${name} in ${JSON.stringify(call)}`).toEqual(await outcomeOf(name));
      }
      namesOfNothing = namesOfNothing.slice(0, 1);
    }
  }
  return tried.size;
}

/** No row has them, and can have the second one. */
function allNamesOfNothing(kind: Kind): (string | number)[] {
  const name = nothing()[kind];
  return typeof name === 'number' ? [name, 0] : [name];
}
