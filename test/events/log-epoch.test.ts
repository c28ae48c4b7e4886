import { randomBytes } from 'node:crypto';
import { cpSync, rmSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { judge, type LogPlace, type Verdict, WITNESS_PATIENCE_MS, type Witness } from '../../src/events/epoch-rules.ts';
import { runCommand } from '../helpers/control.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { Person } from '../helpers/person.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const { DATABASE_URL } = process.env;

const SELECTION = 'position ... on DraftsAddedEvent { drafts { content } }';
const RESTORED = { code: 'BAD_EVENT_QUEUE_ID', reason: 'restored' };
const BEGINS = 'new event log epoch';

const saveDraft = (person: Person, content: string) =>
  person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });
const register = (person: Person) => person.register({ fetch_event_types: [], idle_queue_timeout: 3_600 });
/** Returns how often a node has logged that a new epoch of the event log began. */
const begunBy = (server: ServerProcess) => server.log().split(BEGINS).length - 1;

/** Returns the errors that a client gets, over each transport, if it reconnects with an old queue and position. */
async function answersTo(person: Person, queueId: string, position: number): Promise<object[]> {
  const { body } = await person.rest('GET', '/events', { queue_id: queueId, last_event_id: position });
  const { errors } = await person.graphql(
    'query ($q: String!, $p: LongId) { events(queueId: $q, after: $p) { hasMore } }',
    {
      q: queueId,
      p: position,
    },
  );
  await using live = await person.events(SELECTION, { queueId, after: position });
  const end = await live.ended;
  return [body, errors?.[0]?.extensions, end.errors?.[0]?.extensions].map(({ code, reason }) => ({ code, reason }));
}

describe('whether a log continues', () => {
  const place: LogPlace = { tables: '5/16400', cluster: '7711', copy: '12/34', timeline: '00000001' };
  const unknown: LogPlace = { tables: null, cluster: null, copy: null, timeline: null };
  const later = { timeline: '00000002' };
  const cases: readonly {
    readonly what: string;
    readonly kept?: LogPlace;
    readonly found?: Partial<LogPlace>;
    readonly witness?: Witness;
    readonly waitedMs?: number;
    readonly verdict: Verdict;
  }[] = [
    { what: 'nothing is other', verdict: 'same' },
    { what: 'nothing is other, and all that was seen is there', witness: 'whole', verdict: 'same' },
    {
      what: 'nothing is other, but something that was seen is gone',
      witness: 'lacking',
      verdict: { begin: 'positions' },
    },
    { what: 'its tables were made anew', found: { tables: '5/17000' }, verdict: { begin: 'tables' } },
    { what: 'it is in another database', found: { tables: '6/16400' }, verdict: { begin: 'tables' } },
    { what: 'it is in another cluster', found: { cluster: '7712' }, verdict: { begin: 'cluster' } },
    { what: 'its files are a copy', found: { copy: '99/35' }, verdict: { begin: 'copy' } },
    {
      what: 'its tables were made anew, whatever has been seen is there',
      found: { tables: '5/17000' },
      witness: 'whole',
      verdict: { begin: 'tables' },
    },
    { what: 'the timeline is another, and nobody has spoken yet', found: later, verdict: 'wait' },
    {
      what: 'the timeline is another, and nobody speaks in time',
      found: later,
      waitedMs: WITNESS_PATIENCE_MS,
      verdict: { begin: 'timeline' },
    },
    {
      what: 'the timeline is another, and nothing is gone: a promotion',
      found: later,
      witness: 'whole',
      verdict: 'adopt',
    },
    {
      what: 'the timeline is another, and something is gone: a recovery to a point in time',
      found: later,
      witness: 'lacking',
      verdict: { begin: 'positions' },
    },
    { what: 'nothing was noted yet', kept: unknown, verdict: 'adopt' },
    { what: 'nothing can be told any more', found: unknown, verdict: 'same' },
    { what: 'what could not be told can be', kept: { ...place, cluster: null }, verdict: 'adopt' },
  ];
  test.each(cases)('when $what', ({ kept = place, found = {}, witness = 'none', waitedMs = 0, verdict }) => {
    expect(judge(kept, { ...place, ...found }, { witness, waitedMs })).toEqual(verdict);
  });
});

