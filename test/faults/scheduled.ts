import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Json } from '../helpers/http.ts';
import { ServerProcess } from '../helpers/process.ts';
import { type DemoService, type Person, personOf, startDemo } from './demo.ts';
import { type Broken, longestBetween } from './felt.ts';
import { ONE_PROCESS } from './kills.ts';
import { type Outcome, some } from './outcome.ts';
import { between, type Random, seeded } from './random.ts';
import { Client } from './requests.ts';
import { type Query, withDatabase } from './truth.ts';

/** Length of the period over which the due times are spread, in seconds. */
const SPREAD_SECONDS = 3;
/** Shortest time from the end of the preparations to the first due time, in milliseconds. */
const LEAD_MS = 2_000;
/** Timeout for sending the messages that remain after the last kill, in milliseconds. */
const CATCH_UP_MS = 120_000;
/** Maximum number of concurrent requests while messages are being scheduled. */
const AT_ONCE = 12;
/** A due time that no trial reaches: UNIX time in seconds, in the year 2096. */
const FAR = 4e9;
const ARCHIVED = "Not authorized to send to channel 'doomed'";

/** A scheduled message or reminder. Its text contains its number, which no other text contains. */
export interface Planned {
  readonly number: number;
  readonly id: number;
  readonly ownerId: number;
  /** Whether a request has changed the due time. */
  readonly isMoved: boolean;
  /** Whether the channel of the message is archived before the due time, so that sending fails. */
  readonly isDoomed: boolean;
}

interface TrialOptions {
  /** PostgreSQL server, for a service with two nodes. Undefined: the embedded database, with one node that restarts. */
  readonly databaseServer: string | undefined;
  readonly messages: number;
  /** Number of kills. Must be even. */
  readonly kills: number;
  readonly seed: number;
}

/**
 * Makes many messages and reminders due at the same time. Kills some of the sending processes with kill -9 while the remaining
 * ones continue. Each message and reminder must be sent exactly once, not early and in its owner's order, or be marked as
 * failed with the reason.
 */
export async function scheduledTrial({ databaseServer, messages, kills, seed }: TrialOptions): Promise<Outcome> {
  const random = seeded(seed);
  await using service = await startDemo(databaseServer, { LOG_LEVEL: 'error' });
  await using other = databaseServer === undefined ? undefined : await ServerProcess.start({ env: service.env });
  const { planned, dueAt } = await plan(service, { messages, random });
  await sleep(dueAt * 1000 - Date.now());
  const killedAt =
    other === undefined
      ? await killAlone(service, { kills, random })
      : await killBoth(service, other, { messages, kills, random });
  const isComplete = await isDelivered(service, planned);
  if (databaseServer === undefined) await service.server.stop();
  const found = await withDatabase(service, (query) => compare(query, planned));
  const [first, last] = [found.sentAt[0] ?? 0, found.sentAt.at(-1) ?? 0];
  const trial = `scheduled messages on ${databaseServer === undefined ? 'the embedded database' : 'PostgreSQL'}`;
  return {
    trial,
    facts: {
      ...{ scheduled: planned.length, sent: found.sentAt.length, failed: found.failed, kills },
      'kills between the first and the last delivery': killedAt.filter((at) => at > first && at < last).length,
      'all delivered': `${((last - dueAt * 1000) / 1000).toFixed(1)} s after the first was due`,
    },
    violations: [
      ...(isComplete ? [] : [`not all messages were delivered within ${CATCH_UP_MS / 1000} s`]),
      ...(planned.length === messages ? [] : [`${planned.length} of ${messages} were scheduled`]),
      ...found.violations,
      ...service.server
        .log()
        .split('\n')
        .filter((line) => line.includes('"level":50')),
    ],
    felt: [
      {
        fault: `${trial}, sending nodes killed`,
        ...found.broken,
        gap: longestBetween(found.sentAt, dueAt * 1000),
        neighbours: { why: other === undefined ? ONE_PROCESS : 'every node sends due messages' },
      },
    ],
  };
}

