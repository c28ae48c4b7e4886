import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readLogFor } from '../../src/events/log-reads.ts';
import type { Json } from '../helpers/http.ts';
import { shareInProcess } from '../helpers/in-process.ts';
import { lengthenLog } from '../helpers/long-log.ts';
import { createOrganization } from '../helpers/server.ts';

/** Number of events in the log. The in-memory log tail holds fewer, so the oldest of them are read from the table. */
const EVENTS = 12_000;

test('a queue for one type skips all others in a few statements, and receives each of its events once', async () => {
  await using server = await shareInProcess({ counts: true });
  const { member, organization } = await createOrganization({}, { on: server });
  const saved = async (content: string) => {
    await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });
    return content;
  };
  const { db } = server.app;
  /** Appends `EVENTS` copies of the member's last draft event to the log, in one statement. */
  const fillLog = async () => {
    const { id } = await db.event.findFirstOrThrow({
      where: { organizationId: organization.id, type: 'drafts' },
      orderBy: { id: 'desc' },
    });
    const run = (sql: string, values: readonly unknown[]) => db.$executeRawUnsafe(sql, ...values);
    await lengthenLog(run, organization.id, { count: EVENTS, of: [Number(id)] });
  };

  await saved('to be copied');
  const queueOf = (type: string) => member.register({ event_types: [type], fetch_event_types: [] });
  const [statuses, drafts] = [await queueOf('user_status'), await queueOf('drafts')];
  /** Polls a queue until no events are left. @returns All events. */
  const all = async ({ queue_id, last_event_id }: Json) => {
    const events: Json[] = [];
    for (;;) {
      const page = await member.poll(queue_id, events.at(-1)?.id ?? last_event_id, { dontBlock: true });
      if (page.length === 0) return events;
      events.push(...page);
    }
  };
  await member.ok('POST', '/users/me/status', { status_text: 'before' });
  await saved('to be copied');
  await fillLog();
  await member.ok('POST', '/users/me/status', { status_text: 'after' });

  const queries = await server.queriesOf(async () => {
    const events = await all(statuses);
    expect(events.map(({ status_text }) => status_text)).toEqual(['before', 'after']);
  });
  // With a thousand events in each statement, the service would need more than seven statements to read all events of the
  // member.
  expect(queries.filter((sql) => sql.includes('AS concerned')).length).toBeLessThanOrEqual(4);

  const ids = (await all(drafts)).map(({ id }) => Number(id));
  expect(ids.length).toBe(EVENTS + 1);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
});

test('a queue with a narrow skips other messages in a few statements, and receives each of its own once', async () => {
  await using server = await shareInProcess({ counts: true });
  const { owner, member, organization } = await createOrganization({}, { on: server });
  const { id: to } = await owner.ok('POST', '/channels/create', {
    name: 'long',
    subscribers: [owner.id, member.id],
  });
  const say = (topic: string) => owner.ok('POST', '/messages', { type: 'channel', to, topic, content: topic });
  const { queue_id, last_event_id } = await member.register({ narrow: [['topic', 'Wanted']], fetch_event_types: [] });
  for (const topic of ['wanted', 'other']) await say(topic);
  await member.ok('POST', '/users/me/status', { status_text: 'before' });
  const { db } = server.app;
  const logged = await db.event.findMany({
    where: { organizationId: organization.id, type: { in: ['message', 'user_status'] } },
    orderBy: { id: 'asc' },
  });
  const [wanted, other, status] = logged.map(({ id }) => Number(id)) as [number, number, number];
  // The matching events are at the boundaries of batched reads, and one is in the middle.
  const of = Array.from({ length: 4_000 }, (_, i) =>
    [0, 998, 999, 1_000, 3_998, 3_999].includes(i) ? wanted : i === 2_000 ? status : other,
  );
  const run = (sql: string, values: readonly unknown[]) => db.$executeRawUnsafe(sql, ...values);
  await lengthenLog(run, organization.id, { count: EVENTS, of });
  const due = await db.$queryRawUnsafe<{ id: bigint }[]>(
    `SELECT id FROM event WHERE realm_id = ${organization.id} AND id > ${last_event_id}
     AND (type = 'user_status' OR type = 'message' AND payload->>'topic' = 'wanted') ORDER BY id`,
  );

  const events: Json[] = [];
  const queries = await server.queriesOf(async () => {
    for (;;) {
      const page = await member.poll(queue_id, events.at(-1)?.id ?? last_event_id, { dontBlock: true });
      if (page.length === 0) return;
      events.push(...page);
    }
  });
  const heard = events.filter(({ type }) => ['message', 'user_status'].includes(type));
  expect(heard.map(({ id }) => id)).toEqual(due.map(({ id }) => Number(id)));
  // With a thousand messages in each statement, nine statements would be needed.
  expect(queries.filter((sql) => sql.includes('AS concerned')).length).toBeLessThanOrEqual(4);
});