describe('on the embedded database', () => {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());
  const ENV = { DATABASE_URL: undefined, REDIS_URL: undefined };

  test('a copy of the data starts a new epoch, a restart on the same data does not', async () => {
    const server = stack.use(await startServer({ env: ENV }));
    const { member, organization } = await createOrganization({}, { on: server });
    const { queue_id: queueId } = await register(member);
    await saveDraft(member, 'in the back-up');
    await server.stop();
    const dataDir = newDataDir();
    stack.defer(() => rmSync(dataDir, { recursive: true, force: true }));
    rmSync(dataDir, { recursive: true });
    cpSync(server.dataDir, dataDir, { recursive: true, filter: (path) => !path.endsWith('.log') });

    await server.restart();
    expect(begunBy(server)).toBe(0);
    await saveDraft(member, 'after the back-up');
    const heard = (await member.poll(queueId, -1, { dontBlock: true })).filter(({ type }) => type === 'drafts');
    expect(heard.map(({ drafts }) => drafts[0].content)).toEqual(['in the back-up', 'after the back-up']);
    const position: number = heard[1]?.id;
    await server.stop();

    const restored = stack.use(await startServer({ env: ENV, dataDir }));
    expect(begunBy(restored)).toBe(1);
    const host = `${organization.subdomain}.localhost:${restored.port}`;
    const again = new Person({ url: restored.url, host }, member);
    for (const content of ['one', 'two', 'three']) await saveDraft(again, content);
    expect(await answersTo(again, queueId, position)).toEqual([RESTORED, RESTORED, RESTORED]);
    const { body } = await again.rest('GET', '/events', { queue_id: queueId, last_event_id: position });
    expect(body.msg).toContain('restored from a backup');

    const fresh = await register(again);
    expect(fresh.last_event_id).toBeGreaterThan(position);
    // Sends a position of the previous epoch together with a queue of the current epoch. The events between them are unknown.
    const { body: mixed } = await again.rest('GET', '/events', { queue_id: fresh.queue_id, last_event_id: position });
    expect(mixed).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID', reason: 'pruned' });
    await saveDraft(again, 'heard');
    expect(await again.poll(fresh.queue_id, fresh.last_event_id)).toMatchObject([{ drafts: [{ content: 'heard' }] }]);
    await restored.restart();
    expect(begunBy(restored)).toBe(1);
  });

  test('the operator starts a new epoch, and every reader is notified', async () => {
    const server = stack.use(await startServer({ env: ENV }));
    const [{ member }, { owner }] = await Promise.all([
      createOrganization({}, { on: server }),
      createOrganization({}, { on: server }),
    ]);
    const queue = await register(owner);
    await using live = await member.events(SELECTION);
    await saveDraft(member, 'before');
    await live.next();
    const polled = owner.rest('GET', '/events', { queue_id: queue.queue_id, last_event_id: queue.last_event_id });
    const isRead = async () =>
      (await runCommand(server.dataDir, 'queue list', { org: owner.host.split('.')[0] })).length === 1;
    await expect.poll(isRead).toBe(true);
    expect(await runCommand(server.dataDir, 'log new-epoch', {})).toEqual({ queues_ended: 2 });
    expect(await live.ended).toMatchObject({ how: 'errors', errors: [{ extensions: RESTORED }] });
    expect((await polled).body).toMatchObject(RESTORED);
    await using anew = await member.events(SELECTION);
    await saveDraft(member, 'after');
    expect(await anew.next()).toMatchObject({ drafts: [{ content: 'after' }] });
  });
});

