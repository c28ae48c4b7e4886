import type { RunSql } from './client.ts';

/** Tables that describe the installation of a database. They are not part of its data. */
const OF_INSTALLATION = ['_prisma_migrations', '_sql_functions'];

/** A table of the service, and its columns in the order in which rows are copied. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Number of rows of a table, and a checksum that does not depend on their order. */
export interface TableSum {
  readonly rows: number;
  readonly checksum: string;
  /** Length of the longest row as text, in characters. */
  readonly longest: number;
}

/** Number of rows that the first statement reads, and the maximum number of rows per statement. */
const [FIRST_ROWS, MAX_ROWS] = [20, 2_000];
/**
 * Intended and maximum number of characters of the rows that one statement reads. The number of rows is limited so that the
 * maximum is kept even if each row is as long as the longest row of the table. At least one row is read.
 */
const [BATCH_LENGTH, MAX_BATCH_LENGTH] = [2 * 2 ** 20, 64 * 2 ** 20];

/** SQL for the oid of the current schema. */
const SCHEMA = '(SELECT oid FROM pg_namespace WHERE nspname = current_schema())';
/** SQL condition that the relation `c` belongs to no extension. */
const IS_OWN = "NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')";

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const listed = ({ columns }: Table): string => columns.map(quoted).join(', ');

/**
 * Returns all tables of the current schema that contain data, in the order of their names, without generated columns and
 * without tables of extensions.
 */
export async function readTables(run: RunSql): Promise<Table[]> {
  return run<Table>(
    `SELECT c.relname::text AS name, json_agg(a.attname ORDER BY a.attname) AS columns
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = ${SCHEMA} AND c.relkind = 'r' AND NOT c.relname = ANY($1::text[]) AND ${IS_OWN}
       AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     GROUP BY c.relname ORDER BY c.relname`,
    [OF_INSTALLATION],
  );
}

/**
 * Returns the number and the checksum of the rows of a table. The result does not depend on the version and platform of the
 * database server.
 */
export async function sumTable(run: RunSql, table: Table): Promise<TableSum> {
  const [row] = await run<TableSum>(
    `SELECT count(*)::int AS rows, COALESCE(sum(hashtextextended(row, 0)::numeric), 0)::text AS checksum,
       COALESCE(max(length(row)), 0)::int AS longest
     FROM (SELECT ROW(${listed(table)})::text AS row FROM ${quoted(table.name)} OFFSET 0) AS rows`,
  );
  if (row === undefined) throw new Error(`${table.name} could not be counted`);
  return row;
}

/** Keys of rows that changed. */
export interface ChangedRows {
  /** The primary keys by table: a JSON list of objects, each with the columns of a key. */
  readonly keys: ReadonlyMap<string, string>;
  /** Number of keys. */
  readonly count: number;
}

/**
 * Returns the number and the checksum of the rows of an organization in several tables, in the order of the tables. Runs one
 * statement. The checksum uses PostgreSQL's hash function for rows. It takes a quarter of the time of a checksum of their text.
 */
export async function sumOrganization(
  run: RunSql,
  tables: readonly Table[],
  organizationId: number,
): Promise<readonly Omit<TableSum, 'longest'>[]> {
  const sums = tables.map(
    (table, i) =>
      `SELECT ${i} AS place, count(*)::int AS rows,
         COALESCE(sum(hash_record_extended(ROW(${listed(table)}), 0)::numeric), 0)::text AS checksum
       FROM ${quoted(table.name)} WHERE realm_id = ${organizationId}`,
  );
  return run(`SELECT rows, checksum FROM (${sums.join(' UNION ALL ')}) AS sums ORDER BY place`);
}

/** Returns the number and the checksum of the changed rows of an organization that still exist, in the order of the tables. */
export async function sumChanged(
  run: RunSql,
  tables: readonly Table[],
  organizationId: number,
  { keys }: ChangedRows,
): Promise<readonly Omit<TableSum, 'longest'>[]> {
  const sums: Omit<TableSum, 'longest'>[] = [];
  for (const table of tables) {
    const listedKeys = keys.get(table.name);
    const [sum] =
      listedKeys === undefined
        ? []
        : await run<Omit<TableSum, 'longest'>>(
            `SELECT count(*)::int AS rows,
               COALESCE(sum(hash_record_extended(ROW(${table.columns.map((name) => `t.${quoted(name)}`).join(', ')}), 0)::numeric), 0)::text
                 AS checksum
             FROM jsonb_populate_recordset(NULL::${quoted(table.name)}, $1::jsonb) AS k
             JOIN ${quoted(table.name)} t USING (${keyColumns(listedKeys).map(quoted).join(', ')})
             WHERE t.realm_id = ${organizationId}`,
            [listedKeys],
          );
    sums.push(sum ?? { rows: 0, checksum: '0' });
  }
  return sums;
}

const keyColumns = (keys: string): string[] => Object.keys((JSON.parse(keys) as object[])[0] ?? {});

