import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Credentials, signInBrowser, TOKEN_ENV, TOKEN_SUBDOMAIN } from '../helpers/credentials.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { createDatabase, createMigratedDatabase } from '../helpers/database.ts';
import type { Person } from '../helpers/person.ts';
import { ServerProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';

// Tests the commands that copy the data of the service to another database. `npm run test:faults -- --only=copy` kills them.

const { DATABASE_URL = '' } = process.env;
const EMBEDDED = { DATABASE_URL: undefined, REDIS_URL: undefined, SECRET_KEY: undefined };

/** Creates an empty database. @param settings Settings that its sessions have. */
async function emptyDatabase(...settings: string[]): Promise<string> {
  const database = await createDatabase(DATABASE_URL);
  onTestFinished(() => database[Symbol.asyncDispose]());
  const name = new URL(database.url).pathname.slice(1);
  for (const setting of settings) await query(database.url, `ALTER DATABASE ${name} SET ${setting}`);
  return database.url;
}

/** Creates a database with the tables of the service. Starting the service on an empty one takes seconds longer. */
async function migratedSource(): Promise<string> {
  const database = await createMigratedDatabase(DATABASE_URL);
  onTestFinished(() => database[Symbol.asyncDispose]());
  return database.url;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Creates a schema in a database, and another one whose name differs only in case. @returns URL that names the schema. */
async function inSchema(url: string, schema: string): Promise<string> {
  for (const name of [schema, schema.toLowerCase()]) await query(url, `CREATE SCHEMA "${name}"`);
  return `${url}?schema=${encodeURIComponent(schema)}`;
}

/** A service, and the environment of commands on its database. */
interface Ground {
  readonly server: ServerProcess;
  readonly env: Readonly<Record<string, string>>;
  readonly secretKey: string;
}

/** Starts a service on the embedded database, or on PostgreSQL. */
async function startOn(databaseUrl?: string): Promise<Ground> {
  const key = randomBytes(32).toString('hex');
  const env = {
    ...TOKEN_ENV,
    ...(databaseUrl === undefined ? EMBEDDED : { DATABASE_URL: databaseUrl, SECRET_KEY: key }),
  };
  const server = await ServerProcess.start({ env });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return {
    server,
    env: { DATA_DIR: server.dataDir, ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl, SECRET_KEY: key }) },
    secretKey: databaseUrl === undefined ? readFileSync(join(server.dataDir, 'secret-key'), 'utf8').trim() : key,
  };
}

/** Brings a copy into the state in which a killed command leaves it after it sealed the source. */
const unfinish = (url: string, copyId: unknown) =>
  query(
    url,
    `UPDATE log_epoch SET seal = 'incomplete', seal_place = 'x', sealed_at = now(), copy_id = '${copyId}', tables = '1/1'`,
  );

const copy = ({ env }: Pick<Ground, 'env'>, to: string) => runProgram(['cli.ts', 'database', 'copy', '--to', to], env);

/** Writes objects of several kinds, and returns requests whose answers must be the same after a copy. */
async function write(person: Person, other: Person) {
  const queue = await person.register({ event_types: ['message', 'drafts', 'saved_snippets'] });
  const content = 'Ünïcode 灯台 ❤️, a \\ backslash, (a), "quotes", \'more\', a\ttab,\n\n```\ncode, {1,2}\n```';
  const said = { type: 'direct', to: [other.id], content };
  const key = { 'Idempotency-Key': randomBytes(12).toString('hex') };
  const first = await person.rest('POST', '/messages', said, { headers: key });
  await person.ok('POST', '/saved_snippets', { title: 'null, NULL and ""', content: '\\N' });
  await person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'draft' }] });
  const shown = async () => ({
    messages: (await person.ok('GET', '/messages', { anchor: 'newest', num_before: 20, num_after: 0 })).messages,
    snippets: (await person.ok('GET', '/saved_snippets')).saved_snippets,
    drafts: (await person.ok('GET', '/drafts')).drafts,
    found: (
      await person.ok('GET', '/messages', {
        ...{ anchor: 'newest', num_before: 5, num_after: 0, narrow: [{ operator: 'search', operand: '灯台' }] },
      })
    ).messages.length,
    events: (await person.ok('GET', '/events', { queue_id: queue.queue_id, last_event_id: -1, dont_block: true }))
      .events,
  });
  return { queue, first, again: () => person.rest('POST', '/messages', said, { headers: key }), shown };
}

