import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Prisma } from '../../src/generated/prisma/client.ts';
import type { RunSql } from '../../src/platform/db/client.ts';
import {
  guardRows,
  holdWrites,
  recordChanges,
  releaseWrites,
  tablesOfOrganizations,
  takeChanges,
  unguardRows,
  writeMove,
} from '../../src/platform/db/organization-moves.ts';
import { sumChanged } from '../../src/platform/db/table-copy.ts';
import { claimMail } from '../../src/platform/mail/outbox.ts';
import { Cluster } from '../faults/cluster.ts';
import { createDatabase } from '../helpers/database.ts';
import { Person } from '../helpers/person.ts';
import { download, PNG } from '../helpers/pictures.ts';
import { ServerProcess } from '../helpers/process.ts';
import { COMPILED, runProgram } from '../helpers/program.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests the commands that move an organization between databases. `npm run test:faults -- --only=cells` kills them under load.

const { DATABASE_URL = '' } = process.env;
const ROOT = join(import.meta.dirname, '../..');
const SECRET_KEY = randomBytes(32).toString('hex');

/** A database with a service. */
interface Cell {
  readonly url: string;
  readonly server: ServerProcess;
  readonly env: Readonly<Record<string, string>>;
}

/** An organization to move. */
interface Made {
  readonly organization: { readonly subdomain: string };
}

