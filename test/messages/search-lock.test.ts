import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { createMigratedDatabase } from '../helpers/database.ts';
import { createOrganization, type Organization, startServer } from '../helpers/server.ts';

const { DATABASE_URL = '' } = process.env;

describe.skipIf(DATABASE_URL === '')('while another node holds the lock of the search index and does not go on', () => {
  test('searches find all messages within seconds, and those of other organizations are indexed', async () => {
    await using own = new AsyncDisposableStack();
    const database = own.use(await createMigratedDatabase(DATABASE_URL));
    const env = { DATABASE_URL: database.url, SECRET_KEY: '0'.repeat(64) };
    const server = own.use(await startServer({ env }));
    const [held, free] = [await createOrganization({}, { on: server }), await createOrganization({}, { on: server })];
    const client = own.adopt(new pg.Client({ connectionString: database.url }), (it) => it.end());
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM search_progress WHERE realm_id = $1 FOR UPDATE', [held.organization.id]);
    const text = 'Привет Мир '.repeat(900).slice(0, 9_900);
    for (const { owner } of [held, free]) {
      for (let i = 0; i < 30; i++) {
        await owner.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: `${text} n${i}` });
      }
    }
    const found = async ({ owner }: Organization, query: string): Promise<number> => {
      const reading = { anchor: 'newest', num_before: 100, num_after: 0, narrow: [['search', query]] };
      return (await owner.ok('GET', '/messages', reading)).messages.length;
    };
    const startedAt = performance.now();
    expect(await Promise.all([found(held, 'мир'), found(held, 'n7'), found(free, 'мир')])).toEqual([30, 1, 30]);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    const ofAll = await client.query('SELECT realm_id, through_id > 0 AS is_indexed FROM search_progress');
    const indexed = new Map(ofAll.rows.map(({ realm_id, is_indexed }) => [realm_id, is_indexed]));
    expect([held, free].map(({ organization }) => indexed.get(organization.id))).toEqual([false, true]);
    await client.query('ROLLBACK');
    expect(await found(held, 'n7')).toBe(1);
  });
});
