import type { Json } from './http.ts';

/** What came of a call. */
export interface Outcome {
  readonly status: number;
  readonly body: Json;
}

/** Without what differs from one call to the next: the name itself, and what was made. */
export function comparable({ status, body }: Outcome, name: string | number): string {
  const text = JSON.stringify(body, (key, value) => (key === 'locations' ? undefined : value))
    .replaceAll(typeof name === 'number' ? new RegExp(`\\b${name}\\b`, 'g') : name, '<it>')
    .replaceAll(/new (in GraphQL )?\d+/g, '<new>');
  const isMade = status === 200 && !text.includes('"code"');
  return `${status} ${isMade ? text.replaceAll(/[\da-f]{8}-[-\da-f]{27}|\d+/g, '<made>') : text}`;
}

/** Where in `value` the name stands. */
export function placesOf(name: string, value: unknown, place = ''): string[] {
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
