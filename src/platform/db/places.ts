import { Prisma } from '../../generated/prisma/client.ts';
import { type ReadPlace, sharedRows } from './batched-reads.ts';
import {
  cursorKey,
  type FetchedRowKey,
  inOrder,
  isWithin,
  type Keyset,
  type RowKey,
  rowKeyOf,
  type SortColumn,
} from './keyset.ts';

/** The rows of a table that a list contains. */
export interface ListedRows {
  /** Table and its alias. */
  readonly from: Prisma.Sql;
  readonly where: Prisma.Sql;
}

/**
 * Reads the row keys of a page of a list, in the order of the page. Concurrent equal calls share one query.
 *
 * @param id Column that identifies a row of the list.
 */
export async function readRowKeys(
  at: ReadPlace,
  { from, where }: ListedRows,
  column: SortColumn,
  id: Prisma.Sql,
  page: Keyset,
): Promise<RowKey[]> {
  const rows = await sharedRows<FetchedRowKey>(
    at,
    Prisma.sql`
    SELECT ${id} AS id, ${cursorKey(column)} AS key FROM ${from}
    WHERE ${where} AND ${isWithin(page, column, id)}
    ORDER BY ${inOrder(page, column, id)} LIMIT ${page.limit}::bigint`,
  );
  return rows.map(rowKeyOf);
}

/** Returns the number of rows of a list. Concurrent equal calls share one query. */
export async function countRows(at: ReadPlace, { from, where }: ListedRows): Promise<number> {
  const [row] = await sharedRows<{ count: number }>(
    at,
    Prisma.sql`SELECT count(*)::int AS count FROM ${from} WHERE ${where}`,
  );
  return row?.count ?? 0;
}