describe.skipIf(DATABASE_URL === '')('org move', { timeout: 240_000 }, () => {
  const stack = new AsyncDisposableStack();
  let cluster: Cluster;
  let one: Cell;
  let two: Cell;

  beforeAll(async () => {
    cluster = stack.use(await Cluster.start(['wal_level=logical', 'max_connections=200', 'max_replication_slots=20']));
    [one, two] = [await startCell(1), await startCell(2)];
  }, 240_000);
  afterAll(() => stack.disposeAsync());

  /** Creates an empty database on the server with logical replication. */
  const emptyDatabase = async (own = stack): Promise<string> => own.use(await createDatabase(cluster.url)).url;

  async function startCell(number: number): Promise<Cell> {
    const url = await emptyDatabase();
    // Nodes without a mail server leave queued emails as they are.
    const env = { DATABASE_URL: url, SECRET_KEY, SMTP_URL: '' };
    expect(await run(['migrate'], env)).toMatchObject({ code: 0 });
    if (number > 1) expect(await run(['cell', 'number', '--number', String(number)], env)).toMatchObject({ code: 0 });
    return { url, env, server: stack.use(await ServerProcess.start({ env })) };
  }

  const move = (from: Cell, { organization }: Made, to: Cell, ...options: string[]) =>
    run(['org', 'move', organization.subdomain, '--to', to.url, ...options], from.env);

  test('clients continue at the other cell with the same data, queue and keys, and after the way back', async () => {
    const made = await createOrganization({}, { on: one.server });
    const other = await createOrganization({}, { on: two.server });
    const { owner, member, organization } = made;
    const at = (cell: Cell, person = member) => personAt(cell, person);
    const queue = await member.register({ event_types: ['message', 'drafts', 'reaction'] });
    const otherQueue = await other.member.register({ event_types: ['message'] });
    const said = { type: 'direct', to: [owner.id], content: 'Ünïcode 灯台, "quotes" and a \\ backslash' };
    const key = { 'Idempotency-Key': randomBytes(12).toString('hex') };
    const first = await member.rest('POST', '/messages', said, { headers: key });
    await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'draft' }] });
    await owner.ok('POST', '/realm/emoji/custom', { file: PNG });
    const { avatar_url } = await member.ok('POST', '/users/me/avatar', { file: PNG });
    const inTheMove = Math.floor(Date.now() / 1000) + 12;
    await member.ok('POST', '/scheduled_messages', {
      ...said,
      content: 'due in the move',
      scheduled_delivery_timestamp: inTheMove,
    });
    const shown = async (person: Person) => ({
      messages: (
        await person.ok('GET', '/messages', { anchor: 'newest', num_before: 20, num_after: 0 })
      ).messages.filter(({ content }: { content: string }) => !content.includes('due in the move')),
      drafts: (await person.ok('GET', '/drafts')).drafts,
      emoji: (await person.ok('GET', '/realm/emoji')).emoji,
      avatar: (
        await download(person, new URL(avatar_url, 'http://x').pathname + new URL(avatar_url, 'http://x').search)
      ).bytes.length,
    });
    const before = await shown(member);
    // A socket and a long poll that wait at the former cell.
    await using stream = await member.events('position', {
      queueId: (await member.register({ fetch_event_types: [] })).queue_id,
    });
    const poll = member.rest('GET', '/events', { queue_id: queue.queue_id, last_event_id: 1_000 });
    await poll;

    const moved = await move(one, made, two);
    expect(moved).toMatchObject({ code: 0, said: expect.stringMatching(/held_ms: \d+/) });
    expect(await stream.ended).toMatchObject({ how: 'closed', code: 1013 });
    const refused = await member.rest('GET', '/users/me');
    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'REQUEST_TIMEOUT', msg: expect.stringContaining('has moved'), 'retry-after': 1 },
    });
    expect(refused.headers['retry-after']).toBe('1');
    expect(await shown(at(two))).toEqual(before);
    expect((await at(two).rest('POST', '/messages', said, { headers: key })).body).toEqual(first.body);
    const { id } = await at(two).ok('POST', '/messages', { ...said, content: 'later' });
    expect(id).toBeGreaterThan(first.body.id);
    const events = await at(two).poll(queue.queue_id, -1, { dontBlock: true });
    expect(events.map(({ type }) => type)).toContain('drafts');
    expect(events.at(-1)).toMatchObject({ type: 'message', message: { id } });

    // The scheduled message is sent once, by the cell in use.
    await vi.waitFor(async () => expect(await sentTimes(at(two), 'due in the move')).toBe(1), {
      timeout: 30_000,
      interval: 500,
    });

    // The other organization of the cell has kept its queue.
    await other.owner.ok('POST', '/messages', { type: 'direct', to: [other.member.id], content: 'still here' });
    expect(await other.member.poll(otherQueue.queue_id, -1, { dontBlock: true })).toMatchObject([{ type: 'message' }]);

    expect(await remainsOf(one, organization.id)).toEqual([]);
    const listed = await run(['org', 'list', '--json'], one.env);
    expect(JSON.parse(listed.said)).toContainEqual(
      expect.objectContaining({ realm_id: organization.id, moved_to: expect.stringContaining('PostgreSQL at') }),
    );
    expect((await run(['doctor'], one.env)).said).toMatch(/moves +true +.* moved to/);
    const taken = ['org', 'create', '--subdomain', organization.subdomain, '--name', 'x', '--owner-name', 'x'];
    expect(await run(taken, one.env)).toMatchObject({
      code: 1,
      said: expect.stringContaining('in another database'),
    });

    expect(await move(two, made, one)).toMatchObject({ code: 0 });
    expect(await sentTimes(member, 'due in the move')).toBe(1);
    expect((await member.rest('POST', '/messages', said, { headers: key })).body).toEqual(first.body);
    const back = await member.ok('POST', '/messages', { ...said, content: 'back' });
    expect(back.id).toBeGreaterThan(id);
    const since = await member.poll(queue.queue_id, events.at(-1).id, { dontBlock: true });
    expect(since.at(-1)).toMatchObject({ type: 'message', message: { id: back.id } });
    expect(await remainsOf(two, organization.id)).toEqual([]);
    // New users of both cells have other ids.
    const [here, there] = [await made.signUp('new here'), await other.signUp('new there')];
    expect(there.id - here.id).toBeGreaterThan(40_000_000);
  });

  test('while changes are held, they are refused and not made, for this organization only', async () => {
    const made = await createOrganization({}, { on: one.server });
    const other = await createOrganization({}, { on: one.server });
    const { id } = made.organization;
    const said = { type: 'direct', to: [made.owner.id], content: 'held' };
    const key = { 'Idempotency-Key': randomBytes(12).toString('hex') };
    const due = Math.floor(Date.now() / 1000) + 2;
    await made.member.ok('POST', '/scheduled_messages', { ...said, content: 'due', scheduled_delivery_timestamp: due });
    // Queues of both organizations, whose positions one statement writes.
    const reading = [];
    for (const { owner, member } of [made, other]) {
      const { queue_id } = await member.register({ event_types: ['message'] });
      await member.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'read' });
      const [event] = await member.poll(queue_id, -1, { dontBlock: true });
      reading.push({ member, queueId: queue_id, lastId: event?.id ?? 0 });
    }
    await using held = await hold(one, id);
    for (const { member, queueId, lastId } of reading) await member.poll(queueId, lastId, { dontBlock: true });
    const [, ofOther] = reading;
    await vi.waitFor(
      async () => {
        const [row] = await query(
          one.url,
          `SELECT acked_id::int AS acked FROM event_queue WHERE id = '${ofOther?.queueId}'`,
        );
        expect(row).toEqual({ acked: ofOther?.lastId });
      },
      { timeout: 15_000, interval: 250 },
    );
    const refusal = { status: 503, body: { code: 'REQUEST_TIMEOUT' } };
    expect(await made.member.rest('POST', '/messages', said, { headers: key })).toMatchObject(refusal);
    expect(await made.member.rest('POST', '/users/me/status', { status_text: 'held' })).toMatchObject(refusal);
    expect(await made.member.rest('PATCH', '/settings', { full_name: 'Held' })).toMatchObject(refusal);
    const { errors } = await made.member.graphql(
      'mutation { createDrafts(input: { drafts: [{ content: "held" }] }) { __typename ... on ServiceError { code } } }',
    );
    expect(JSON.stringify(errors)).toContain('REQUEST_TIMEOUT');
    expect((await made.member.rest('GET', '/users/me')).status).toBe(200);
    await other.member.ok('POST', '/messages', { type: 'direct', to: [other.owner.id], content: 'not held' });
    await sleep(3_000);
    expect(await sentTimes(made.member, 'due')).toBe(0);
    await held.end();
    expect(await sentTimes(made.member, 'held')).toBe(0);
    expect((await made.member.rest('POST', '/messages', said, { headers: key })).status).toBe(200);
    await vi.waitFor(async () => expect(await sentTimes(made.member, 'due')).toBe(1), {
      timeout: 20_000,
      interval: 250,
    });
  });

  test.each([/^beginning/, /^holding/])(
    'a command that dies at %s leaves the source in use; --abort removes all traces',
    async (phase) => {
      const made = await createOrganization({}, { on: one.server });
      const { member, organization } = made;
      await killedAt(phase, one, made, two);
      const change = async () => (await member.rest('POST', '/users/me/status', { status_text: 'x' })).status;
      await vi.waitFor(async () => expect(await change()).toBe(200), { timeout: 30_000, interval: 250 });
      expect((await run(['doctor'], one.env)).said).toMatch(/moves +false .*--abort/);
      expect(await move(one, made, two, '--abort')).toMatchObject({
        code: 0,
        said: expect.stringContaining('was not moved'),
      });
      expect(await remainsOf(two, organization.id)).toEqual([]);
      for (const cell of [one, two]) expect(await tracesOf(cell, organization.id)).toEqual([]);
      expect(await change()).toBe(200);
    },
  );

  test('after a command that dies within the switch, one database shows the organization without another call', async () => {
    const made = await createOrganization({}, { on: one.server });
    await killedAt(/^switching/, one, made, two);
    const change = async (person: Person) =>
      (await person.rest('POST', '/users/me/status', { status_text: 'x' })).status;
    await vi.waitFor(
      async () => expect([await change(made.member), await change(personAt(two, made.member))]).toContain(200),
      { timeout: 10_000, interval: 100 },
    );
    expect(await move(one, made, two)).toMatchObject({ code: 0 });
    expect(await change(personAt(two, made.member))).toBe(200);
    expect(await remainsOf(one, made.organization.id)).toEqual([]);
  });

  test('each database removes its traces of an unfinished move while the other one cannot be reached', async () => {
    const made = await createOrganization({}, { on: one.server });
    const { subdomain, id } = made.organization;
    const abort = (cell: Cell) => run(['org', 'move', subdomain, '--abort'], cell.env);
    await killedAt(/^holding/, one, made, two);
    const found = await run(['doctor'], one.env);
    expect(found.said).toMatch(/moves +false .*is being copied to .*--abort/);
    expect(found.said).toMatch(/replication slots +(true|false) .*chat_move_\d+_\d+ keeps \d+ MB/);
    expect((await run(['doctor'], two.env)).said).toMatch(/moves +false .*is being copied from .*--abort/);
    await vi.waitFor(async () => expect(await abort(one)).toMatchObject({ code: 0 }), { timeout: 30_000 });
    // The subscription of the other database, on the same server, stays.
    expect(await tracesOf(one, id)).toEqual([{ name: expect.stringMatching(/^chat_move_/) }]);
    expect((await run(['doctor'], one.env)).said).toMatch(/replication slots +true +none/);
    expect((await made.member.rest('POST', '/users/me/status', { status_text: 'x' })).status).toBe(200);
    expect(await abort(one)).toMatchObject({ code: 1, said: expect.stringContaining('no unfinished move') });
    expect(await abort(two)).toMatchObject({ code: 0 });
    expect(await tracesOf(two, id)).toEqual([]);
    expect(await remainsOf(two, id)).toEqual([]);
    expect(await move(one, made, two)).toMatchObject({ code: 0 });
    expect(await abort(one)).toMatchObject({ code: 1, said: expect.stringContaining('has moved to') });
  });

  test('an email that is being sent is sent by one database; further ones wait for the switch', async () => {
    const made = await createOrganization({}, { on: one.server });
    const { id } = made.organization;
    const client = await connect(one.url);
    // No node has a mail server, so the claims are made here, as a node makes them.
    await client.run(
      `INSERT INTO outgoing_mail (realm_id, recipient, subject, body, next_attempt_at, attempts)
       VALUES (${id}, 'a@example.com', 'claimed', '', now() + interval '5 minutes', 1), (${id}, 'a@example.com', 'due', '', now(), 0)`,
    );
    let output = '';
    const moving = move(one, made, two).then((ended) => {
      output = ended.said;
      return ended;
    });
    await vi.waitFor(
      async () =>
        expect(await client.run(`SELECT FROM realm_move WHERE realm_id = ${id} AND records_changes`)).toHaveLength(1),
      { timeout: 60_000, interval: 20 },
    );
    const database = {
      db: {
        $queryRaw: async (parts: TemplateStringsArray, ...given: unknown[]) => {
          const { text, values } = Prisma.sql(parts, ...given);
          return client.run(text, values);
        },
      },
    };
    expect(await claimMail({ ...database, now: () => new Date() } as never)).toBeUndefined();
    expect(output).toBe('');
    await client.run(
      `UPDATE outgoing_mail SET sent_at = now(), next_attempt_at = NULL WHERE realm_id = ${id} AND attempts = 1`,
    );
    expect(await moving).toMatchObject({ code: 0 });
    await client.end();
    const sent = await query(
      two.url,
      `SELECT subject, attempts, sent_at IS NOT NULL AS sent FROM outgoing_mail WHERE realm_id = ${id} ORDER BY id`,
    );
    expect(sent).toEqual([
      { subject: 'claimed', attempts: 1, sent: true },
      { subject: 'due', attempts: 0, sent: false },
    ]);
  });

  test('rows that change while the copy is compared are recorded by their keys', async () => {
    const made = await createOrganization({}, { on: one.server });
    const { id } = made.organization;
    const { id: before } = await made.member.ok('POST', '/messages', {
      type: 'direct',
      to: [made.owner.id],
      content: 'x',
    });
    const client = await connect(one.url);
    await using held = await hold(one, id);
    const tables = await tablesOfOrganizations(client.run);
    await recordChanges(client.run, id);
    await held.release();
    await made.member.ok('PATCH', `/messages/${before}`, { content: 'edited' });
    await made.member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'draft' }] });
    const [{ id: draft }] = (await made.member.ok('GET', '/drafts')).drafts;
    await made.member.ok('DELETE', `/drafts/${draft}`);
    const changes = await takeChanges(client.run, id);
    const keysOf = (name: string) => JSON.parse(changes.keys.get(name) ?? '[]');
    expect(keysOf('message')).toEqual([{ realm_id: id, id: before }]);
    expect(keysOf('draft')).toEqual([{ realm_id: id, id: draft }]);
    expect(keysOf('event').length).toBeGreaterThan(2);
    const sums = () => sumChanged(client.run, tables, id, changes);
    const place = (name: string) => tables.findIndex((table) => table.name === name);
    const first = await sums();
    expect(first[place('message')]?.rows).toBe(1);
    expect(first[place('draft')]).toEqual({ rows: 0, checksum: '0' });
    expect(await sums()).toEqual(first);
    await client.run(`UPDATE message SET content = 'other' WHERE realm_id = ${id} AND id = ${before}`);
    expect((await sums())[place('message')]).not.toEqual(first[place('message')]);
    expect(JSON.parse((await takeChanges(client.run, id)).keys.get('message') ?? '')).toHaveLength(1);
    await client.end();
  });

  test('a command that is repeated after it died moves the organization', async () => {
    const made = await createOrganization({}, { on: one.server });
    await killedAt(/^copying/, one, made, two);
    expect(await move(one, made, two)).toMatchObject({ code: 0 });
    const status = { status_text: 'x' };
    expect((await personAt(two, made.member).rest('POST', '/users/me/status', status)).status).toBe(200);
    expect(await move(one, made, two)).toMatchObject({ code: 1, said: expect.stringContaining('has already moved') });
    const actions = ['ORGANIZATION_MOVE_BEGUN', 'ORGANIZATION_MOVED'];
    const { organization } = await personAt(two, made.owner).query(
      `query ($actions: [AuditAction!]) {
         organization { auditLogEntries(filter: { actions: $actions }) { nodes { action actorKind } } }
       }`,
      { actions },
    );
    // Newest first. The entry of the first command was copied with the organization.
    expect(organization.auditLogEntries.nodes).toEqual(
      ['ORGANIZATION_MOVED', 'ORGANIZATION_MOVE_BEGUN', 'ORGANIZATION_MOVE_BEGUN'].map((action) => ({
        ...{ action, actorKind: 'OPERATOR' },
      })),
    );
  });

  test('if the target does not commit the switch, the next command finishes it, and --abort reverts it', async () => {
    const made = await createOrganization({}, { on: one.server });
    const { member } = made;
    const refuses = async (isRefused: boolean) => {
      await query(two.url, 'DROP TRIGGER IF EXISTS refused ON realm');
      if (!isRefused) return;
      await query(
        two.url,
        `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
         CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON realm DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
         ALTER TABLE realm ENABLE ALWAYS TRIGGER refused`,
      );
    };
    const third = await emptyDatabase();
    expect(await run(['migrate'], { DATABASE_URL: third, SECRET_KEY })).toMatchObject({ code: 0 });
    for (const ending of ['--abort', undefined]) {
      await refuses(true);
      expect(await move(one, made, two)).toMatchObject({
        code: 1,
        said: expect.stringContaining('has not applied the switch'),
      });
      expect((await run(['doctor'], one.env)).said).toMatch(/moves +false .*has moved to/);
      for (const person of [member, personAt(two, member)])
        expect((await person.rest('GET', '/users/me')).status).not.toBe(200);
      expect((await member.rest('GET', '/users/me')).body.msg).toContain('has moved');
      // A database that is not the target of the move cannot revert it.
      expect(await move(one, made, { ...two, url: third }, '--abort')).toMatchObject({
        code: 1,
        said: expect.stringMatching(/has moved to PostgreSQL at .*, not to/),
      });
      expect((await member.rest('GET', '/users/me')).body.msg).toContain('has moved');
      await refuses(false);
      expect(await move(one, made, two, ...(ending === undefined ? [] : [ending]))).toMatchObject({ code: 0 });
      const inUse = ending === undefined ? personAt(two, member) : member;
      expect((await inUse.rest('POST', '/users/me/status', { status_text: 'in use' })).status).toBe(200);
    }
  });

  test('two organizations move at the same time; the same one is moved by one command', async () => {
    const [first, second] = [
      await createOrganization({}, { on: one.server }),
      await createOrganization({}, { on: one.server }),
    ];
    const results = await Promise.all([move(one, first, two), move(one, second, two), move(one, second, two)]);
    expect(results.map(({ code }) => code).sort()).toEqual([0, 0, 1]);
    expect(results.find(({ code }) => code === 1)?.said).toContain('Another command is moving');
    for (const { member } of [first, second])
      expect((await personAt(two, member).rest('GET', '/users/me')).status).toBe(200);
  });

  describe('refuses, and changes nothing', () => {
    test.each<
      readonly [string, () => Promise<{ from?: Partial<Cell>; to?: Partial<Cell>; subdomain?: string }>, RegExp]
    >([
      ['the embedded database', async () => ({ from: { env: {} } }), /there is no (database|directory)/],
      ['the same database', async () => ({ to: one }), /are the same database/],
      ['an organization that does not exist', async () => ({ subdomain: 'nobody' }), /nobody does not exist/],
      ['a target without tables', async () => ({ to: { url: await emptyDatabase() } }), /migrat/],
      [
        'a target of an older version',
        async () => {
          const url = await emptyDatabase();
          await run(['migrate'], { DATABASE_URL: url, SECRET_KEY });
          await query(
            url,
            'DELETE FROM _prisma_migrations WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations)',
          );
          return { to: { url } };
        },
        /migrat/,
      ],
      [
        'a target that is the same cell',
        async () => {
          const url = await emptyDatabase();
          await run(['migrate'], { DATABASE_URL: url, SECRET_KEY });
          return { to: { url } };
        },
        /Both databases have the cell number 1/,
      ],
      [
        'another secret key',
        async () => {
          await createOrganization({}, { on: two.server });
          return { from: { env: { ...one.env, SECRET_KEY: 'k'.repeat(64) } } };
        },
        /SECRET_KEY is not the key/,
      ],
      [
        'a subdomain that the target has',
        async () => {
          const { organization } = await createOrganization({}, { on: one.server });
          await createOrganization({}, { on: two.server, subdomain: organization.subdomain });
          return { subdomain: organization.subdomain };
        },
        /has or had another organization with the subdomain/,
      ],
      [
        'nodes of an earlier version',
        async () => {
          const old = await connect(`${two.url}?application_name=chat-${'0'.repeat(24)}`);
          onTestFinished(() => old.end());
          return {};
        },
        /Nodes of an earlier version use/,
      ],
      [
        'an organization with an id that the target will assign',
        async () => {
          const { organization } = await createOrganization({}, { on: one.server });
          await query(
            one.url,
            `INSERT INTO channel_folder (realm_id, id, name) VALUES (${organization.id}, 60000000, 'far')`,
          );
          return { subdomain: organization.subdomain };
        },
        /will assign the id 60000000/,
      ],
      [
        'a source without logical replication',
        async () => {
          const url = stack.use(await createDatabase(DATABASE_URL)).url;
          const env = { DATABASE_URL: url, SECRET_KEY };
          await run(['migrate'], env);
          await run(['org', 'create', '--subdomain', 'x', '--name', 'x', '--owner-name', 'x'], env);
          return { from: { env }, subdomain: 'x' };
        },
        /wal_level replica\. Set it to logical/,
      ],
    ])('%s', async (_, make, said) => {
      const { organization } = await createOrganization({}, { on: one.server });
      const { from, to, subdomain = organization.subdomain } = await make();
      const ended = await move({ ...one, ...from }, { organization: { subdomain } }, { ...two, ...to });
      expect(ended).toMatchObject({ code: 1, said: expect.stringMatching(said) });
      expect(await tracesOf(one, organization.id)).toEqual([]);
    });

    test('a number for a cell with an organization, and one out of range', async () => {
      await createOrganization({}, { on: one.server });
      const number = (value: string) => run(['cell', 'number', '--number', value], one.env);
      expect(await number('3')).toMatchObject({ code: 1, said: expect.stringContaining('contains an organization') });
      for (const value of ['0', '1.5']) expect(await number(value)).toMatchObject({ code: 1 });
    });
  });
});