/**
 * Schedules messages of all users to channels and to each other, and reminders.
 *
 * @returns The messages and reminders, and the first due time as a UNIX time in seconds.
 */
async function plan(
  { server, people }: DemoService,
  { messages, random }: { readonly messages: number; readonly random: Random },
): Promise<{ planned: Planned[]; dueAt: number }> {
  const clients = people.map((person) => new Client(server.url, person));
  const clientOf = (number: number) => clients[number % clients.length] as Client;
  const [owner] = clients.filter(({ person }) => person === personOf(people, 'owner')) as [Client];
  const subscribers = people.map(({ userId }) => userId);
  const channel = async (name: string) => (await owner.ask('POST', '/channels/create', { name, subscribers })).id;
  const [open, doomed] = [await channel('open'), await channel('doomed')];
  const { id: target } = await owner.ask('POST', '/messages', {
    type: 'channel',
    to: 'open',
    topic: 't',
    content: 'x',
  });
  const ids = new Map<number, number>();
  const isReminder = (number: number) => number % 20 === 7;
  const isDoomed = (number: number) => number % 20 === 11;
  const startedAt = Date.now();
  await forEach(messages, async (number) => {
    if (isReminder(number)) return;
    const colleague = people[between(random, 0, people.length)] as Person;
    const to =
      number % 4 === 0
        ? { type: 'direct', to: [colleague.userId] }
        : { type: 'channel', to: isDoomed(number) ? doomed : open, topic: `topic ${number % 9}` };
    const message = { ...to, content: wordsOf(number), scheduled_delivery_timestamp: FAR };
    ids.set(number, (await clientOf(number).ask('POST', '/scheduled_messages', message)).scheduled_message_id);
  });
  // The due time allows twice the duration of the requests so far, because changing all due times takes about as long again.
  const dueAt = Math.ceil((Date.now() + LEAD_MS + 2 * (Date.now() - startedAt)) / 1000);
  await forEach(messages, async (number) => {
    const time = { scheduled_delivery_timestamp: dueAt + (number % SPREAD_SECONDS) };
    if (isReminder(number)) {
      const reminder = { ...time, message_id: target, note: wordsOf(number) };
      ids.set(number, (await clientOf(number).ask('POST', '/reminders', reminder)).reminder_id);
    } else await clientOf(number).ask('PATCH', `/scheduled_messages/${ids.get(number)}`, time);
  });
  await owner.ask('DELETE', `/streams/${doomed}`);
  for (const client of clients) client.close();
  if (Date.now() >= dueAt * 1000) throw new Error('The first message was due before the trial was ready');
  const planned = [...ids].map(([number, id]) => {
    const isMoved = !isReminder(number);
    return { number, id, ownerId: clientOf(number).person.userId, isMoved, isDoomed: isDoomed(number) };
  });
  return { planned, dueAt };
}

