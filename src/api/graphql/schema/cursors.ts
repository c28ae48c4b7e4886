import { BadRequestError } from '../../../platform/errors.ts';
import { parseJson } from '../../../platform/json.ts';

const encode = (text: string): string => Buffer.from(text).toString('base64url');

/**
 * Returns the cursor of a row.
 *
 * @param list Name of the list, which distinguishes its cursors from those of other lists.
 * @param position JSON values that determine where the row is in the list.
 */
export const formatCursor = (list: string, ...position: readonly unknown[]): string =>
  encode(JSON.stringify([list, ...position]));

/**
 * Returns the cursor of a row in a list that is ordered by row ids. Nodes of the previous version read only this form. Once all
 * nodes read both, `formatCursor` replaces it.
 */
export const formatIdCursor = (list: string, id: number | bigint): string => encode(`${list}:${id}`);

/** Returns the name of the list and the position in a cursor of either form; an empty list if it is not a cursor. */
export function readCursor(cursor: string): readonly unknown[] {
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, list, id] = /^(\w+):(\d{1,16})$/.exec(text) ?? [];
  if (list !== undefined) return [list, Number(id)];
  try {
    const parts = parseJson(text, 'A cursor');
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

/** The error for an argument that is not a cursor of the list to which it was sent. */
export const notOfList = (name: 'after' | 'before', order = ''): BadRequestError =>
  new BadRequestError(`"${name}" is not a cursor of this list${order}`);

/** Whether a text in a cursor can be a value that the database accepts. Clients can tamper with cursors. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
