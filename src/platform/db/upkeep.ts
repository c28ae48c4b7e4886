import type { PGlite } from '@electric-sql/pglite';
import type { Logger } from 'pino';

/**
 * Interval, in milliseconds, at which tables are checked for VACUUM and ANALYZE. It is short, so that the planner's statistics
 * soon include the rows of a new organization.
 */
const LOOK_MS = 30_000;

/**
 * Query for the tables that need maintenance, with the defaults of autovacuum. `swept` is true if there are more dead row
 * versions than 50 plus a fifth of the rows. A table is analyzed if more rows than 50 plus a tenth of all rows were changed
 * since the last ANALYZE.
 */
const DUE = `
  SELECT relname AS name, n_dead_tup > 50 + 0.2 * n_live_tup AS swept
  FROM pg_stat_user_tables
  WHERE n_dead_tup > 50 + 0.2 * n_live_tup OR n_mod_since_analyze > 50 + 0.1 * n_live_tup`;

/**
 * Vacuums and analyzes the tables of the embedded database, which has no autovacuum. Without this, the planner would
 * use the size of a table at its creation, and the space of deleted rows would never be used again.
 *
 * Processes one table at a time, so that other statements can run in between. Nothing runs while disk space is low,
 * because VACUUM writes even if the database is read-only.
 *
 * @throws NoRoomForDatabaseError if disk space is low.
 */
export async function lookAfter(database: PGlite & { requireDiskSpace(): Promise<void> }): Promise<void> {
  await database.requireDiskSpace();
  const { rows } = await database.query<{ name: string; swept: boolean }>(DUE);
  for (const { name, swept } of rows) await database.query(`${swept ? 'VACUUM (ANALYZE)' : 'ANALYZE'} "${name}"`);
}

/**
 * Starts the maintenance of the tables at intervals, for databases without autovacuum.
 *
 * @returns A function that stops the maintenance. It returns a promise that resolves when no maintenance is running.
 */
export function startUpkeep(database: { lookAfter(): Promise<void> }, log: Logger): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  const look = () =>
    database.lookAfter().catch((err: unknown) => log.warn({ err }, 'database maintenance failed, retrying'));
  const timer = setInterval(() => {
    running = running.then(look);
  }, LOOK_MS).unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