describe.skipIf(DATABASE_URL === '')('database copy', { timeout: 240_000 }, () => {
  test.each([
    [
      'the embedded database, to one with other settings',
      false,
      ["TimeZone = 'Asia/Kathmandu'", "DateStyle = 'SQL, DMY'"],
    ],
    ['PostgreSQL with other settings', true, ["TimeZone = 'America/New_York'", "bytea_output = 'escape'"]],
  ] as const)('from %s: clients continue with the same data, queue and keys', async (_, isPostgres, settings) => {
    // The schemas have names that must be quoted in SQL.
    const source = isPostgres ? await inSchema(await emptyDatabase(...settings), 'We Ird') : undefined;
    const ground = await startOn(source);
    if (source !== undefined) await query(source, 'CREATE TABLE "We Ird".notes AS SELECT 1 AS id');
    const { server } = ground;
    const { owner, member } = await createOrganization(
      {},
      { on: server, subdomain: TOKEN_SUBDOMAIN, password: OWNER_PASSWORD },
    );
    const credentials = await Credentials.of(owner, OWNER_PASSWORD);
    const { first, again, shown, queue } = await write(member, owner);
    const before = await shown();
    expect(before).toMatchObject({ found: 1, events: { length: 3 } });
    const to = await inSchema(await emptyDatabase(...(isPostgres ? [] : settings)), 'Chat');

    expect(await copy(ground, to)).toMatchObject({
      code: 1,
      said: expect.stringMatching(/data directory|uses PostgreSQL/),
    });
    await server.stop();
    const copied = await copy(ground, to);
    expect(copied).toMatchObject({ code: 0, said: expect.stringContaining('event_queues: continue') });
    expect(copied.said).not.toContain('postgres:postgres');
    if (source !== undefined) {
      expect(copied.said).toContain('not copied, because it is no table of the service: notes');
      // A node that was paused before the copy cannot log an event any more.
      const write = query(source, 'UPDATE "We Ird".event_counter SET last_id = last_id + 1');
      await expect(write).rejects.toThrow('database_was_copied_elsewhere');
    }
    await expect(server.restart()).rejects.toThrow('was copied to PostgreSQL at');

    await server.restart({ DATABASE_URL: to, SECRET_KEY: ground.secretKey });
    expect(await shown()).toEqual(before);
    await credentials.expectValid();
    // Browsers are signed in at every node, whatever its port.
    const both = { DATABASE_URL: to, SECRET_KEY: ground.secretKey };
    await using other = await ServerProcess.start({ env: { ...TOKEN_ENV, ...both } });
    await credentials.expectValid(other.port);
    expect((await again()).body).toEqual(first.body);
    const { id } = await member.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'later' });
    expect(id).toBeGreaterThan(first.body.id);
    const { events } = await member.ok('GET', '/events', {
      ...{ queue_id: queue.queue_id, last_event_id: before.events.at(-1).id, dont_block: true },
    });
    expect(events).toMatchObject([{ type: 'message', message: { id }, id: before.events.at(-1).id + 1 }]);
  });

  test('seals the source: no node starts and no command runs on it until it is unsealed, which ends all queues', async () => {
    const ground = await startOn();
    const { server, env } = ground;
    const { owner, member } = await createOrganization({}, { on: server, password: OWNER_PASSWORD });
    const { queue } = await write(member, owner);
    const cookieName = /^[^=]+/.exec(await signInBrowser(owner, OWNER_PASSWORD))?.[0];
    await server.stop();
    const to = await emptyDatabase();
    expect(await copy(ground, to)).toMatchObject({ code: 0 });
    const run = (...words: string[]) => runProgram(['cli.ts', ...words], env);
    expect(await run('org', 'list')).toMatchObject({
      code: 1,
      said: expect.stringContaining('was copied to PostgreSQL'),
    });
    expect(await run('doctor')).toMatchObject({
      code: 1,
      said: expect.stringMatching(/seal +false +The data of this/),
    });
    expect(await copy(ground, await emptyDatabase())).toMatchObject({
      code: 1,
      said: expect.stringContaining('was copied'),
    });

    expect(await run('database', 'unseal')).toMatchObject({
      code: 0,
      said: expect.stringContaining('queues_ended: 1'),
    });
    expect(await run('database', 'unseal')).toMatchObject({ code: 1, said: 'The database is not sealed.' });
    await server.restart();
    // The cookies of both services have different names, so that neither overwrites those of the other.
    await using copied = await ServerProcess.start({ env: { DATABASE_URL: to, SECRET_KEY: ground.secretKey } });
    const nameAt = async ({ port }: ServerProcess) =>
      /^[^=]+/.exec(await signInBrowser(owner, OWNER_PASSWORD, port))?.[0];
    expect(await nameAt(copied)).toBe(cookieName);
    expect(await nameAt(server)).not.toBe(cookieName);
    const reply = await member.rest('GET', '/events', {
      queue_id: queue.queue_id,
      last_event_id: -1,
      dont_block: true,
    });
    expect(reply.body).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID', reason: 'restored' });
  });

  test('finishes a copy that was interrupted after its source was sealed', async () => {
    const ground = await startOn(await migratedSource());
    const { server, env } = ground;
    const { member } = await createOrganization({}, { on: server });
    await server.stop();
    const to = await emptyDatabase();
    expect(await copy(ground, to)).toMatchObject({ code: 0 });
    const [state] = await query(env['DATABASE_URL'] ?? '', 'SELECT copy_id FROM log_epoch');
    await unfinish(to, state?.['copy_id']);
    await expect(server.restart({ DATABASE_URL: to })).rejects.toThrow('unfinished copy');
    expect(await copy(ground, to)).toMatchObject({ code: 0, said: expect.stringContaining('event_queues: continue') });
    await server.restart();
    expect((await member.rest('GET', '/users/me')).status).toBe(200);
  });

  test('ends all queues if something was written to the source after it was copied', async () => {
    const ground = await startOn(await migratedSource());
    const { server, env } = ground;
    const { owner, member } = await createOrganization({}, { on: server });
    const { queue } = await write(member, owner);
    await server.stop();
    const to = await emptyDatabase();
    expect(await copy(ground, to)).toMatchObject({ code: 0 });
    const source = env['DATABASE_URL'] ?? '';
    const [state] = await query(source, 'SELECT copy_id FROM log_epoch');
    await query(source, 'ALTER TABLE event_counter DROP CONSTRAINT database_was_copied_elsewhere');
    await query(source, 'UPDATE event_counter SET last_id = last_id + 1');
    await query(
      source,
      'ALTER TABLE event_counter ADD CONSTRAINT database_was_copied_elsewhere CHECK (false) NOT VALID',
    );
    await unfinish(to, state?.['copy_id']);
    expect(await copy(ground, to)).toMatchObject({ code: 0, said: expect.stringContaining('event_queues: end') });
    await server.restart({ DATABASE_URL: to });
    const reply = await member.rest('GET', '/events', {
      queue_id: queue.queue_id,
      last_event_id: -1,
      dont_block: true,
    });
    expect(reply.body).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID', reason: 'restored' });
  });

  test('refuses databases whose tables the role does not own, and names the owner', async () => {
    const url = await migratedSource();
    const ground = await startOn(url);
    const { member } = await createOrganization({}, { on: ground.server });
    await ground.server.stop();
    const [owner] = await query(url, 'SELECT current_user AS name');
    const role = `chat_test_${randomBytes(6).toString('hex')}`;
    await query(url, `CREATE ROLE ${role} LOGIN PASSWORD 'other'`);
    onTestFinished(async () => {
      await query(url, `DROP OWNED BY ${role}`);
      await query(url, `DROP ROLE ${role}`);
    });
    const grantAll = (on: string) =>
      query(
        on,
        `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
      );
    await grantAll(url);
    const asOther = (of: string) => Object.assign(new URL(of), { username: role, password: 'other' }).href;
    const notOwned = expect.stringMatching(
      new RegExp(`The role ${role} does not own table \\w+ of .*Run this command as its owner, ${owner?.['name']}\\.`),
    );
    const source = { ...ground, env: { ...ground.env, DATABASE_URL: asOther(url) } };
    const to = await emptyDatabase();
    expect(await copy(source, to)).toMatchObject({ code: 1, said: notOwned });
    expect(await query(to, `SELECT to_regclass('message') AS found`)).toEqual([{ found: null }]);

    const migrated = await runProgram(['cli.ts', 'migrate'], { ...ground.env, DATABASE_URL: to });
    expect(migrated.code).toBe(0);
    await grantAll(to);
    expect(await copy(ground, asOther(to))).toMatchObject({ code: 1, said: notOwned });
    await ground.server.restart();
    expect((await member.rest('GET', '/users/me')).status).toBe(200);
    await ground.server.stop();
    expect(await copy(ground, await emptyDatabase())).toMatchObject({ code: 0 });
    expect(await runProgram(['cli.ts', 'database', 'unseal'], source.env)).toMatchObject({ code: 1, said: notOwned });
  });

  describe('refuses, and changes nothing', () => {
    test.each<readonly [string, () => Promise<string>, string | RegExp]>([
      [
        'no PostgreSQL',
        async () => 'mysql://localhost/chat',
        'must be a connection string that begins with postgresql://',
      ],
      ['a server that does not answer', async () => 'postgres://127.0.0.1:1/chat', /reach|connect|ECONNREFUSED/i],
      [
        'a database with tables of another application',
        async () => {
          const url = await emptyDatabase();
          await query(url, 'CREATE TABLE invoice (id int)');
          return url;
        },
        'tables of another application',
      ],
      [
        'rows of another application',
        async () => {
          const url = await emptyDatabase();
          await query(url, 'CREATE TABLE invoice AS SELECT 1 AS id');
          return url;
        },
        'is not empty: table invoice has rows',
      ],
      [
        'a database with an organization',
        async () => {
          const url = await emptyDatabase();
          await using server = await ServerProcess.start({ env: { DATABASE_URL: url, SECRET_KEY: 'k'.repeat(64) } });
          await createOrganization({}, { on: server });
          return url;
        },
        /is not empty: table \w+ has rows/,
      ],
      [
        'a database that a node uses',
        async () => {
          const url = await emptyDatabase();
          const server = await ServerProcess.start({ env: { DATABASE_URL: url, SECRET_KEY: 'k'.repeat(64) } });
          onTestFinished(() => server[Symbol.asyncDispose]());
          return url;
        },
        /The service uses PostgreSQL at .*, with \d+ connections/,
      ],
      [
        'an encoding that cannot store every text',
        async () => {
          const database = await createDatabase(DATABASE_URL, "ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'");
          onTestFinished(() => database[Symbol.asyncDispose]());
          return database.url;
        },
        'encoding is SQL_ASCII',
      ],
    ])('a target that is %s', async (_, target, said) => {
      const dataDir = newDataDir();
      const env = { DATA_DIR: dataDir };
      const ended = await copy({ env }, await target());
      expect(ended).toMatchObject({ code: 1, said: expect.stringMatching(said) });
      expect(await runProgram(['cli.ts', 'org', 'list'], env)).toMatchObject({ code: 0, said: 'none' });
    });
  });

  test('a service without an organization warns of an embedded database in its data directory', async () => {
    const ground = await startOn();
    const { server, env } = ground;
    await createOrganization({}, { on: server });
    const to = await emptyDatabase();
    await server.restart({ DATABASE_URL: to, SECRET_KEY: ground.secretKey });
    expect(server.log()).toContain('contains an embedded database. To copy its data');
    const doctor = await runProgram(['cli.ts', 'doctor'], { ...env, DATABASE_URL: to, SECRET_KEY: ground.secretKey });
    expect(doctor.said).toMatch(/organizations +false .*database copy --to/);
  });
});
