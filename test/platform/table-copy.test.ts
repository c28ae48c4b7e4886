import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { RunSql } from '../../src/platform/db/client.ts';
import { copyRows, readTables, sumTable, type Table } from '../../src/platform/db/table-copy.ts';
import { createDatabase } from '../helpers/database.ts';

// Tests the batches in which tables are copied. `server/database-copy.test.ts` tests the whole command.

const { DATABASE_URL = '' } = process.env;
const MEBI = 2 ** 20;

/** Opens a session with a new database, and runs a script in it. */
async function newSession(script: string): Promise<RunSql> {
  if (DATABASE_URL === '') {
    const embedded = await PGlite.create();
    onTestFinished(() => embedded.close());
    await embedded.exec(script);
    return async <Row>(sql: string, values: readonly unknown[] = []) =>
      (await embedded.query<Row>(sql, [...values])).rows;
  }
  const database = await createDatabase(DATABASE_URL);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await database[Symbol.asyncDispose]();
  });
  await client.query(script);
  return async <Row>(sql: string, values: readonly unknown[] = []) =>
    (await client.query(sql, [...values])).rows as Row[];
}

/** Copies the table `note` of one database to another. @returns The numbers of rows that were read at a time. */
async function copyNotes(rows: string): Promise<{ batches: number[]; source: unknown; copy: unknown }> {
  const table = 'CREATE TABLE note (id int GENERATED ALWAYS AS IDENTITY, content text, tags text[])';
  const [source, target] = [await newSession(`${table}; ${rows}`), await newSession(table)];
  await source('BEGIN');
  await target('BEGIN');
  const [note] = await readTables(source);
  const of = await sumTable(source, note as Table);
  const batches: number[] = [];
  const reading: RunSql = async <Row>(sql: string, values?: readonly unknown[]) => {
    const found = await source<Row>(sql, values);
    if (sql.startsWith('FETCH')) batches.push(found.length);
    return found;
  };
  const reported: number[] = [];
  await copyRows(reading, target, { ...(note as Table), longest: of.longest }, (count) => reported.push(count));
  expect(reported.at(-1)).toBe(of.rows);
  return { batches, source: of, copy: await sumTable(target, note as Table) };
}

test('few long rows are in memory at the same time, also after many short ones', { timeout: 120_000 }, async () => {
  const { batches, source, copy } = await copyNotes(
    `INSERT INTO note (content, tags) SELECT 'short', '{a,"b c"}' FROM generate_series(1, 50);
     INSERT INTO note (content, tags) SELECT repeat('x', ${24 * MEBI}), NULL FROM generate_series(1, 5);`,
  );
  expect(source).toMatchObject({ rows: 55, longest: expect.closeTo(24 * MEBI, -2) });
  expect(copy).toEqual(source);
  // Together, the rows of a batch have at most 64 Mi characters.
  expect(Math.max(...batches)).toBe(2);
});

test('a row that is longer than a batch is copied alone', { timeout: 120_000 }, async () => {
  const { batches, source, copy } = await copyNotes(
    `INSERT INTO note (content) SELECT repeat('y', ${66 * MEBI}) FROM generate_series(1, 2);`,
  );
  expect(copy).toEqual(source);
  expect(batches).toEqual([1, 1, 0]);
});

test('short rows are copied in growing batches', { timeout: 120_000 }, async () => {
  const { batches, source, copy } = await copyNotes(
    `INSERT INTO note (content, tags) SELECT 'note ' || i, ARRAY['tag ' || i] FROM generate_series(1, 5000) AS i;`,
  );
  expect(copy).toEqual(source);
  expect(batches).toEqual([20, 80, 320, 1280, 2000, 1300]);
});
