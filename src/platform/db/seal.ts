import { ADVISORY_LOCKS } from './advisory-lock.ts';
import type { Database, RunSql } from './client.ts';
import { COPIED_ELSEWHERE } from './errors.ts';
import { IncompatibleDatabaseError } from './migrate.ts';

/** State of a database that must not be used: because its data was copied away, or because it is an unfinished copy. */
export interface Seal {
  readonly state: 'moved' | 'incomplete';
  /** The other database, without credentials: the copy, or the source of the copy. */
  readonly place: string;
  readonly at: Date;
  /** Identifies the copy in both databases. */
  readonly copyId: string;
}

/** Thrown if a database cannot be used because its data is being copied or was copied to another one. */
export class SealedDatabaseError extends IncompatibleDatabaseError {
  override name = 'SealedDatabaseError';
}

interface SealRow {
  readonly seal: Seal['state'] | null;
  readonly place: string;
  readonly at: string;
  readonly copy_id: string;
}

/** Returns the seal of a database. Null if there is none. Also null for a database without tables or of a previous version. */
export async function readSeal(run: RunSql): Promise<Seal | null> {
  const [table] = await run<{ found: boolean }>(`SELECT to_regclass('log_epoch') IS NOT NULL AS found`);
  if (table?.found !== true) return null;
  const [row] = await run<SealRow>(
    `SELECT e ->> 'seal' AS seal, e ->> 'seal_place' AS place, e ->> 'sealed_at' AS at, e ->> 'copy_id' AS copy_id
     FROM (SELECT to_jsonb(l) AS e FROM log_epoch l) AS known`,
  );
  if (row === undefined || row.seal === null) return null;
  return { state: row.seal, place: row.place, at: new Date(row.at), copyId: row.copy_id };
}

/**
 * Seals a database. If the data of the database was copied, no node can log events in it from now on, not even a node that was
 * paused and has not read the seal.
 */
export async function writeSeal(run: RunSql, { state, place, at, copyId }: Seal): Promise<void> {
  if (state === 'moved')
    await run(`ALTER TABLE event_counter ADD CONSTRAINT ${COPIED_ELSEWHERE} CHECK (false) NOT VALID`);
  await run(
    'UPDATE log_epoch SET seal = $1::text, seal_place = $2::text, sealed_at = $3::timestamptz, copy_id = $4::uuid',
    [...[state, place, at.toISOString(), copyId]],
  );
}

/** Permits events in a sealed database again, which a new epoch of the event log needs. The seal remains. */
export async function permitEvents(run: RunSql): Promise<void> {
  await run(`ALTER TABLE event_counter DROP CONSTRAINT IF EXISTS ${COPIED_ELSEWHERE}`);
}

/** Removes the seal of a database. */
export async function removeSeal(run: RunSql): Promise<void> {
  await permitEvents(run);
  await run('UPDATE log_epoch SET seal = NULL, seal_place = NULL, sealed_at = NULL, copy_id = NULL');
}

/** Returns the message for the operator about a sealed database. */
export function sealMessage({ state, place, at }: Seal): string {
  if (state === 'incomplete') {
    return (
      `The database is an unfinished copy of ${place}. If that database is sealed, run the command "database copy" there ` +
      'again, which finishes the copy. Otherwise drop this database, and create it again for a new copy.'
    );
  }
  return (
    `The data of this database was copied to ${place} on ${at.toISOString()}. Set DATABASE_URL to that database. To use this ` +
    'database again instead: npm run cli -- database unseal'
  );
}

/**
 * Checks that a database can be used.
 *
 * @throws SealedDatabaseError if its data was copied to another database or is being copied, or if it is an unfinished copy.
 */
export async function requireUnsealed({ kind, session }: Pick<Database, 'kind' | 'session'>): Promise<void> {
  await session(async (run) => {
    const seal = await readSeal(run);
    if (seal !== null) throw new SealedDatabaseError(sealMessage(seal));
    if (kind === 'embedded') return;
    const [lock] = await run<{ free: boolean }>(
      `SELECT pg_try_advisory_xact_lock_shared(${ADVISORY_LOCKS.ofAll.database_copy}) AS free`,
    );
    if (lock?.free !== true) throw new SealedDatabaseError('The data of this database is being copied to another one.');
  });
}
