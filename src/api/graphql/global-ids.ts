import { decodeBase64, encodeBase64 } from '@pothos/core';
import { MAX_ROW_ID } from '../../platform/ids.ts';

/** An object, as a global id names it. */
export interface Reference {
  readonly typename: string;
  readonly id: number;
}

/** The largest id a row of the type can have: those of messages are int8. */
const maxId = (typename: string): number => (typename === 'Message' ? Number.MAX_SAFE_INTEGER : MAX_ROW_ID);

/** The global id of an object, as its `id` has it. */
export const toGlobalId = (typename: string, id: number | bigint): string => encodeBase64(`${typename}:${id}`);

/** What a global id names; undefined for what is none, or of a number that no row can have. */
export function readGlobalId(globalId: string): Reference | undefined {
  let parts: readonly string[];
  try {
    parts = decodeBase64(globalId).split(':');
  } catch {
    return undefined;
  }
  const [typename = '', text = '', ...rest] = parts;
  if (rest.length > 0 || !/^[1-9]\d{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  // One text for each object, or caches would hold it under several.
  return id <= maxId(typename) && globalId === toGlobalId(typename, id) ? { typename, id } : undefined;
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