describe.skipIf(DATABASE_URL === undefined)('on PostgreSQL', () => {
  const stack = new AsyncDisposableStack();
  let env: Readonly<Record<string, string>>;
  let nodes: [ServerProcess, ServerProcess];
  let database: pg.Client;

  beforeAll(async () => {
    const { url } = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
    env = { DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') };
    nodes = await Promise.all([startServer({ env }), startServer({ env })]);
    for (const node of nodes) stack.use(node);
    database = new pg.Client({ connectionString: url });
    await database.connect();
    stack.defer(() => database.end());
  });
  afterAll(() => stack.disposeAsync());

  const begun = () => nodes.map(begunBy).reduce((a, b) => a + b, 0);
  const epochOf = async () => (await database.query('SELECT * FROM log_epoch')).rows[0];

  /** Creates a user with an event stream at both nodes, and waits until both have delivered one event. */
  async function somebody() {
    const [a, b] = nodes;
    const { member, organization } = await createOrganization({}, { on: a });
    const atB = new Person({ url: b.url, host: `${organization.subdomain}.localhost:${b.port}` }, member);
    const streams = [await member.events(SELECTION), await atB.events(SELECTION)];
    await saveDraft(member, 'before');
    for (const stream of streams) await stream.next();
    return { member, organization, streams };
  }

  test('two nodes that find their tables moved start one epoch, and each ends its streams', async () => {
    const { streams } = await somebody();
    const [count, { id }] = [begun(), await epochOf()];
    await database.query(`UPDATE log_epoch SET tables = '1/1'`);
    for (const stream of streams) {
      expect(await stream.ended).toMatchObject({ how: 'errors', errors: [{ extensions: RESTORED }] });
      await stream[Symbol.asyncDispose]();
    }
    expect(begun()).toBe(count + 1);
    expect(await epochOf()).not.toMatchObject({ id });
  });

  test('nodes that have read the log treat another timeline as a promotion, and streams continue', async () => {
    const { member, streams } = await somebody();
    const [count, { id, timeline }] = [begun(), await epochOf()];
    await database.query(`UPDATE log_epoch SET timeline = '0000FFFF'`);
    await expect.poll(epochOf, { timeout: 8_000 }).toMatchObject({ id, timeline });
    expect(begun()).toBe(count);
    await saveDraft(member, 'goes on');
    for (const stream of streams) {
      expect(await stream.next()).toMatchObject({ drafts: [{ content: 'goes on' }] });
      await stream[Symbol.asyncDispose]();
    }
  });

  test('a log that is shorter than a node has read starts a new epoch, regardless of which node reads it', async () => {
    const { member, organization, streams } = await somebody();
    const lastId = streams[0]?.lastId ?? 0;
    const count = begun();
    await database.query('UPDATE event_counter SET last_id = $2, pruned_through = 0 WHERE realm_id = $1', [
      organization.id,
      lastId - 1,
    ]);
    for (const stream of streams) {
      expect(await stream.ended).toMatchObject({ how: 'errors', errors: [{ extensions: RESTORED }] });
      await stream[Symbol.asyncDispose]();
    }
    expect(begun()).toBe(count + 1);
    expect((await register(member)).last_event_id).toBeGreaterThan(lastId);
  });

  test('if no node has read the log, another timeline starts one new epoch, even if two nodes start', {
    timeout: 120_000,
  }, async () => {
    const { member, streams } = await somebody();
    const { queue_id } = await register(member);
    for (const stream of streams) await stream[Symbol.asyncDispose]();
    await Promise.all(nodes.map((node) => node.stop()));
    const count = begun();
    await database.query(`UPDATE log_epoch SET timeline = '0000FFFF'`);
    await Promise.all(nodes.map((node) => node.restart()));
    expect(begun()).toBe(count + 1);
    expect(await answersTo(member, queue_id, -1)).toEqual([RESTORED, RESTORED, RESTORED]);
  });
});