/** Returns the name of a table that has rows of an organization. Undefined if none has. */
export async function tableWithRows(
  run: RunSql,
  tables: readonly Table[],
  organizationId: number,
): Promise<string | undefined> {
  const looks = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name WHERE EXISTS (SELECT FROM ${quoted(name)} WHERE realm_id = ${organizationId})`,
  );
  const [found] = await run<{ name: string }>(`${looks.join(' UNION ALL ')} LIMIT 1`);
  return found?.name;
}

/** Returns whether a table has rows. */
export async function hasRows(run: RunSql, { name }: Table): Promise<boolean> {
  const [row] = await run<{ any: boolean }>(`SELECT EXISTS (SELECT FROM ${quoted(name)}) AS any`);
  return row?.any === true;
}

/**
 * Copies the rows of a table into the empty table of the same name. Both sessions must be in a transaction.
 *
 * @param longest Length of the longest row, in characters. It limits the number of rows that are in memory at the same time.
 * @param onRows Called after each batch with the number of rows copied so far.
 */
export async function copyRows(
  source: RunSql,
  target: RunSql,
  table: Table & Pick<TableSum, 'longest'>,
  onRows: (rows: number) => void,
): Promise<void> {
  const columns = listed(table);
  await source(`DECLARE copied CURSOR FOR SELECT ROW(${columns})::text AS row FROM ${quoted(table.name)}`);
  // The type of the temporary table reads a row that is written as text, with the columns in the same order.
  await target(
    `CREATE TEMPORARY TABLE copied ON COMMIT DROP AS SELECT ${columns} FROM ${quoted(table.name)} WITH NO DATA`,
  );
  // Without OFFSET 0, the planner would read the text of a row once for each column.
  const insert = `INSERT INTO ${quoted(table.name)} (${columns}) OVERRIDING SYSTEM VALUE
    SELECT (r).* FROM (SELECT v::pg_temp.copied AS r FROM unnest($1::text[]) AS v OFFSET 0) AS read`;
  const most = Math.max(1, Math.min(MAX_ROWS, Math.floor(MAX_BATCH_LENGTH / Math.max(1, table.longest))));
  let [wanted, copied] = [Math.min(FIRST_ROWS, most), 0];
  for (;;) {
    const rows = (await source<{ row: string }>(`FETCH ${wanted} FROM copied`)).map(({ row }) => row);
    if (rows.length > 0) await target(insert, [rows]);
    copied += rows.length;
    onRows(copied);
    if (rows.length < wanted) break;
    const length = rows.reduce((sum, row) => sum + row.length, 0);
    wanted = Math.max(1, Math.min(most, 4 * wanted, Math.floor((wanted * BATCH_LENGTH) / length)));
  }
  await source('CLOSE copied');
  await target('DROP TABLE pg_temp.copied');
}

/** Sets every sequence of the current schema of `target` to the state of the same sequence of `source`. */
export async function copySequences(source: RunSql, target: RunSql): Promise<void> {
  const names = await target<{ name: string }>(
    `SELECT c.relname::text AS name FROM pg_class c
     WHERE c.relnamespace = ${SCHEMA} AND c.relkind = 'S' AND ${IS_OWN} ORDER BY c.relname`,
  );
  for (const { name } of names) {
    const [state] = await source<{ last: string; called: boolean }>(
      `SELECT last_value::text AS last, is_called AS called FROM ${quoted(name)}`,
    );
    await target('SELECT setval(quote_ident($1::text)::regclass, $2::bigint, $3::boolean)::text', [
      ...[name, state?.last, state?.called],
    ]);
  }
}

/**
 * Removes the foreign keys and stops the triggers of the current schema, for the rest of the transaction. Rows can then be
 * inserted in any order, and triggers do not change them.
 *
 * @returns A function that restores both. It fails if a row violates a foreign key.
 */
export async function withoutRules(run: RunSql): Promise<() => Promise<void>> {
  const keys = await run<{ at: string; name: string; rule: string }>(
    `SELECT conrelid::regclass::text AS at, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS rule
     FROM pg_constraint WHERE contype = 'f' AND connamespace = ${SCHEMA}`,
  );
  const triggered = await run<{ at: string }>(
    `SELECT DISTINCT tgrelid::regclass::text AS at FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE NOT tgisinternal AND c.relnamespace = ${SCHEMA}`,
  );
  for (const { at, name } of keys) await run(`ALTER TABLE ${at} DROP CONSTRAINT ${name}`);
  for (const { at } of triggered) await run(`ALTER TABLE ${at} DISABLE TRIGGER USER`);
  return async () => {
    for (const { at } of triggered) await run(`ALTER TABLE ${at} ENABLE TRIGGER USER`);
    for (const { at, name, rule } of keys) await run(`ALTER TABLE ${at} ADD CONSTRAINT ${name} ${rule}`);
  };
}