test('batches of long events are short, and each event is received once', async () => {
  await using server = await shareInProcess();
  const { member, organization } = await createOrganization({}, { on: server });
  const { db } = server.app;
  const { queue_id, last_event_id } = await member.register({ event_types: ['drafts'], fetch_event_types: [] });
  await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'x'.repeat(9_999) }] });
  const { id } = await db.event.findFirstOrThrow({ where: { organizationId: organization.id, type: 'drafts' } });
  const run = (sql: string, values: readonly unknown[]) => db.$executeRawUnsafe(sql, ...values);
  await lengthenLog(run, organization.id, { count: 900, of: [Number(id)] });

  const read = (maxBytes: number) =>
    readLogFor(
      db,
      organization.id,
      { userId: member.id, stretches: [], allPublicChannels: false, types: ['drafts'], narrow: [] },
      { after: last_event_id, through: Number.MAX_SAFE_INTEGER, limit: 1_000, maxBytes },
    );
  const { events, isWhole } = await read(25_000);
  // A batch ends with the event that reaches the batch's limit of bytes.
  expect({ ids: events.map((event) => event.id - Number(id)), isWhole }).toEqual({ ids: [0, 1, 2], isWhole: false });
  const all = await read(Number.MAX_SAFE_INTEGER);
  expect({ count: all.events.length, isWhole: all.isWhole }).toEqual({ count: 901, isWhole: true });

  const heard: number[] = [];
  for (;;) {
    const page = await member.poll(queue_id, heard.at(-1) ?? last_event_id, { dontBlock: true });
    if (page.length === 0) break;
    heard.push(...page.map((event: Json) => event.id));
  }
  expect(heard).toEqual(all.events.map((event) => event.id));
});

test('no events are read for clients that disconnect while they wait for old events', async () => {
  await using server = await shareInProcess({ counts: true });
  const { owner, member, organization } = await createOrganization({}, { on: server });
  const { db, database } = server.app;
  const queues = await Promise.all([1, 2, 3].map(() => member.register({ fetch_event_types: [] })));
  await owner.ok('POST', '/users/me/status', { status_text: 'told' });
  const { id } = await db.event.findFirstOrThrow({
    where: { organizationId: organization.id },
    orderBy: { id: 'desc' },
  });
  const run = (sql: string, values: readonly unknown[]) => db.$executeRawUnsafe(sql, ...values);
  await lengthenLog(run, organization.id, { count: EVENTS, of: [Number(id)] });

  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const others = [1, 2, 3].map(() => database.catchUps.run(organization.id, () => over));
  const asking = queues.map(({ queue_id, last_event_id }) => {
    const path = `/api/v1/events?queue_id=${queue_id}&last_event_id=${last_event_id}`;
    return request(`${member.url}${path}`, { headers: member.headers }).end();
  });
  const [stays, ...leave] = asking;
  for (const one of leave) one.on('error', () => {});
  const answered = stays && once(stays, 'response');
  const reads = await server.queriesOf(async () => {
    await sleep(300);
    for (const one of leave) one.destroy();
    await sleep(100);
    end();
    await Promise.all(others);
    const [{ statusCode }] = (await answered) as [{ statusCode: number }];
    expect(statusCode).toBe(200);
    // This task waits in the queue behind those of the clients that have disconnected.
    await database.catchUps.run(organization.id, async () => {});
  });
  expect(reads.filter((sql) => sql.includes('AS concerned'))).toHaveLength(1);
});

test('a long range of committed events is read in parts, and each event is received once', async () => {
  await using server = await shareInProcess({ counts: true });
  const { owner, member, organization } = await createOrganization({}, { on: server });
  const { id: to } = await owner.ok('POST', '/channels/create', { name: 'long', subscribers: [owner.id, member.id] });
  const say = (content: string) => owner.ok('POST', '/messages', { type: 'channel', to, topic: 'a', content });
  const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
  const { id } = await say('**long** '.repeat(1_100));
  const { db } = server.app;
  // While a poll waits, the node keeps the end of the log in memory.
  const first = await member.poll(queue_id, last_event_id);
  expect(first.map(({ message }) => message.id)).toEqual([id]);
  const waiting = member.poll(queue_id, first.at(-1)?.id);
  const long = await db.event.findFirstOrThrow({ where: { organizationId: organization.id, id: first.at(-1)?.id } });
  const bytes = JSON.stringify(long.payload).length;
  const count = Math.ceil((9 * 1024 * 1024) / bytes);
  const run = (sql: string, values: readonly unknown[]) => db.$executeRawUnsafe(sql, ...values);

  let heard: Json[] = [];
  const reads = await server.queriesOf(async () => {
    await lengthenLog(run, organization.id, { count, of: [Number(long.id)] });
    await say('last');
    heard = await waiting;
    while (heard.at(-1)?.message.content !== 'last') heard.push(...(await member.poll(queue_id, heard.at(-1)?.id)));
  });
  expect(heard.map((event) => event.id - heard[0]?.id)).toEqual(Array.from({ length: count + 1 }, (_, i) => i));
  expect(reads.filter((sql) => /FROM event_counter c\s+LEFT JOIN LATERAL/.test(sql)).length).toBeGreaterThan(2);
});
