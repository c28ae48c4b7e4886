import type { Database } from './client.ts';

/** Thrown if the database has a property that sessions cannot change, and with which the service does not work. */
export class UnusableDatabaseError extends Error {
  override name = 'UnusableDatabaseError';
}

/**
 * Checks the properties that a session cannot set: the encoding, the case mapping of the locale, and whether triggers run.
 * Names of channels, topics, groups and users are compared by the database's `lower`.
 *
 * @throws UnusableDatabaseError if the encoding cannot store every script, or if triggers do not run. Also thrown if `lower`
 *   maps Latin letters by the rules of Turkish, Azeri or Lithuanian instead of English.
 */
export async function requireUsableSettings({ db }: Pick<Database, 'db'>): Promise<void> {
  const [found] = await db.$queryRaw<{ encoding: string; locale: string; replication: string }[]>`
    SELECT current_setting('server_encoding') AS encoding, current_setting('session_replication_role') AS replication,
      COALESCE(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', d.datctype::text) AS locale
    FROM pg_database d WHERE d.datname = current_database()`;
  if (found === undefined) return;
  const { encoding, locale, replication } = found;
  if (encoding !== 'UTF8') {
    throw new UnusableDatabaseError(
      `The database's encoding is ${encoding}, which cannot store every text. Set DATABASE_URL to a database that was created ` +
        "with ENCODING 'UTF8' TEMPLATE template0.",
    );
  }
  // Tests the letters `I` and `Ì` (code point 204). A locale that maps only ASCII letters leaves `Ì` unchanged.
  const [{ isUsual } = { isUsual: true }] = await db.$queryRaw<{ isUsual: boolean }[]>`
    SELECT lower('I') = 'i' AND lower(chr(204)) IN (chr(204), chr(236)) AS "isUsual"`;
  if (!isUsual) {
    throw new UnusableDatabaseError(
      `The database's locale ${locale} maps capital letters differently from most languages, so names would not be found. ` +
        "Set DATABASE_URL to a database that was created with LOCALE 'C.UTF-8' TEMPLATE template0. " +
        'Copy the tables with pg_dump and psql.',
    );
  }
  if (replication !== 'origin') {
    throw new UnusableDatabaseError(
      `session_replication_role is ${replication} for the database's role, the database or the server, which disables ` +
        'the triggers of the tables. Reset it: ALTER ROLE or ALTER DATABASE … RESET session_replication_role.',
    );
  }
}

/** Thrown if the database's role cannot make the changes that the service makes. */
export class NoRightsError extends Error {
  override name = 'NoRightsError';
}

/**
 * Checks that the service can write to its tables, which must exist. Without this check, the service would report that it is
 * ready, and refuse every change. Only tables with the owner of `_prisma_migrations` are checked, because the schema can
 * contain tables of other applications.
 *
 * @throws NoRightsError if the service cannot write.
 */
export async function requireRights({ db }: Pick<Database, 'db'>): Promise<void> {
  const [found] = await db.$queryRaw<{ readOnly: boolean; denied: string | null }[]>`
    SELECT current_setting('transaction_read_only')::boolean AS "readOnly",
      (SELECT min(c.relname) FROM pg_class c JOIN pg_class first ON first.oid = '_prisma_migrations'::regclass
        WHERE c.relnamespace = first.relnamespace AND c.relowner = first.relowner AND c.oid <> first.oid
          AND CASE c.relkind
            WHEN 'r' THEN NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
              AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
            WHEN 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE')
            ELSE false END)::text AS denied`;
  if (found?.readOnly === true) {
    throw new NoRightsError(
      'The database accepts no changes from the role of the service: default_transaction_read_only is on for the role, ' +
        'the database or the server.',
    );
  }
  if (found?.denied != null) {
    throw new NoRightsError(
      `The database role cannot write to ${found.denied}. Make it the owner of the tables, or GRANT it ALL on all tables ` +
        'and sequences of their schema.',
    );
  }
}
