import { fork } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { ServerProcess } from '../helpers/process.ts';
import type { Done, Orders } from './committer.ts';
import { type DemoService, type Person, personOf, startDemo } from './demo.ts';
import { eventually, type Listener, listen, quieten, TRANSPORTS } from './listeners.ts';
import { Writer } from './load.ts';
import { type Outcome, some, without } from './outcome.ts';
import { seeded } from './random.ts';
import { Client } from './requests.ts';
import { compareWithTruth } from './truth.ts';

/** Longest time for the listeners to receive the remaining events, in milliseconds. */
const CATCH_UP_MS = 30_000;

/** Commits `events` events in total. They are distributed over `writers` concurrent processes. */
async function commit(orders: Orders, writers: number): Promise<Done> {
  const parts = Array.from({ length: writers }, async (_, i) => {
    const child = fork(`${import.meta.dirname}/committer.ts`, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    const events = Math.ceil(orders.events / writers);
    child.send({ ...orders, events, seed: orders.seed * 1_000 + i } satisfies Orders);
    const ended = once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`A writing process ended with ${code}`)),
    );
    const [done] = (await Promise.race([once(child, 'message'), ended])) as [Done];
    return done;
  });
  const all = await Promise.all(parts);
  return {
    committed: all.reduce((sum, { committed }) => sum + committed, 0),
    failures: all.flatMap(({ failures }) => failures),
    retries: all.reduce((sum, { retries }) => sum + retries, 0),
  };
}

/** Direct access to the database, for trials in which separate processes commit events. */
interface Log {
  readonly client: pg.Client;
  readonly channelIds: readonly number[];
  deadlocks(): Promise<number>;
  /** Returns the ids of the events after a position that are addressed to a user, ascending. */
  idsFor(userId: number, after: number): Promise<number[]>;
}

async function openLog({ databaseUrl }: DemoService): Promise<Log> {
  // PostgreSQL checks for a deadlock only after a transaction has waited for this time. The default of one second would make
  // the trial longer but not different.
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = 30', current_database()); END $$`,
  );
  const { rows } = await client.query<{ id: number }>('SELECT id FROM channel ORDER BY id');
  return {
    client,
    channelIds: rows.map(({ id }) => id),
    async deadlocks() {
      const found = await client.query<{ deadlocks: string }>(
        'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
      );
      return Number(found.rows[0]?.deadlocks);
    },
    async idsFor(userId, after) {
      const found = await client.query<{ id: number }>(
        `SELECT id::int AS id FROM event WHERE type = 'drafts' AND $1 = ANY(user_ids) AND id > $2 ORDER BY id`,
        [userId, after],
      );
      return found.rows.map(({ id }) => id);
    },
  };
}

/**
 * Waits until a listener has received all events, and stops it. Then compares the received events with those in the log.
 *
 * @returns One sentence for each kind of fault: events that were missed, received without reason, or received in another order.
 */
export async function compareWithDue(listener: Listener, due: readonly number[]): Promise<string[]> {
  const { name, received } = listener;
  await eventually(() => received.ids.size >= due.length, CATCH_UP_MS);
  await listener.stop();
  const missed = without(due, received.ids);
  const inOrder = [...received.ids].join() === due.join();
  return [
    ...received.violations.lines.map((what) => `${name}: ${what}`),
    ...(missed.length > 0 ? [`${name} did not receive ${some(missed)}`] : []),
    ...(missed.length === 0 && !inOrder ? [`${name} received events not in the log, or out of order`] : []),
  ];
}

/**
 * Commits events in eight separate processes. The processes append to the log after random delays, and some lock rows in
 * different orders. One client reads from a node of the service. No event may be skipped, event ids must be in order, and
 * retries must resolve all deadlocks.
 */