/** Runs an operator command. */
const run = (words: readonly string[], env: Readonly<Record<string, string>>) =>
  runProgram(['cli.ts', ...words], env, tmpdir());

/** Returns a user at the cell to which their organization has moved. */
function personAt({ server }: Cell, person: Person): Person {
  return new Person({ url: server.url, host: person.host }, person);
}

/** Returns the number of messages that contain a text and that a user can read. */
async function sentTimes(person: Person, text: string): Promise<number> {
  const { messages } = await person.ok('GET', '/messages', { anchor: 'newest', num_before: 100, num_after: 0 });
  return messages.filter(({ content }: { content: string }) => content.includes(text)).length;
}

async function connect(url: string): Promise<pg.Client & { readonly run: RunSql }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const run: RunSql = async (sql, values) => (await client.query(sql, values as unknown[])).rows as never;
  return Object.assign(client, { run });
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = await connect(url);
  try {
    return await client.run(sql);
  } finally {
    await client.end();
  }
}

/**
 * Blocks all changes of an organization, as `org move` does while it switches the database. @returns `release`, which permits
 * changes again, and `end`, which also removes the record of the move.
 */
async function hold({ url }: Cell, organizationId: number) {
  const client = await connect(url);
  const tables = (await tablesOfOrganizations(client.run)).map(({ name }) => name);
  const moveId = '00000000-0000-0000-0000-000000000000';
  await writeMove(client.run, {
    ...{ organizationId, subdomain: '', state: 'leaving', place: 'x', moveId, organization: null, returns: false },
  });
  await guardRows(client.run, organizationId, tables);
  expect(await holdWrites(client.run, organizationId, 5_000)).toBe(true);
  let [isOver, isHeld] = [false, true];
  const release = async () => {
    if (isHeld) await releaseWrites(client.run, organizationId);
    isHeld = false;
  };
  const end = async () => {
    if (isOver) return;
    isOver = true;
    await release();
    await unguardRows(client.run, organizationId);
    await client.run(`DELETE FROM realm_move WHERE realm_id = ${organizationId}`);
    await client.end();
  };
  return { end, release, [Symbol.asyncDispose]: end };
}

