import type pg from 'pg';
import { isStatementTimeout } from './errors.ts';

/**
 * Settings that every session to PostgreSQL has, independent of the server, the database, the role and the connection string.
 * They change the meaning of statements, the form of results, or when a statement fails.
 *
 * A statement applies them, because poolers do not pass on settings of the connection request.
 * `test/platform/database-session-settings.test.ts` requires that every setting of the server is here, in `CHECKED_SETTINGS`,
 * or in the test's list of settings that change no result.
 */
export const SESSION_SETTINGS = {
  // Form of times: the ORM reads and writes them without their zone.
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  // Form of other values and of literals.
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  array_nulls: 'on',
  bytea_output: 'hex',
  extra_float_digits: '1',
  quote_all_identifiers: 'off',
  transform_null_equals: 'off',
  xmlbinary: 'base64',
  xmloption: 'content',
  lc_monetary: 'C',
  lc_numeric: 'C',
  lc_time: 'C',
  default_text_search_config: 'pg_catalog.simple',
  // Completeness of results.
  gin_fuzzy_search_limit: '0',
  row_security: 'on',
  // A writer that waited for a lock must read what the lock's holder committed: the event log depends on it.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  default_table_access_method: 'heap',
  exit_on_error: 'off',
  // Compiling a statement takes longer than running any statement of the service.
  jit: 'off',
  // Time limits. Those of the pool's sessions are in `POOL_SETTINGS`.
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  transaction_timeout: '0',
  // The server closes a connection after about 10 s if the client does not acknowledge packets.
  tcp_user_timeout: '10000',
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
} as const;

/**
 * Time limits of the pool's sessions, in milliseconds.
 *
 * If a node dies without closing its connections, its transactions keep their locks until the server ends them, after 5 s
 * without a statement. No transaction of a live node is idle for so long. A statement that waits for a lock fails earlier,
 * after 4 s. Otherwise, transactions that wait for the locks of a dead node could wait one after another, 5 s each. For the
 * event counter, the SQL function `refuse_late_lock` applies the 4 s to the whole statement.
 */
export const POOL_SETTINGS = { lock_timeout: '4000', idle_in_transaction_session_timeout: '5000' } as const;

/**
 * Settings that can prevent the service from starting. `search_path` selects the schema of the tables (`schema.ts`);
 * `requireUsableSettings` and `requireRights` check the other settings.
 */
export const CHECKED_SETTINGS = [
  'search_path',
  'server_encoding',
  'session_replication_role',
  'default_transaction_read_only',
] as const;

/**
 * Statement that applies settings, except settings that the server does not have. The statement also turns `synchronous_commit`
 * on if it is `off`, because with `off` a server that crashes loses acknowledged changes.
 */
const APPLY = `
  SELECT set_config(s.name, s.value, false) FROM unnest($1::text[], $2::text[]) AS s(name, value)
  WHERE current_setting(s.name, true) IS NOT NULL
  UNION ALL
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/**
 * Maximum number of attempts to apply settings while a very short `statement_timeout` cancels the statements. After the last
 * attempt, the session fails with the error of the statement.
 */
const MAX_ATTEMPTS = 20;

/**
 * Sets `settings` for the rest of a session.
 *
 * A `statement_timeout` of a few milliseconds, set for the role or the database, can cancel the statement that applies the
 * settings. The timeout is then removed first, by the shortest possible statement.
 */
export async function applySettings(session: pg.ClientBase, settings: Readonly<Record<string, string>>): Promise<void> {
  const values = [Object.keys(settings), Object.values(settings)];
  for (let attempt = 1; ; attempt++) {
    try {
      await session.query(APPLY, values);
      return;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isStatementTimeout(error)) throw error;
      await removeTimeLimit(session);
    }
  }
}

async function removeTimeLimit(session: pg.ClientBase): Promise<void> {
  try {
    await session.query('SET statement_timeout = 0');
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
  }
}
