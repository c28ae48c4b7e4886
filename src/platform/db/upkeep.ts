import type { PGlite } from '@electric-sql/pglite';
import type { Logger } from 'pino';

/** Our choice: soon enough for statements to be planned by what a new organisation holds, minutes after it is made. */
const LOOK_MS = 30_000;

/**
 * What has changed so much that it is to be looked after, as the server's own autovacuum has it by default: 50 rows and
 * a part of the table. Rows of which an older version is left are a fifth; rows not counted by the planner a tenth.
 */
const DUE = `
  SELECT relname AS name, n_dead_tup > 50 + 0.2 * n_live_tup AS swept
  FROM pg_stat_user_tables
  WHERE n_dead_tup > 50 + 0.2 * n_live_tup OR n_mod_since_analyze > 50 + 0.1 * n_live_tup`;

/**
 * Looks after the tables of the embedded database, which has no processes of its own that would: without it the planner
 * takes each table for what it was when it was made, and what is deleted keeps its place for ever.
 *
 * One table at a time, so that others have their turn in between. Not while there is no room, as what it writes is not held
 * up by the database being read only.
 */
export async function lookAfter(database: PGlite & { requireRoom(): Promise<void> }): Promise<void> {
  await database.requireRoom();
  const { rows } = await database.query<{ name: string; swept: boolean }>(DUE);
  for (const { name, swept } of rows) await database.query(`${swept ? 'VACUUM (ANALYZE)' : 'ANALYZE'} "${name}"`);
}

/**
 * Looks after the database's tables now and then, where it does not itself.
 *
 * @returns Ends it; resolves when nothing of it runs any more.
 */
export function startUpkeep(database: { lookAfter(): Promise<void> }, log: Logger): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  const look = () =>
    database
      .lookAfter()
      .catch((err: unknown) => log.warn({ err }, 'the database could not be looked after; trying again'));
  const timer = setInterval(() => {
    running = running.then(look);
  }, LOOK_MS).unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
