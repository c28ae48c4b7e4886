import { setTimeout as sleep } from 'node:timers/promises';
import { type DemoService, type Person, personOf, startDemo } from './demo.ts';
import { eventually, type Listener, listen, quieten, TRANSPORTS } from './listeners.ts';
import { Writer } from './load.ts';
import type { Outcome } from './outcome.ts';
import { between, type Random, seeded } from './random.ts';
import { Client } from './requests.ts';
import { compareWithTruth } from './truth.ts';

const ROLES = ['owner', 'member', 'guest'];
/** How long the listeners have, in the end, to get what is left for them. */
const CATCH_UP_MS = 20_000;

/** The people who write and listen while a fault strikes. */
export interface Crowd {
  readonly writers: readonly Writer[];
  readonly listeners: readonly Listener[];
  /** Resolves when every writer has stopped; its last change was acknowledged. */
  stopWriting(): Promise<void>;
  /** Waits until the listeners have what the writers wrote, then ends them. */
  stopListening(): Promise<void>;
}

interface Pace {
  /** Default: one of each role. */
  readonly people?: readonly Person[];
  /** How many writers another crowd has, of whom these differ. */
  readonly besides?: number;
  /** The longest pause of a writer between two changes. */
  readonly pauseMs?: number;
}

/** Sets off two writers for each of some people, over REST and GraphQL, and a listener over each transport. */
export async function gather(
  url: string,
  service: Pick<DemoService, 'people'>,
  random: Random,
  { people = ROLES.map((role) => personOf(service.people, role)), besides = 0, pauseMs = 0 }: Pace = {},
): Promise<Crowd> {
  const listeners: Listener[] = [];
  const writers: Writer[] = [];
  for (const person of people) {
    const client = new Client(url, person);
    for (const transport of TRANSPORTS) listeners.push(listen(transport, url, person, await client.register()));
    client.close();
    for (const door of ['REST', 'GraphQL'] as const) {
      const number = besides + writers.length + 1;
      writers.push(await Writer.start(url, person, { door, number, random, pauseMs }));
    }
  }
  let stopped = false;
  const writing = Promise.all(writers.map((writer) => writer.run(() => stopped)));
  return {
    writers,
    listeners,
    async stopWriting() {
      stopped = true;
      await writing;
    },
    async stopListening() {
      await quieten(listeners);
    },
  };
}

/**
 * kill -9 of the server while clients write and listen, and a start on the same data, again and again: no acknowledged
 * change is missing from the log or from any listener.
 *
 * @param databaseServer PostgreSQL; undefined: the embedded database.
 */
export async function killTrial({
  databaseServer,
  kills,
  seed,
}: {
  databaseServer: string | undefined;
  kills: number;
  seed: number;
}): Promise<Outcome> {
  const random = seeded(seed);
  await using service = await startDemo(databaseServer, { EVENT_QUEUE_WRITE_SECONDS: '0.5' });
  const { server } = service;
  const crowd = await gather(server.url, service, random);
  let longestStartMs = 0;
  for (let i = 0; i < kills; i++) {
    // Every life writes something, however long it took to start.
    const before = acknowledgedBy(crowd);
    await eventually(() => acknowledgedBy(crowd) > before, CATCH_UP_MS);
    await sleep(between(random, 0, 1_200));
    await server.kill9();
    const startedAt = performance.now();
    await server.restart();
    longestStartMs = Math.max(longestStartMs, performance.now() - startedAt);
  }
  await sleep(300);
  await crowd.stopWriting();
  await crowd.stopListening();
  if (databaseServer === undefined) await server.stop();
  const { events, violations } = await compareWithTruth(service, crowd.writers, crowd.listeners);
  return {
    trial: `kill -9 on ${databaseServer === undefined ? 'the embedded database' : 'PostgreSQL'}`,
    facts: { kills, ...factsOf(crowd), events, 'longest start': `${(longestStartMs / 1000).toFixed(1)} s` },
    violations: [...crowd.writers.flatMap((writer) => writer.violations.lines), ...violations],
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** How many changes were acknowledged so far. */
export const acknowledgedBy = ({ writers }: Pick<Crowd, 'writers'>): number =>
  sum(writers.map(({ acknowledged }) => acknowledged.length));

/** What was at stake. */
export function factsOf(crowd: Pick<Crowd, 'writers' | 'listeners'>): Record<string, number | string> {
  const { writers, listeners } = crowd;
  return {
    acknowledged: acknowledgedBy(crowd),
    'outcome unknown': sum(writers.map(({ cutOff }) => cutOff)),
    listeners: listeners.length,
    connections: sum(listeners.map(({ heard }) => heard.connections)),
    heard: sum(listeners.map(({ heard }) => heard.ids.size)),
    'heard again': sum(listeners.map(({ heard }) => heard.duplicates)),
  };
}
