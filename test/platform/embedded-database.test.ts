import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedDatabase } from '../../src/platform/db/embedded.ts';
import { DATABASE_FOLDER } from '../../src/platform/db/private-files.ts';
import { newDataDir } from '../helpers/data-dir.ts';

const dataDir = newDataDir();
let database: EmbeddedDatabase;

beforeAll(async () => {
  database = await EmbeddedDatabase.open(join(dataDir, DATABASE_FOLDER));
  await database.exec('CREATE TABLE thing (id int PRIMARY KEY, name text, facts jsonb, numbers int[])');
});
afterAll(async () => {
  await database.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Returns the number of prepared statements in the database session. */
const kept = async () =>
  (await database.query<{ n: number }>('SELECT count(*)::int AS n FROM pg_prepared_statements')).rows[0]?.n ?? 0;

test('converts parameters and results like PGlite itself, and prepares a statement once', async () => {
  const insert = 'INSERT INTO thing VALUES ($1, $2, $3, $4)';
  const before = await kept();
  for (const id of [1, 2, 3]) {
    const { affectedRows } = await database.query(insert, [id, null, { a: 'b' }, [1, 2]]);
    expect(affectedRows).toBe(1);
  }
  expect(await kept()).toBe(before + 1);
  const one = 'SELECT * FROM thing WHERE id = $1';
  const { rows, fields } = await database.query(one, [2]);
  expect(rows).toEqual([{ id: 2, name: null, facts: { a: 'b' }, numbers: [1, 2] }]);
  expect(fields.map(({ name }) => name)).toEqual(['id', 'name', 'facts', 'numbers']);
  expect((await database.query(one, [2], { rowMode: 'array' })).rows).toEqual([[2, null, { a: 'b' }, [1, 2]]]);
  expect((await database.query(one, [9])).rows).toEqual([]);
});

test('sends and returns bytes and long texts unchanged', async () => {
  const bytes = new Uint8Array(100_000).map((_, i) => i % 251);
  const [row] = (await database.query<{ bytes: Uint8Array }>('SELECT $1::bytea AS bytes', [bytes], { parsers: {} }))
    .rows;
  expect(Buffer.from(row?.bytes ?? []).equals(bytes)).toBe(true);
  const text = '日本語 '.repeat(50_000);
  const sql = "SELECT $1::text AS text, NULL AS nothing, '' AS empty, n FROM generate_series(1, 2) AS n";
  expect((await database.query(sql, [text])).rows).toEqual([1, 2].map((n) => ({ text, nothing: null, empty: '', n })));
});

test('continues after a statement that fails, in preparation or in execution', async () => {
  await expect(database.query('SELECT * FROM nothing')).rejects.toMatchObject({ code: '42P01' });
  const divide = 'SELECT 10 / $1::int AS quotient';
  await expect(database.query(divide, [0])).rejects.toMatchObject({ code: '22012' });
  expect((await database.query(divide, [5])).rows).toEqual([{ quotient: 2 }]);
});

test('rolls back a failed transaction, and keeps the statements prepared in it', async () => {
  const insert = 'INSERT INTO thing (id) SELECT $1::int + 0';
  const failing = database.transaction(async (tx) => {
    await tx.query(insert, [100]);
    await tx.query(insert, [100]);
  });
  await expect(failing).rejects.toMatchObject({ code: '23505' });
  await database.transaction(async (tx) => void (await tx.query(insert, [101])));
  expect((await database.query('SELECT id FROM thing WHERE id >= 100')).rows).toEqual([{ id: 101 }]);
});

test('completes a transaction before it runs other statements', async () => {
  const order: string[] = [];
  let beside: Promise<unknown> = Promise.resolve();
  await database.transaction(async (tx) => {
    beside = database.query('SELECT 1').then(() => order.push('beside'));
    await tx.query('SELECT 2');
    order.push('within');
  });
  await beside;
  expect(order).toEqual(['within', 'beside']);
});

test('caches a limited number of statements, and also runs others', async () => {
  for (let i = 0; i < 520; i++) expect((await database.query(`SELECT ${i} AS i`)).rows).toEqual([{ i }]);
  expect(await kept()).toBeLessThanOrEqual(501);
  expect((await database.query('SELECT 1000 + $1::int AS i', [7])).rows).toEqual([{ i: 1007 }]);
});