export async function eightWritersTrial({
  databaseServer,
  events,
  seed,
}: {
  databaseServer: string;
  events: number;
  seed: number;
}): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const { server, people } = service;
  const log = await openLog(service);
  const person = personOf(people, 'member');
  const client = new Client(server.url, person);
  const reader = listen('WebSocket', server.url, person, { ...(await client.register()), hearsOfOthers: true });
  client.close();
  const orders = {
    databaseUrl: service.databaseUrl ?? '',
    ...{ seed, events, readerId: person.userId, channelIds: log.channelIds, pauseMs: 2 },
    ...{ quietId: personOf(people, 'guest').userId, quietEvery: 50 },
  };
  const startedAt = performance.now();
  const done = await commit(orders, 8);
  const seconds = (performance.now() - startedAt) / 1000;
  const due = await log.idsFor(person.userId, reader.startId);
  const violations = await compareWithDue(reader, due);
  const deadlocks = await log.deadlocks();
  await log.client.end();
  if (due.length !== done.committed) violations.push(`${done.committed} committed, ${due.length} in the log`);
  if (done.failures.length > 0) violations.push(`changes that failed: ${some(done.failures)}`);
  return {
    trial: 'eight writers, one reader',
    facts: {
      ...{
        events: due.length,
        heard: reader.received.ids.size,
        'received again': reader.received.duplicates,
        deadlocks,
      },
      'retried changes': done.retries,
      'commits per second': Math.round(done.committed / seconds),
    },
    violations,
  };
}

async function listenEverywhere(urls: readonly string[], person: Person): Promise<Listener[]> {
  const listeners: Listener[] = [];
  for (const url of urls) {
    const client = new Client(url, person);
    for (const transport of TRANSPORTS) {
      listeners.push(listen(transport, url, person, { ...(await client.register()), hearsOfOthers: true }));
    }
    client.close();
  }
  return listeners;
}

/** Starts writers at all nodes, so that events that a node commits itself interleave with events that it reads from the log. */
async function writeEverywhere(urls: readonly string[], person: Person, seed: number) {
  const random = seeded(seed);
  const writers: Writer[] = [];
  for (const url of urls) {
    const options = { door: 'REST' as const, number: writers.length + 1, random, pauseMs: 300 };
    writers.push(await Writer.start(url, person, options));
  }
  let stopped = false;
  const writing = Promise.all(writers.map((writer) => writer.run(() => stopped)));
  return {
    async stop(): Promise<readonly Writer[]> {
      stopped = true;
      await writing;
      return writers;
    },
  };
}

/**
 * Lets nodes send heartbeats while other processes commit events. Some of these processes reserve event ids some time before
 * they commit. A listener that receives few events, with heartbeats between them, must not lose any event.
 */
export async function heartbeatTrial({
  databaseServer,
  events,
  nodes,
  seed,
}: {
  databaseServer: string;
  events: number;
  nodes: number;
  seed: number;
}): Promise<Outcome> {
  const often = { EVENT_HEARTBEAT_SECONDS: '0.02' };
  await using service = await startDemo(databaseServer, often);
  const log = await openLog(service);
  const others: ServerProcess[] = [];
  while (others.length < nodes - 1) others.push(await ServerProcess.start({ env: service.env }));
  const urls = [service.server, ...others].map(({ url }) => url);
  try {
    const quiet = personOf(service.people, 'guest');
    const listeners = await listenEverywhere(urls, quiet);
    const writing = await writeEverywhere(urls, quiet, seed);
    const orders = {
      databaseUrl: service.databaseUrl ?? '',
      ...{ seed, events, readerId: personOf(service.people, 'member').userId, channelIds: log.channelIds },
      // During these pauses, nodes reserve event ids for heartbeats. Without pauses, they would only read the last id.
      ...{ quietId: quiet.userId, quietEvery: 5, pauseMs: 60 },
    };
    const done = await commit(orders, 3);
    const writers = await writing.stop();
    await quieten(listeners);
    const truth = await compareWithTruth(service, writers, listeners);
    const violations = [...done.failures.map((failure) => `a change failed: ${failure}`), ...truth.violations];
    const heartbeats = listeners.reduce((sum, { received }) => sum + received.heartbeats, 0);
    if (heartbeats === 0) violations.push('no heartbeat was sent: the trial tested nothing');
    return {
      trial: `heartbeats on ${nodes} nodes beside commits`,
      facts: { commits: done.committed, listeners: listeners.length, 'events for each': truth.events, heartbeats },
      violations: [...violations, ...writers.flatMap((writer) => writer.violations.lines)],
    };
  } finally {
    await log.client.end();
    for (const server of others) await server[Symbol.asyncDispose]();
  }
}