/** Runs a function for each number from 0, `AT_ONCE` at a time. */
async function forEach(count: number, work: (number: number) => Promise<void>): Promise<void> {
  const numbers = Array.from({ length: count }, (_, i) => i).values();
  const worker = async () => {
    for (const number of numbers) await work(number);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

export const wordsOf = (number: number) => `trial number ${number}.`;
const NUMBER = /trial number (\d+)\./;

interface Kills {
  readonly kills: number;
  readonly random: Random;
}

/** Kills the only node of a service at random times, and restarts it. @returns Times at which the process was killed. */
async function killAlone({ server, people }: DemoService, { kills, random }: Kills): Promise<number[]> {
  const killedAt: number[] = [];
  const client = new Client(server.url, personOf(people, 'owner'));
  const { queueId, startId } = await client.register();
  let heard = startId;
  /** Reads the events after the last one read. @returns Whether there were any. */
  const hear = async (dontBlock: boolean): Promise<boolean> => {
    const fields = { queue_id: queueId, last_event_id: heard, dont_block: dontBlock };
    const { events } = await client.ask('GET', '/events', fields);
    heard = events.at(-1)?.id ?? heard;
    return events.length > 0;
  };
  for (let i = 0; i < kills; i++) {
    // After each restart, wait for at least one delivery, however long the start took.
    while (await hear(true));
    await hear(false);
    await sleep(between(random, 0, 400));
    killedAt.push(Date.now());
    await server.kill9();
    await server.restart();
  }
  client.close();
  return killedAt;
}

/**
 * Repeatedly kills one node and shortly afterwards the other, at random times. While the first is down, the second node works
 * alone.
 *
 * @returns Times at which the nodes were killed.
 */
async function killBoth(
  { databaseUrl, server }: DemoService,
  other: ServerProcess,
  { messages, kills, random }: Kills & { readonly messages: number },
): Promise<number[]> {
  const killedAt: number[] = [];
  const kill = async (node: ServerProcess) => {
    killedAt.push(Date.now());
    await node.kill9();
  };
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const rounds = kills / 2;
  for (let i = 0; i < rounds; i++) {
    // Spreads the kills over the deliveries, so that some messages are still undelivered at the last kill.
    const wanted = (messages * (i + random())) / (rounds + 1);
    while ((await countDone(client)) < wanted) await sleep(10);
    const [first, second] = random() < 0.5 ? [server, other] : [other, server];
    await kill(first);
    await sleep(between(random, 20, 400));
    await kill(second);
    await Promise.all([first.restart(), second.restart()]);
  }
  await client.end();
  return killedAt;
}

async function countDone(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    `SELECT count(*) FROM scheduled_message WHERE state <> 'scheduled'`,
  );
  return Number(rows[0]?.count);
}

/** Waits until all messages and reminders are sent or failed. @returns False if that takes longer than `CATCH_UP_MS`. */
async function isDelivered({ server, people }: DemoService, planned: readonly Planned[]): Promise<boolean> {
  const deadline = Date.now() + CATCH_UP_MS;
  const ids = new Set(planned.map(({ id }) => id));
  for (const person of people) {
    const client = new Client(server.url, person);
    for (let left = 1; left > 0; ) {
      if (Date.now() > deadline) return false;
      const { scheduled_messages } = await client.ask('GET', '/scheduled_messages');
      const { reminders } = await client.ask('GET', '/reminders');
      const waiting: readonly Json[] = [...scheduled_messages, ...reminders].filter(({ failed }) => !failed);
      left = waiting.filter((one) => ids.has(one.scheduled_message_id ?? one.reminder_id)).length;
      if (left > 0) await sleep(200);
    }
    client.close();
  }
  return true;
}

interface Row {
  readonly id: number;
  readonly owner_id: number;
  readonly kind: string;
  readonly state: string;
  readonly failure_message: string | null;
  readonly delivered_message_id: number | null;
  readonly scheduled_at: Date;
}

interface SentMessage {
  readonly id: number;
  readonly sender_id: number;
  readonly is_system: boolean;
  readonly content: string;
  readonly sent_at: Date;
}

/** Result of the comparison of the planned messages with the database. */
export interface Found {
  /** Times at which messages were sent, ascending, in milliseconds since the UNIX epoch. */
  readonly sentAt: readonly number[];
  readonly failed: number;
  readonly violations: readonly string[];
  readonly broken: Broken;
}

/** Compares the planned messages with the database tables and the event log. */
export async function compare(query: Query, planned: readonly Planned[]): Promise<Found> {
  const rows = (await query(
    `SELECT id, owner_id, kind, state, failure_message, delivered_message_id::int, scheduled_at FROM scheduled_message
     WHERE id = ANY($1) ORDER BY scheduled_at, id`,
    [planned.map(({ id }) => id)],
  )) as unknown as Row[];
  const messages = (await query(
    `SELECT m.id::int, m.sender_id, u.is_system, m.content, m.sent_at FROM message m
     JOIN user_account u ON u.id = m.sender_id ORDER BY m.id`,
    [],
  )) as unknown as SentMessage[];
  const events = (await query(
    `SELECT op, COALESCE(payload->>'scheduled_message_id', payload->>'reminder_id',
                         payload->'scheduled_message'->>'scheduled_message_id')::int AS id
     FROM event WHERE type IN ('scheduled_messages', 'reminders') AND op <> 'add' ORDER BY event.id`,
    [],
  )) as unknown as { op: string; id: number }[];
  const numbered = messages.map((message) => [Number(NUMBER.exec(message.content)?.[1] ?? -1), message] as const);
  const sent = Map.groupBy(
    numbered.filter(([number]) => number >= 0),
    ([number]) => number,
  );
  const told = new Map(
    [...Map.groupBy(events, ({ id }) => id)].map(([id, ops]) => [id, ops.map(({ op }) => op).join()]),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const wrong = planned.flatMap((one) => {
    const row = byId.get(one.id);
    const faults = faultsOf(
      one,
      row,
      (sent.get(one.number) ?? []).map(([, message]) => message),
    );
    const expected = [one.isMoved ? 'update' : [], one.isDoomed ? 'update' : 'remove'].flat().join();
    if (told.get(one.id) !== expected) faults.push(`has the events ${told.get(one.id)}`);
    return faults.map((fault) => `number ${one.number} ${fault}`);
  });
  const failed = rows.filter(({ state }) => state === 'failed').length;
  const notices = messages.filter(({ is_system, content }) => is_system && content.includes(ARCHIVED)).length;
  if (notices !== failed) wrong.push(`${failed} failed, but there are ${notices} notices`);
  return {
    sentAt: planned
      .flatMap(({ number }) => sent.get(number) ?? [])
      .map(([, { sent_at }]) => sent_at.getTime())
      .toSorted((a, b) => a - b),
    failed,
    violations: [...wrong, ...disordered(rows)],
    broken: {
      lost: planned.filter(({ number, isDoomed }) => !isDoomed && !sent.has(number)).length,
      repeated: planned.filter(({ number }) => (sent.get(number)?.length ?? 0) > 1).length,
      outOfOrder: disordered(rows).length,
      refusedButDone: planned.filter(({ id, number }) => byId.get(id)?.state === 'failed' && sent.has(number)).length,
    },
  };
}

/** Returns the violations for one message or reminder, as predicates: "is missing". */
function faultsOf({ ownerId, isDoomed }: Planned, row: Row | undefined, sent: readonly SentMessage[]): string[] {
  if (row === undefined) return ['is missing'];
  const { state, failure_message: reason } = row;
  if (isDoomed) {
    const isNoted = state === 'failed' && reason === ARCHIVED && sent.length === 0;
    return isNoted ? [] : [`could not be sent, but is ${state} (${reason}), sent ${sent.length} times`];
  }
  const [message] = sent;
  if (state !== 'delivered' || message === undefined || sent.length > 1) {
    return [`is ${state} (${reason}), and was sent ${sent.length} times`];
  }
  const isOwners = row.kind === 'reminder' ? message.is_system : message.sender_id === ownerId;
  const earlyMs = row.scheduled_at.getTime() - message.sent_at.getTime();
  return [
    ...(row.delivered_message_id === message.id ? [] : [`refers to message ${row.delivered_message_id}`]),
    ...(isOwners ? [] : [`was sent by ${message.sender_id}`]),
    ...(earlyMs > 0 ? [`was sent ${earlyMs} ms early`] : []),
  ];
}

/** Returns a sentence for each owner whose messages were not sent in the order of their due times. */
function disordered(rows: readonly Row[]): string[] {
  return [...Map.groupBy(rows, ({ owner_id }) => owner_id)].flatMap(([ownerId, own]) => {
    const ids = own.flatMap(({ delivered_message_id: id }) => id ?? []);
    const late = ids.filter((id, i) => id < (ids[i - 1] ?? 0));
    return late.length === 0 ? [] : [`messages of owner ${ownerId} sent before an earlier one: ${some(late)}`];
  });
}
