import { createHmac } from 'node:crypto';
import { cpSync, rmSync } from 'node:fs';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { signInBrowser } from '../helpers/credentials.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../helpers/database.ts';
import { startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { ServerProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';

// Tests the id in the names of cookies: services on one host have different ids, and nodes and moved data keep theirs.

const { DATABASE_URL = '' } = process.env;
const SECRET_KEY = 'k'.repeat(48);
const EMBEDDED = { DATABASE_URL: undefined, REDIS_URL: undefined, SECRET_KEY: undefined };

async function newDatabase(made: Promise<TestDatabase> = createMigratedDatabase(DATABASE_URL)): Promise<string> {
  const database = await made;
  onTestFinished(() => database[Symbol.asyncDispose]());
  return database.url;
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

async function idAt(url: string): Promise<string> {
  await using service = await startInProcess({ env: { DATABASE_URL: url, SECRET_KEY } });
  return service.app.config.cookieId ?? '';
}

/** Signs a person in. @returns Name of the session cookie. */
const cookieAt = async ({ port }: ServerProcess, person: Person) =>
  /^[^=]+/.exec(await signInBrowser(person, OWNER_PASSWORD, port))?.[0];

describe.skipIf(DATABASE_URL === '')('on PostgreSQL', { timeout: 120_000 }, () => {
  test('all nodes have one id, which other databases do not have', async () => {
    const [one, other] = [await newDatabase(), await newDatabase()];
    const id = await idAt(one);
    expect(id).toMatch(/^[0-9a-f]{12}$/);
    const nodes = await Promise.all([idAt(one), idAt(one), idAt(one)]);
    expect(new Set([id, ...nodes]).size).toBe(1);
    expect(await idAt(other)).not.toBe(id);
  });

  test('nodes that start at the same time on a new database have one id', async () => {
    const url = await newDatabase();
    expect(new Set(await Promise.all([idAt(url), idAt(url), idAt(url)])).size).toBe(1);
  });

  test('a database that is restored under another name gets another id, and the original keeps its own', async () => {
    const original = await newDatabase();
    const id = await idAt(original);
    const restored = await newDatabase(createDatabase(DATABASE_URL, `TEMPLATE ${nameOf(original)}`));
    const other = await idAt(restored);
    expect(other).not.toBe(id);
    expect([await idAt(original), await idAt(restored)]).toEqual([id, other]);
  });

  test('a database of the previous version keeps the name that its cookies have, also with another key later', async () => {
    const url = await newDatabase();
    await idAt(url);
    await query(url, 'UPDATE log_epoch SET cookie_id = NULL, cookie_place = NULL');
    const former = createHmac('sha256', SECRET_KEY).update(JSON.stringify(['cookie names', nameOf(url), undefined]));
    const id = former.digest('hex').slice(0, 12);
    expect(await idAt(url)).toBe(id);
    await using later = await startInProcess({ env: { DATABASE_URL: url, SECRET_KEY: 'l'.repeat(48) } });
    expect(later.app.config.cookieId).toBe(id);
  });
});

describe('on the embedded database', { timeout: 120_000 }, () => {
  test('a copy of the data directory that runs at another port has another id', async () => {
    await using original = await ServerProcess.start({ env: EMBEDDED });
    const { owner } = await createOrganization({}, { on: original, password: OWNER_PASSWORD });
    const name = await cookieAt(original, owner);
    expect(name).toMatch(/^chat-session-[0-9a-f]{12}$/);
    await original.stop();
    const dataDir = newDataDir();
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    cpSync(original.dataDir, dataDir, { recursive: true });
    await using copy = await ServerProcess.start({ env: EMBEDDED, dataDir });
    await original.restart();
    expect(await cookieAt(copy, owner)).not.toBe(name);
    expect(await cookieAt(original, owner)).toBe(name);
  });

  test('a command with another port does not change the id', async () => {
    await using server = await ServerProcess.start({ env: EMBEDDED });
    const { owner } = await createOrganization({}, { on: server, password: OWNER_PASSWORD });
    const name = await cookieAt(server, owner);
    await server.stop();
    expect(await runProgram(['cli.ts', 'org', 'list'], { DATA_DIR: server.dataDir, PORT: '1' })).toMatchObject({
      code: 0,
    });
    await server.restart();
    expect(await cookieAt(server, owner)).toBe(name);
  });
});
