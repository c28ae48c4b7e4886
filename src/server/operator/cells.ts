import type { App } from '../../access/context.ts';
import type { RunSql } from '../../platform/db/client.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';

/**
 * Number of ids of each kind (organizations, users, channels, …) that one cell assigns. Cells assign different ids, so that
 * organizations keep theirs when they move.
 */
const IDS_PER_CELL = 50_000_000;
/** Number of cells whose ids fit into 31 bits, of which the APIs accept no more. */
const MAX_CELLS = 42;

/** Sequences of ids that tables of several organizations refer to: those of 31 bits. */
const SEQUENCES = `SELECT c.relname::text AS name FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND s.seqtypid = 'int4'::regtype ORDER BY c.relname`;

/** Returns the number of the cell that a database is. 1 for a database that has no number. */
export async function cellNumber(run: RunSql): Promise<number> {
  const [row] = await run<{ last: number }>('SELECT last_value::float8 AS last FROM realm_id_seq');
  return 1 + Math.floor((row?.last ?? 0) / IDS_PER_CELL);
}

/**
 * Makes the database, which must not contain an organization, the cell with a number: it assigns other ids than all other cells.
 *
 * @throws ValidationError if the number is out of range, ConflictError if the database contains an organization.
 */
export async function numberCell({ database, db }: App, number: number): Promise<{ cell: number }> {
  if (!Number.isInteger(number) || number < 1 || number > MAX_CELLS)
    throw new ValidationError(`number: give a number from 1 to ${MAX_CELLS}`, { parameter: 'number' });
  const [used] = await db.$queryRaw<{ isUsed: boolean }[]>`
    SELECT EXISTS (SELECT FROM realm) OR EXISTS (SELECT FROM realm_move) AS "isUsed"`;
  if (used?.isUsed !== false)
    throw new ConflictError('The database contains an organization. Only a new database can get a number.');
  await database.session(async (run) => {
    for (const { name } of await run<{ name: string }>(SEQUENCES)) {
      await run('SELECT setval(quote_ident($1)::regclass, GREATEST($2::bigint, 1), $2::bigint > 0)::text', [
        name,
        (number - 1) * IDS_PER_CELL,
      ]);
    }
  });
  return { cell: number };
}

/** Tables whose ids other tables refer to, with ids of 31 bits. */
const REFERRED = `SELECT DISTINCT c.relname::text AS name FROM pg_constraint k JOIN pg_class c ON c.oid = k.confrelid
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'id' AND a.atttypid = 'int4'::regtype
  WHERE k.contype = 'f' AND c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relname <> 'realm' ORDER BY 1`;

/**
 * Checks that no other organization of `target` has ids of the organization, for example because both databases were cells with
 * the same number before.
 *
 * @throws ConflictError if one has.
 */
export async function requireOtherIds(source: RunSql, target: RunSql, organizationId: number): Promise<void> {
  for (const { name } of await source<{ name: string }>(REFERRED)) {
    const own = await source<{ id: number }>(`SELECT id FROM "${name}" WHERE realm_id = ${organizationId}`);
    const [taken] = await target<{ id: number }>(
      `SELECT id FROM "${name}" WHERE id = ANY ($1::int[]) AND realm_id <> ${organizationId} LIMIT 1`,
      [own.map(({ id }) => id)],
    );
    if (taken !== undefined)
      throw new ConflictError(`Another organization of the target has the id ${taken.id} in table ${name}.`);
  }
}

/**
 * Raises the sequences of `target` whose ids ascend with time (messages, edits, …) to those of `source`, so that an organization
 * that moves gets higher ids there. Other organizations can use the sequences meanwhile.
 */
export async function raiseSequences(source: RunSql, target: RunSql): Promise<void> {
  const positions = `SELECT q.sequencename::text AS name, COALESCE(q.last_value, 0)::text AS last FROM pg_sequences q
    WHERE q.schemaname = current_schema() AND q.data_type = 'bigint'::regtype`;
  const [own, other] = await Promise.all([source, target].map((run) => run<{ name: string; last: string }>(positions)));
  const known = new Map(other?.map(({ name, last }) => [name, BigInt(last)]));
  for (const { name, last } of own ?? []) {
    if ((known.get(name) ?? 0n) >= BigInt(last)) continue;
    await target('BEGIN');
    try {
      // Changes nothing, but locks the sequence: otherwise `setval` could lower a sequence that others have raised meanwhile.
      await target(`ALTER SEQUENCE "${name}" CACHE 1`);
      await target(`SELECT setval('"${name}"', GREATEST(last_value, $1::bigint))::text FROM "${name}"`, [last]);
      await target('COMMIT');
    } catch (error) {
      await target('ROLLBACK');
      throw error;
    }
  }
}
