import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { applySettings, POOL_SETTINGS } from '../../src/platform/db/session-settings.ts';
import { createMigratedDatabase } from '../helpers/database.ts';

const { DATABASE_URL = '' } = process.env;

/** Duration for which another session locks the event counter, in milliseconds. It is longer than `lock_timeout`, which is 4 s. */
const HELD_MS = 5_000;
const WAITING = 5;

const STATEMENTS = [
  ['appends events', 'UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = $1 RETURNING refuse_late_lock()'],
  ['holds the log', "SELECT hold_log($1, 0, '{}')"],
] as const;

describe.skipIf(DATABASE_URL === '')('while a dead node holds the event counter for longer than lock_timeout', () => {
  // PostgreSQL measures `lock_timeout` anew for each of the two locks of a row, so a statement could get the counter after 5 s.
  test.for(STATEMENTS)('no statement that waited gets the counter: %s', async ([, sql]) => {
    await using own = new AsyncDisposableStack();
    const database = own.use(await createMigratedDatabase(DATABASE_URL));
    const connect = async (settings: Readonly<Record<string, string>>) => {
      const client = own.adopt(new pg.Client({ connectionString: database.url }), (it) => it.end());
      await client.connect();
      await applySettings(client, settings);
      return client;
    };
    const holder = await connect({});
    await holder.query(
      "INSERT INTO realm (id, subdomain, name) VALUES (1, 'waiting', 'Waiting') ON CONFLICT DO NOTHING",
    );
    await holder.query('INSERT INTO event_counter (realm_id) VALUES (1) ON CONFLICT DO NOTHING');
    await holder.query('BEGIN');
    await holder.query('SELECT FROM event_counter WHERE realm_id = 1 FOR NO KEY UPDATE');
    const waiting: Promise<string>[] = [];
    while (waiting.length < WAITING) {
      const client = await connect({ ...POOL_SETTINGS, idle_in_transaction_session_timeout: '0' });
      await client.query('BEGIN');
      waiting.push(
        client.query(sql, [1]).then(
          () => 'has the counter',
          ({ code }) => code,
        ),
      );
    }
    await sleep(HELD_MS);
    await holder.query('ROLLBACK');
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: WAITING }, () => '55P03'));
    expect((await holder.query(sql, [1])).rowCount).toBe(1);
  });
});
