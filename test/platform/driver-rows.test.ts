import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { readRows, transaction } from '../../src/platform/db/rows.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';

let server: InProcess;
beforeAll(async () => {
  server = await shareInProcess();
});
afterAll(() => server[Symbol.asyncDispose]());

const EVERYTHING = Prisma.sql`SELECT
  7::smallint AS small, -3::int AS whole, 9007199254740993::bigint AS large, 0.5::float8 AS real, true AS yes, false AS no,
  'ü "quoted" \\ text'::text AS text, NULL::text AS absent, NULL::bigint AS no_number, NULL::timestamptz AS never,
  '2026-02-28 23:59:59.123456+00'::timestamptz AS precise, '2026-11-23 14:00:00+05:30'::timestamptz AS elsewhere,
  '0001-01-01 00:00:00+00'::timestamptz AS early, '{"a": [1, null, "x"]}'::jsonb AS json, 'null'::jsonb AS json_null,
  '\\x00ff10'::bytea AS bytes, '{1,-2,3}'::int[] AS wholes, '{9007199254740993,NULL}'::bigint[] AS larges,
  '{}'::int[] AS none, '{"a,b",NULL,"c\\"d"}'::text[] AS texts, '{t,f}'::boolean[] AS flags,
  '6f9619ff-8b86-4d11-b42d-00c04fc964ff'::uuid AS uuid, count(*) AS count FROM (VALUES (1), (2)) AS two(x)`;

/** Returns the names, types and values of the columns of rows, in a form in which two results can be compared. */
const shown = (rows: readonly object[]) =>
  rows.map((row) =>
    Object.entries(row).map(([name, value]) => [
      name,
      value === null ? 'null' : (Object.getPrototypeOf(value) as object).constructor.name,
      value instanceof Date ? value.toISOString() : value,
    ]),
  );

describe('rows read directly from the driver', () => {
  test('equal those of the ORM, value by value', async () => {
    const { db } = server.app;
    const byOrm = await db.$queryRaw<object[]>(EVERYTHING);
    expect(shown(await readRows(db, EVERYTHING))).toEqual(shown(byOrm));
    const within = await transaction(db, (tx) => readRows<object>(tx, EVERYTHING));
    expect(shown(within)).toEqual(shown(byOrm));
  });

  test('accept the same parameters as the ORM', async () => {
    const { db } = server.app;
    const given = [null, 5n, new Date('2026-11-23T14:00:00.123Z'), [1, 2], ['a"b', 'c,d'], 'null', true] as const;
    const [none, large, date, wholes, texts, text, yes] = given;
    const statement = Prisma.sql`SELECT ${none}::text AS none, ${large}::bigint AS large, ${date}::timestamptz AS date,
      ${wholes}::int[] AS wholes, ${texts}::text[] AS texts, ${text}::text AS text, ${yes}::boolean AS yes`;
    const expected = await db.$queryRaw<object[]>(statement);
    expect(shown(await readRows(db, statement))).toEqual(shown(expected));
  });

  test('refuse numbers that would be rounded', async () => {
    await expect(readRows(server.app.db, Prisma.sql`SELECT 1.5::numeric AS some`)).rejects.toThrow(/must cast/);
  });
});
