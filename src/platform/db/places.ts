import { Prisma } from '../../generated/prisma/client.ts';
import { type ReadPlace, sharedRows } from './batched-reads.ts';
import { inOrder, isWithin, type Keyset, NAME_KEY, type Place, type PlaceRow, placeOf } from './keyset.ts';

/**
 * Column or expression by which rows are sorted. Its type is text or bigint, and it is never null. Long lists need an index in
 * which it ascends.
 */
export interface SortColumn {
  readonly key: Prisma.Sql;
  /** The name, if `key` is the sort key of a name (`NAME_KEY`). Cursors contain the name. */
  readonly name?: Prisma.Sql;
}

/** The rows of a table that a list contains. */
export interface ListedRows {
  /** Table and its alias. */
  readonly from: Prisma.Sql;
  readonly where: Prisma.Sql;
}

/**
 * Reads a page of a list: the sort key and id of each row, in the order of the page. Concurrent equal calls share one query.
 *
 * @param id Column that identifies a row of the list.
 */
export async function readPlaces(
  at: ReadPlace,
  { from, where }: ListedRows,
  { key, name }: SortColumn,
  id: Prisma.Sql,
  page: Keyset,
): Promise<Place[]> {
  const rows = await sharedRows<PlaceRow>(
    at,
    Prisma.sql`
    SELECT ${id} AS id, ${name ?? key} AS key FROM ${from}
    WHERE ${where} AND ${isWithin(page, key, id, name && NAME_KEY)}
    ORDER BY ${inOrder(page, key, id)} LIMIT ${page.limit}::bigint`,
  );
  return rows.map(placeOf);
}

/** Returns the number of rows of a list. Concurrent equal calls share one query. */
export async function countRows(at: ReadPlace, { from, where }: ListedRows): Promise<number> {
  const [row] = await sharedRows<{ count: number }>(
    at,
    Prisma.sql`SELECT count(*)::int AS count FROM ${from} WHERE ${where}`,
  );
  return row?.count ?? 0;
}
