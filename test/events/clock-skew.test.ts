import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sweep } from '../../src/events/retention.ts';
import { readConfig } from '../../src/platform/config.ts';
import { type Running, startApp } from '../../src/server/start.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import type { Person } from '../helpers/person.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { createOrganization, type Organization, startServer } from '../helpers/server.ts';

const { DATABASE_URL } = process.env;
const HOUR = 3_600_000;

describe.skipIf(DATABASE_URL === undefined)('nodes whose clocks differ by an hour', () => {
  const stack = new AsyncDisposableStack();
  let right: ServerProcess;
  let env: Record<string, string>;
  let people: Organization;

  beforeAll(async () => {
    const database = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
    env = { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') };
    right = stack.use(await startServer({ env }));
    people = await createOrganization({}, { on: right });
  });
  afterAll(() => stack.disposeAsync());

  /** Starts a second node of the service whose clock differs by `ms` milliseconds. It serves no requests. */
  async function nodeBy(ms: number): Promise<Running & AsyncDisposable> {
    const config = readConfig({ ...env, DATA_DIR: newDataDir(), LOG_LEVEL: 'silent' });
    const running = await startApp(config, { now: () => new Date(Date.now() + ms) });
    return { ...running, [Symbol.asyncDispose]: () => running.close() };
  }
  const ownerOf = ({ id }: Person) => ({
    viewer: { id, organization: { id: people.organization.id }, clientName: 'test' },
  });
  const saveDraft = (person: Person, content: string) =>
    person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });

  test('a node with a fast clock ends no queue of other nodes, and prunes no recent events', async () => {
    const { member } = people;
    const { queue_id, last_event_id } = await member.register({ fetch_event_types: [], idle_queue_timeout: 600 });
    await saveDraft(member, 'one');
    await using ahead = await nodeBy(HOUR);
    await sweep(ahead.app);
    const { queues } = ahead.app;
    expect(await queues.look(ownerOf(member), queue_id)).toMatchObject({ id: queue_id });
    expect(await queues.open(ownerOf(member), queue_id, { claim: true })).toMatchObject({ id: queue_id });
    expect(await member.poll(queue_id, last_event_id, { dontBlock: true })).toMatchObject([
      { drafts: [{ content: 'one' }] },
    ]);
    const organizationId = people.organization.id;
    expect(await ahead.app.db.eventCounter.findUnique({ where: { organizationId } })).toMatchObject({
      prunedThrough: 0n,
    });
  });

  test('a node with a slow clock writes queues and log entries that are as recent as those of other nodes', async () => {
    const { member } = people;
    const { queue_id, last_event_id } = await member.register({ fetch_event_types: [], idle_queue_timeout: 600 });
    await using behind = await nodeBy(-HOUR);
    const { queues, db } = behind.app;
    const queue = await queues.open(ownerOf(member), queue_id, { claim: true });
    queue.acknowledge(last_event_id);
    queue.dirty = true;
    await queues.flush();
    const { queue_id: other } = await member.register({ fetch_event_types: [] });
    const { expiresAt, lastActiveAt } = await db.eventQueue.findFirstOrThrow({ where: { id: queue_id } });
    const beside = await db.eventQueue.findFirstOrThrow({ where: { id: other } });
    expect(Math.abs(lastActiveAt.getTime() - beside.lastActiveAt.getTime())).toBeLessThan(HOUR / 2);
    expect(Math.abs(expiresAt.getTime() - beside.expiresAt.getTime())).toBeLessThan(HOUR / 2);
    await using usual = await nodeBy(0);
    await sweep(usual.app);
    expect((await member.rest('GET', '/events', { queue_id, last_event_id, dont_block: true })).status).toBe(200);
  });
});
