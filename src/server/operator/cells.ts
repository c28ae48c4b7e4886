import type { App } from '../../access/context.ts';
import type { RunSql } from '../../platform/db/client.ts';
import { runBetweenOthers } from '../../platform/db/organization-moves.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';

/**
 * Number of ids of each kind (organizations, users, channels, …) that one cell assigns. Cells assign different ids, so that
 * organizations keep theirs when they move.
 */
const IDS_PER_CELL = 50_000_000;
/** Maximum number of cells. The ids of further cells would have more than 31 bits, and the APIs accept no such ids. */
const MAX_CELLS = 42;

/** Query of the sequences of tables with 31-bit ids. Each cell assigns a separate range of these ids. */
const SEQUENCES = `SELECT c.relname::text AS name FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND s.seqtypid = 'int4'::regtype ORDER BY c.relname`;

/** Returns the cell number of a database. 1 if no number was assigned. */
export async function cellNumber(run: RunSql): Promise<number> {
  const [row] = await run<{ last: number }>('SELECT last_value::float8 AS last FROM realm_id_seq');
  return 1 + Math.floor((row?.last ?? 0) / IDS_PER_CELL);
}

/**
 * Assigns a cell number to a database that contains no organization. The database then assigns ids that no other cell assigns.
 *
 * @throws ValidationError if the number is out of range, ConflictError if the database contains an organization.
 */