/** Runs `org move`, and kills it when a line of its output appears. */
async function killedAt(phase: RegExp, from: Cell, { organization }: Made, to: Cell): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', join(ROOT, 'src/cli.ts'), 'org', 'move'];
  const child: ChildProcess = spawn(process.execPath, [...args, organization.subdomain, '--to', to.url], {
    env: { ...COMPILED, ...from.env },
    cwd: ROOT,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (output.split('\n').some((line) => phase.test(line))) child.kill('SIGKILL');
  });
  const [, signal] = await once(child, 'close');
  expect([signal, output]).toEqual(['SIGKILL', expect.stringMatching(new RegExp(phase.source, 'm'))]);
}

/** Returns the tables of a database that have rows of an organization. */
async function remainsOf({ url }: Cell, organizationId: number): Promise<string[]> {
  const client = await connect(url);
  try {
    const found: string[] = [];
    for (const { name } of await tablesOfOrganizations(client.run)) {
      const [row] = await client.run<{ rows: number }>(
        `SELECT count(*)::int AS rows FROM "${name}" WHERE realm_id = ${organizationId}`,
      );
      if (row?.rows !== 0) found.push(name);
    }
    return found;
  } finally {
    await client.end();
  }
}

/** Returns what an unfinished move leaves in a database and its server: publications, subscriptions, slots and triggers. */
const tracesOf = ({ url }: Cell, organizationId: number): Promise<unknown[]> =>
  query(
    url,
    `SELECT name FROM (
       SELECT pubname::text AS name FROM pg_publication
       UNION ALL SELECT subname::text FROM pg_subscription
       UNION ALL SELECT slot_name::text FROM pg_replication_slots
       UNION ALL SELECT tgname::text FROM pg_trigger) AS known
     WHERE name ~ '^(chat_move_\\d+_${organizationId}|guard_move_${organizationId})(_|$)' OR name ~ '^pg_\\d+_sync_'`,
  );
