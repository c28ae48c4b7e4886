import { afterAll, beforeAll, expect, test } from 'vitest';
import { UNFINISHED } from '../../src/administration/organization/service.ts';
import { clearDatabase, prepareDemo } from '../../src/server/demo/demo.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';

// Checks that a start replaces a demo whose creation was interrupted, and that it leaves no row of the interrupted one.

let service: InProcess;
beforeAll(async () => {
  service = await startInProcess({ env: { DEMO: 'on' } });
  // Stops the background workers, which would change the numbers of rows.
  await service.queriesOf(async () => {});
});
afterAll(() => service[Symbol.asyncDispose]());

/** Returns the number of rows of each table that holds rows of organizations, by its name. */
async function rowCounts(): Promise<Record<string, number>> {
  const { db } = service.app;
  const tables = await db.$queryRaw<{ name: string }[]>`
    SELECT table_name::text AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'realm_id' UNION SELECT 'realm' ORDER BY 1`;
  const counts = tables.map(async ({ name }) => {
    const [row] = await db.$queryRawUnsafe<{ rows: number }[]>(`SELECT count(*)::int AS rows FROM "${name}"`);
    return [name, row?.rows ?? 0] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

const filledTables = async () => Object.entries(await rowCounts()).flatMap(([name, rows]) => (rows > 0 ? [name] : []));

test('clearing the database leaves no row of an organization in any table', async () => {
  const { app } = service;
  await prepareDemo(app);
  await app.db.$executeRaw`
    WITH counted AS (INSERT INTO message_count (realm_id, recipient_id, key, through_id, count)
                     SELECT realm_id, 2 * channel_id, '', 1, 1 FROM subscription LIMIT 1),
         moved AS (INSERT INTO realm_move (realm_id, subdomain, state, place, move_id, at)
                   SELECT id, subdomain, 'arriving', '', gen_random_uuid(), now() FROM realm LIMIT 1),
         changed AS (INSERT INTO realm_move_change (realm_id, name, key) SELECT id, 'message', '[1]' FROM realm LIMIT 1)
    INSERT INTO deleted_message (realm_id, id, deleted_at, body)
    SELECT realm_id, id, now(), to_jsonb(m) FROM message m LIMIT 1`;
  // A table without foreign keys keeps its rows if it is not named, so each of them needs rows here.
  const unconnected = await app.db.$queryRaw<{ name: string }[]>`
    SELECT relname::text AS name FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attname = 'realm_id'
    WHERE relkind = 'r' AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.oid AND contype = 'f')`;
  // A row of `realm_arrival` is deleted by the transaction that inserts it.
  const others = unconnected.filter(({ name }) => name !== 'realm_arrival');
  expect(await filledTables()).toEqual(expect.arrayContaining(others.map(({ name }) => name)));
  await clearDatabase(app);
  expect(await filledTables()).toEqual([]);
});

test('a start creates an interrupted demo again, with the same objects', async () => {
  const { app } = service;
  await prepareDemo(app);
  const before = await rowCounts();
  await app.db.organization.updateMany({ data: { deactivatedAt: UNFINISHED } });
  await prepareDemo(app);
  expect(await rowCounts()).toEqual(before);
});
