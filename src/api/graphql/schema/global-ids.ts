import { decodeBase64, encodeBase64 } from '@pothos/core';
import { MAX_ROW_ID } from '../../../platform/ids.ts';

/** The parts of a global id: the type and the row id of the object. */
export interface Reference {
  readonly typename: string;
  readonly id: number;
}

/** Names of the types whose row ids are int8 in the database. The row ids of all other types are int4. */
const LONG_IDS: ReadonlySet<string> = new Set(['Message', 'Reaction', 'AuditLogEntry']);

/** Returns the maximum row id of the type. */
const maxId = (typename: string): number => (LONG_IDS.has(typename) ? Number.MAX_SAFE_INTEGER : MAX_ROW_ID);

/** Returns the global id of an object. @param id Row id. For an object that is not a row: a text that identifies it. */
export const toGlobalId = (typename: string, id: number | bigint | string): string => encodeBase64(`${typename}:${id}`);

/** Returns the type name in a global id, and the text after it; undefined if the id is malformed. */
export function splitGlobalId(globalId: string): readonly [typename: string, text: string] | undefined {
  try {
    const decoded = decodeBase64(globalId);
    const colon = decoded.indexOf(':');
    // Only the canonical encoding is accepted. If several ids named the same object, clients would cache the object several
    // times.
    if (colon <= 0 || encodeBase64(decoded) !== globalId) return undefined;
    return [decoded.slice(0, colon), decoded.slice(colon + 1)];
  } catch {
    return undefined;
  }
}

/** Returns the type and row id in a global id. Undefined if the id is malformed, or larger than any row id of the type. */
export function readGlobalId(globalId: string): Reference | undefined {
  const [typename = '', text = ''] = splitGlobalId(globalId) ?? [];
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= maxId(typename) ? { typename, id } : undefined;
}

/** Names of the types whose objects are not database rows. A text identifies such an object. */
const TEXT_IDS: ReadonlySet<string> = new Set(['Topic']);

/**
 * Returns the id of an object for a global id in an argument or input: its row id, or its text if the object is not a database
 * row.
 *
 * @returns 0 or an empty text if the id is malformed or belongs to another type. No object has such an id.
 */
export function idIn(typename: string, globalId: string): number | string {
  if (!TEXT_IDS.has(typename)) return rowIdOf(typename, globalId);
  const [given, text = ''] = splitGlobalId(globalId) ?? [];
  return given === typename ? text : '';
}

/** A row id that no row has. */
const NOTHING = 0;

/**
 * Returns the row id for a global id in an argument or input.
 *
 * @returns 0, which no row has, if the id is malformed or belongs to another type. Services then respond as for any object that
 *   does not exist.
 */
function rowIdOf(typename: string, globalId: string): number {
  const reference = readGlobalId(globalId);
  return reference?.typename === typename ? reference.id : NOTHING;
}
