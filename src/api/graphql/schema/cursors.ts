import { ValidationError } from '../../../platform/errors.ts';
import { parseJson } from '../../../platform/json.ts';

const encode = (text: string): string => Buffer.from(text).toString('base64url');

/**
 * Returns the cursor of a row.
 *
 * @param list Name of the list, which distinguishes its cursors from cursors of other lists.
 * @param position JSON values that determine the position of the row in the list.
 */
export const formatCursor = (list: string, ...position: readonly unknown[]): string =>
  encode(JSON.stringify([list, ...position]));

/**
 * Returns the cursor of a row in a list that is ordered by row ids. Servers that still run the previous version can read only
 * cursors of this form. Once all servers can read both forms, `formatCursor` can replace this function.
 */
export const formatIdCursor = (list: string, id: number | bigint): string => encode(`${list}:${id}`);

/**
 * Returns the contents of a cursor that `formatCursor` or `formatIdCursor` created: the name of the list, then the values of
 * the position. Returns an empty array if the text is not a cursor.
 */
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

/**
 * Returns the error for an argument that is not a cursor of the requested list.
 *
 * @param order Text that follows "this list" in the message: " in this sort order" if another order is requested.
 */
export const notOfList = (name: 'after' | 'before', order = ''): ValidationError =>
  new ValidationError(`"${name}" is not a cursor of this list${order}`, { parameter: name });

/** Returns whether a text in a cursor can be a value that the database accepts. Clients can tamper with cursors. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
