import type { Database } from './client.ts';

/** The database's role cannot change what the service changes. */
export class NoRightsError extends Error {
  override name = 'NoRightsError';
}

/**
 * Makes sure that the service may write to its tables, once they are there: otherwise it would say that it is ready, and refuse
 * every change. Its own are those of whoever made the first of them: others may put theirs beside them.
 *
 * @throws NoRightsError when it may not.
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
      "The database takes no changes from the service's role: default_transaction_read_only is on, for the role, the database or the server.",
    );
  }
  if (found?.denied != null) {
    throw new NoRightsError(
      `The database's role may not change what is in ${found.denied}. Make it the owner of the tables, or GRANT it ALL on all tables and sequences of their schema.`,
    );
  }
}
