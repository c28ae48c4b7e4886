import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from './client.ts';

const FOLDER = join(import.meta.dirname, '../../../prisma/functions');

/** A file with SQL functions, from the folder `prisma/functions`. */
export interface FunctionFile {
  readonly name: string;
  /** Version number in the first line of the file. It rises with each release that changes the file. */
  readonly version: number;
  readonly sql: string;
}

/** Returns the files with SQL functions of this version, in the order in which they are applied. */
export function readFunctionFiles(folder = FOLDER): FunctionFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name), 'utf8');
      const version = Number(/^-- Version (\d+)\n/.exec(sql)?.[1]);
      if (Number.isNaN(version))
        throw new Error(`prisma/functions/${name} does not begin with a line "-- Version <number>"`);
      return { name, version, sql };
    });
}

/**
 * Returns the hash that the database stores when a file is applied. The hash covers the names of the migrations, because a
 * migration can replace or drop a function of the file: after each migration, all files are applied again.
 */
const hashOf = ({ sql }: FunctionFile, migrations: readonly string[]): string =>
  createHash('sha256')
    .update(`${migrations.join('\n')}\n${sql}`)
    .digest('hex');

/**
 * Returns the files whose functions the database does not have, or has in another form. Files that a later version has applied
 * are not included: nodes of this version work with the later functions.
 *
 * @param migrations Names of the migrations of this version.
 */
export async function outdatedFunctionFiles(
  { db }: Pick<Database, 'db'>,
  files: readonly FunctionFile[],
  migrations: readonly string[],
): Promise<FunctionFile[]> {
  const [table] = await db.$queryRaw<{ readable: boolean | null }[]>`
    SELECT has_table_privilege(t, 'SELECT') AS readable FROM to_regclass('_sql_functions') AS t`;
  // `requireRights` reports missing privileges.
  if (table?.readable === false) return [];
  if (table?.readable == null) return [...files];
  const rows = await db.$queryRaw<{ file: string; version: number; hash: string }[]>`
    SELECT file, version, hash FROM _sql_functions`;
  const applied = new Map(rows.map((row) => [row.file, row]));
  return files.filter((file) => {
    const row = applied.get(file.name);
    return row === undefined || (row.version <= file.version && row.hash !== hashOf(file, migrations));
  });
}

/** Returns the script that applies files with SQL functions and records the applied files. It must run in one transaction. */
export function functionScript(files: readonly FunctionFile[], migrations: readonly string[]): string {
  const rows = files.map((file) => `('${file.name}', ${file.version}, '${hashOf(file, migrations)}')`);
  return `
    ${files.map(({ sql }) => `${sql}\n;`).join('\n')}
    DO $$ BEGIN
      IF to_regclass('_sql_functions') IS NULL THEN
        CREATE TABLE _sql_functions (
          file text PRIMARY KEY, version integer NOT NULL, hash text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
      END IF;
    END $$;
    INSERT INTO _sql_functions (file, version, hash) VALUES ${rows.join(', ')}
    ON CONFLICT (file) DO UPDATE SET version = EXCLUDED.version, hash = EXCLUDED.hash, applied_at = now();`;
}
