import { TABLE_COLUMNS } from '../../generated/columns.ts';
import { Prisma } from '../../generated/prisma/client.ts';

// Selects whole rows with SQL. The columns are generated from the Prisma schema, so no new field can be omitted.

type Model = keyof typeof TABLE_COLUMNS;
type Row<M extends Model> = Prisma.TypeMap['model'][M]['payload']['scalars'];

/** A row of a result, with the column names that `joinedColumns` assigns. */
export type QueryRow = Readonly<Record<string, unknown>>;

/** All columns of one table, for a SELECT from several tables. */
export interface JoinedColumns<T> {
  /** All columns of the table, as SQL for the SELECT list. */
  readonly list: Prisma.Sql;
  /** Extracts the row of the table from a row of the result. */
  rowIn(row: QueryRow): T;
}

/**
 * Returns all columns of a table, for a SELECT from several tables.
 *
 * @param alias Alias of the table in the statement, and prefix of the column names in the result.
 */
export function joinedColumns<M extends Model>(alias: string, model: M): JoinedColumns<Row<M>> {
  const columns = Object.entries(TABLE_COLUMNS[model]).map(
    ([field, column]) => [field, column, `${alias}.${field}`] as const,
  );
  return {
    list: Prisma.raw(columns.map(([, column, selected]) => `${alias}."${column}" AS "${selected}"`).join(', ')),
    rowIn(row) {
      const fields: Record<string, unknown> = {};
      for (const [field, , selected] of columns) fields[field] = row[selected];
      return fields as Row<M>;
    },
  };
}

/** Returns the columns of a table for a SELECT whose rows are rows of the table, without columns of other tables. */
export function fieldsOf(alias: string, model: Model): Prisma.Sql {
  const selected = Object.entries(TABLE_COLUMNS[model]).map(([field, column]) => `${alias}."${column}" AS "${field}"`);
  return Prisma.raw(selected.join(', '));
}
