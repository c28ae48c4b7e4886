import { decodeBase64, encodeBase64 } from '@pothos/core';
import { MAX_ROW_ID } from '../../platform/ids.ts';

/** An object, as a global id names it. */
export interface Reference {
  readonly typename: string;
  readonly id: number;
}

/** Whose rows have ids of int8. */
const LONG_IDS: ReadonlySet<string> = new Set(['Message', 'Reaction']);

/** The largest id a row of the type can have. */
const maxId = (typename: string): number => (LONG_IDS.has(typename) ? Number.MAX_SAFE_INTEGER : MAX_ROW_ID);

/** The global id of an object, as its `id` has it; of one that is no row's, by what stands for a number. */
export const toGlobalId = (typename: string, id: number | bigint | string): string => encodeBase64(`${typename}:${id}`);

/** The type's name in a global id, and what stands behind it; undefined for what is none. */
export function splitGlobalId(globalId: string): readonly [typename: string, text: string] | undefined {
  try {
    const decoded = decodeBase64(globalId);
    const colon = decoded.indexOf(':');
    // One text for each object, or caches would hold it under several.
    if (colon <= 0 || encodeBase64(decoded) !== globalId) return undefined;
    return [decoded.slice(0, colon), decoded.slice(colon + 1)];
  } catch {
    return undefined;
  }
}

/** What a global id names; undefined for what is none, or of a number that no row can have. */
export function readGlobalId(globalId: string): Reference | undefined {
  const [typename = '', text = ''] = splitGlobalId(globalId) ?? [];
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= maxId(typename) ? { typename, id } : undefined;
}

/** An id that no row has. */
const NOTHING = 0;

/**
 * The row id that a global id in an argument or input stands for.
 *
 * @returns 0, which no row has, for what is malformed or of another type: services say of it what they say of any object
 *   that is not there.
 */
export function rowIdOf(typename: string, globalId: string): number {
  const reference = readGlobalId(globalId);
  return reference?.typename === typename ? reference.id : NOTHING;
}