export async function numberCell({ database, db }: App, number: number): Promise<{ cell: number }> {
  if (!Number.isInteger(number) || number < 1 || number > MAX_CELLS)
    throw new ValidationError(`The cell number must be an integer from 1 to ${MAX_CELLS}.`, { parameter: 'number' });
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

/**
 * Raises sequences to the first id of this cell. Tables that a migration created after the cell got its number have sequences
 * that start at 1, so they would assign ids of the cell with number 1.
 */
export async function raiseToCell(run: RunSql): Promise<void> {
  const first = ((await cellNumber(run)) - 1) * IDS_PER_CELL;
  if (first === 0) return;
  for (const { name } of await run<{ name: string }>(SEQUENCES)) {
    await run(
      `SELECT setval(quote_ident($1)::regclass, $2::bigint)::text FROM pg_sequences
       WHERE schemaname = current_schema() AND sequencename = $1 AND COALESCE(last_value, 0) < $2::bigint`,
      [name, first],
    );
  }
}

/** Tables whose ids other tables refer to, with ids of 31 bits. */
const REFERRED = `SELECT DISTINCT c.relname::text AS name FROM pg_constraint k JOIN pg_class c ON c.oid = k.confrelid
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'id' AND a.atttypid = 'int4'::regtype
  WHERE k.contype = 'f' AND c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relname <> 'realm' ORDER BY 1`;

/**
 * Checks that no other organization of `target` has ids of the organization, or will get them. This can happen if both databases
 * were cells with the same number before, or if the source has assigned more ids than a cell has.
 *
 * @throws ConflictError if another organization has such ids, or will get them.
 */
export async function requireOtherIds(source: RunSql, target: RunSql, organizationId: number): Promise<void> {
  const first = ((await cellNumber(target)) - 1) * IDS_PER_CELL;
  for (const { name } of await source<{ name: string }>(REFERRED)) {
    const [position] = await target<{ last: number }>(
      `SELECT COALESCE(pg_sequence_last_value(pg_get_serial_sequence(quote_ident($1), 'id')::regclass), 0)::float8 AS last`,
      [name],
    );
    const own = await source<{ id: number }>(`SELECT id FROM "${name}" WHERE realm_id = ${organizationId}`);
    const [taken] = await target<{ id: number }>(
      `SELECT id FROM "${name}" WHERE id = ANY ($1::int[]) AND realm_id <> ${organizationId} LIMIT 1`,
      [own.map(({ id }) => id)],
    );
    if (taken !== undefined)
      throw new ConflictError(`Another organization of the target has the id ${taken.id} in table ${name}.`);
    const next = Math.max(first, position?.last ?? 0);
    const later = own.find(({ id }) => id > next && id <= first + IDS_PER_CELL);
    if (later !== undefined)
      throw new ConflictError(`The target will assign the id ${later.id} of table ${name} to another organization.`);
  }
}

/** Number of ids by which sequences are raised above those of the source: more than it assigns before they are raised again. */
const AHEAD = 100_000n;

/** A sequence whose ids ascend with time. */
interface Position {
  readonly name: string;
  readonly own: bigint;
  readonly other: bigint;
}

/** Returns the positions of the sequences of 63 bits (messages, edits, …) in both databases. */
async function positionsOf(source: RunSql, target: RunSql): Promise<Position[]> {
  const positions = `SELECT q.sequencename::text AS name, COALESCE(q.last_value, 0)::text AS last FROM pg_sequences q
    WHERE q.schemaname = current_schema() AND q.data_type = 'bigint'::regtype`;
  const [own, other] = await Promise.all([source, target].map((run) => run<{ name: string; last: string }>(positions)));
  const known = new Map(other?.map(({ name, last }) => [name, BigInt(last)]));
  return (own ?? []).map(({ name, last }) => ({ name, own: BigInt(last), other: known.get(name) ?? 0n }));
}

/**
 * Raises the sequences of `target` whose ids ascend with time beyond those of `source`, so that an organization that moves gets
 * higher ids there. Other organizations can use the sequences meanwhile. Must not be called while changes are held, because it
 * waits for locks.
 */
export async function raiseSequences(source: RunSql, target: RunSql): Promise<void> {
  for (const { name, own, other } of await positionsOf(source, target)) {
    if (own === 0n || other >= own + AHEAD / 2n) continue;
    // `ALTER SEQUENCE` changes nothing, but locks the sequence: otherwise `setval` could lower a sequence that others have raised
    // meanwhile. Both statements are one transaction.
    await runBetweenOthers(
      target,
      `ALTER SEQUENCE "${name}" CACHE 1;
       SELECT setval('"${name}"', GREATEST(last_value, ${own + AHEAD}))::text FROM "${name}"`,
    );
  }
}

/** Checks that the sequences of `target` are not below those of `source`. @throws ConflictError if one is. */
export async function requireSequences(source: RunSql, target: RunSql): Promise<void> {
  for (const { name, own, other } of await positionsOf(source, target)) {
    if (other < own) throw new ConflictError(`The sequence ${name} of the target is too low: repeat the command.`);
  }
}

/**
 * Share of the ids of a cell above which `doctor` reports an error, because a cell without free ids would assign those of the
 * next one.
 */
const MOST_USED = 0.8;

/**
 * Returns a text with the number of the cell and the share of its ids that are used.
 *
 * @throws ConflictError if more than `MOST_USED` of the ids are used and other cells exist: organizations have moved, or the
 *   number of the cell is not 1.
 */
export async function checkCell({ database, db }: Pick<App, 'database' | 'db'>): Promise<string> {
  return database.session(async (run) => {
    const number = await cellNumber(run);
    const used = await run<{ name: string; used: number }>(
      `SELECT q.sequencename::text AS name, (COALESCE(q.last_value, 0) - $1::bigint)::float8 / $2::float8 AS used
       FROM pg_sequences q WHERE q.schemaname = current_schema() AND q.data_type = 'integer'::regtype ORDER BY used DESC LIMIT 1`,
      [(number - 1) * IDS_PER_CELL, IDS_PER_CELL],
    );
    const [most] = used;
    const text = `cell ${number}: ${((most?.used ?? 0) * 100).toFixed(1)} % of the ids of ${most?.name ?? 'all tables'} are used`;
    const isOneOfSeveral = number > 1 || (await db.organizationMove.count()) > 0;
    if (isOneOfSeveral && (most?.used ?? 0) > MOST_USED)
      throw new ConflictError(`${text}. Then it assigns those of the next cell: create organizations in another cell.`);
    return text;
  });
}
