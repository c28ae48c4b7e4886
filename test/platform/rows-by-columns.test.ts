import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RowReader, rowReader } from '../../src/platform/db/pg-rows.ts';

// Tests that results with many rows, which are read column by column, equal the results of reads row by row.

const { DATABASE_URL } = process.env;

const KINDS = `SELECT n, n * 0.5::float8 > 7 AS flag, -n::smallint AS small, n + 9007199254740993::bigint AS large,
  CASE WHEN n % 3 = 0 THEN NULL ELSE 'ü "quoted" \\ ' || chr(9) || n END AS text,
  CASE WHEN n % 5 > 0 THEN '1969-12-31 23:59:59.999999+00'::timestamptz + n * interval '33 days 1.123456 s' END AS at,
  '0001-01-01 00:00:00+00'::timestamptz AS early, '2026-11-23'::date AS day,
  jsonb_build_object('a', n, 'b', jsonb_build_array(NULL, 'x', 1.5)) AS json, 'null'::jsonb AS json_null, '{"b":1, "a":2}'::json AS ordered,
  ARRAY[n, NULL, -n] AS wholes, ARRAY[n::bigint + 9007199254740993, NULL] AS larges, ARRAY['a,"b', NULL, n::text] AS texts,
  '{t,f}'::boolean[] AS flags, '{}'::int[] AS none, '6f9619ff-8b86-4d11-b42d-00c04fc964ff'::uuid AS uuid,
  'Mixed "Case"' AS "Mixed ""Case""" FROM generate_series(1, $1::int) AS n ORDER BY n % 7, n DESC -- the end`;

describe.skipIf(DATABASE_URL === undefined || DATABASE_URL === '')('rows of a statement with many results', () => {
  let pool: pg.Pool;
  let asked: string[];
  let read: RowReader;

  beforeAll(() => {
    pool = new pg.Pool({ connectionString: DATABASE_URL, max: 1 });
  });
  afterAll(() => pool.end());
  beforeEach(() => {
    asked = [];
    const names = new Map<string, string>();
    const nameOf = (text: string) => {
      names.set(text, names.get(text) ?? `kinds${names.size}_${Math.random()}`);
      return names.get(text) as string;
    };
    const telling = {
      query(config: pg.QueryConfig) {
        asked.push(config.text);
        return pool.query(config);
      },
    };
    read = rowReader(telling as unknown as pg.Pool, nameOf);
  });

  test('are the same by columns, in the same order', async () => {
    const rows = await read(KINDS, [500]);
    expect(await read(KINDS, [500])).toEqual(rows);
    expect(asked[0]).toBe(KINDS);
    expect(asked[1]).toMatch(/^SELECT json_agg/);
    expect(JSON.stringify(Object.keys((await read<object>(KINDS, [70]))[0] ?? {}))).toBe(
      JSON.stringify(Object.keys((rows[0] ?? {}) as object)),
    );
  });

  test('are read by columns as long as they are many', async () => {
    for (const [count, isByColumns] of [
      [10, false],
      [100, false],
      [100, true],
      [40, true],
      [0, true],
      [100, false],
    ] as const) {
      expect(await read(KINDS, [count])).toHaveLength(count);
      expect([count, asked.at(-1) !== KINDS]).toEqual([count, isByColumns]);
    }
  });

  test.for([
    ['gives bytes', `SELECT n, '\\x00'::bytea AS bytes FROM generate_series(1, $1::int) AS n`],
    ['gives numbers with a point', 'SELECT n, n / 3::float8 AS third FROM generate_series(1, $1::int) AS n'],
    ['has two columns of one name', 'SELECT n, -n AS n FROM generate_series(1, $1::int) AS n'],
    ['locks', 'WITH few AS (SELECT id FROM pg_temp.thing FOR UPDATE) SELECT n FROM generate_series(1, $1::int) AS n'],
  ])('are read one by one if it %s', async ([, text = '']) => {
    await pool.query('CREATE TEMP TABLE IF NOT EXISTS thing (id int)');
    for (let i = 0; i < 3; i++) expect(await read(text, [100])).toHaveLength(100);
    expect(new Set(asked)).toEqual(new Set([text]));
  });

  test('are read one by one if it changes data, which it does once', async () => {
    await pool.query('CREATE TEMP TABLE made (n int)');
    const text =
      'WITH new AS (INSERT INTO pg_temp.made SELECT generate_series(1, $1::int) RETURNING n) SELECT n FROM new';
    for (let i = 0; i < 3; i++) expect(await read(text, [100])).toHaveLength(100);
    expect((await pool.query('SELECT count(*)::int AS count FROM pg_temp.made')).rows).toEqual([{ count: 300 }]);
  });
});
