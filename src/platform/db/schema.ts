import type { Session } from './sessions.ts';

/** Name of the first migration. A table `_prisma_migrations` that lists this migration belongs to this service. */
export const FIRST_MIGRATION = '20261120000000_foundation';

/** Thrown if the schema for the service's tables is missing, ambiguous, or cannot be used. */
export class UnusableSchemaError extends Error {
  override name = 'UnusableSchemaError';
}

/** Returns the parameter `schema` of the connection string. Undefined if it has none. */
export function askedSchema(connectionString: string): string | undefined {
  const [, query = ''] = /\?([^#]*)/.exec(connectionString) ?? [];
  return new URLSearchParams(query).get('schema') || undefined;
}

/**
 * Returns the name of the database in the connection string. Without one, the driver uses the name of the user. Undefined if
 * there is neither, or if the name is not correctly percent-encoded.
 */
export function askedDatabase(connectionString: string): string | undefined {
  const [, user, path] =
    /^[a-z]+:\/\/(?:([^/?#@:]*)(?::[^/?#@]*)?@)?[^/?#]*(?:\/([^?#]*))?/.exec(connectionString) ?? [];
  try {
    return decodeURIComponent(path || user || '') || undefined;
  } catch {
    return undefined;
  }
}

/** Returns the value of the setting `search_path` that selects one schema. */
export const searchPath = (schema: string): string => `"${schema.replaceAll('"', '""')}"`;

/**
 * Finds the schema of the service's tables. If the connection string has `?schema=`, the parameter names the schema. Otherwise
 * the schema is the first one in the session's `search_path` that has the tables. If none has them, the first existing schema
 * in `search_path` is used.
 *
 * @param session A session whose `search_path` is still that of the role, the database or the server.
 * @throws UnusableSchemaError if no schema can be used, or if `?schema=` names a schema without tables although a schema in
 *   `search_path` has the tables: previous versions ignored `?schema=`.
 */
export async function findSchema(session: Session, asked: string | undefined): Promise<string> {
  const { rows } = await session.query<{ name: string }>(
    `SELECT name FROM unnest(current_schemas(false)) WITH ORDINALITY AS s(name, nth)
     WHERE left(name, 3) <> 'pg_' AND name <> 'information_schema' ORDER BY nth`,
  );
  const inPath = rows.map(({ name }) => name);
  if (asked === undefined) {
    const [first] = inPath;
    if (first === undefined) throw new UnusableSchemaError(await noSchema(session));
    for (const name of inPath) if (await hasTables(session, name)) return name;
    return first;
  }
  await requireSchema(session, asked);
  if (await hasTables(session, asked)) return asked;
  for (const name of inPath) {
    if (name === asked || !(await hasTables(session, name))) continue;
    throw new UnusableSchemaError(
      `DATABASE_URL names the schema "${asked}", which has no tables of the service; the schema "${name}" has them, because ` +
        `previous versions ignored ?schema=. To use these tables, remove ?schema= from DATABASE_URL. To create new tables in ` +
        `"${asked}", write ?options=-csearch_path%3D${encodeURIComponent(asked)} instead.`,
    );
  }
  return asked;
}

async function requireSchema(session: Session, name: string): Promise<void> {
  const { rows } = await session.query<{ usable: boolean }>(
    `SELECT has_schema_privilege(oid, 'USAGE') AS usable FROM pg_namespace WHERE nspname = $1`,
    [name],
  );
  const [found] = rows;
  if (found === undefined) {
    throw new UnusableSchemaError(
      `The schema "${name}" in DATABASE_URL (?schema=) does not exist. Create it: CREATE SCHEMA ${searchPath(name)}`,
    );
  }
  if (!found.usable) {
    throw new UnusableSchemaError(
      `The database role cannot use the schema "${name}" in DATABASE_URL (?schema=). GRANT USAGE, CREATE ON SCHEMA ` +
        `${searchPath(name)} to the role.`,
    );
  }
}

async function noSchema(session: Session): Promise<string> {
  const { rows } = await session.query<{ path: string }>(`SELECT current_setting('search_path') AS path`);
  return (
    `There is no schema for the service's tables: search_path is ${rows[0]?.path || 'empty'}, and the database role can use ` +
    'none of its schemas. Create one of them and GRANT the role USAGE and CREATE on it, or name another schema by ?schema= ' +
    'in DATABASE_URL.'
  );
}

async function hasTables(session: Session, schema: string): Promise<boolean> {
  const { rows } = await session.query<{ readable: boolean }>(
    `SELECT has_table_privilege(c.oid, 'SELECT') AS readable FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname = '_prisma_migrations'`,
    [schema],
  );
  if (rows[0]?.readable !== true) return false;
  const { rowCount } = await session.query(
    `SELECT FROM ${searchPath(schema)}._prisma_migrations WHERE migration_name = $1`,
    [FIRST_MIGRATION],
  );
  return rowCount !== 0;
}
