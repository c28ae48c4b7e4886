import { setTimeout as sleep } from 'node:timers/promises';
import { ServerProcess } from '../helpers/process.ts';
import { type DemoService, makeNeighbour, type Person, personOf, startDemo } from './demo.ts';
import { gapOf } from './felt.ts';
import { eventually, type Listener, listen, quieten, TRANSPORTS } from './listeners.ts';
import { Writer } from './load.ts';
import { besideStranger, faredIn, Neighbours, neighbourFigures } from './neighbours.ts';
import type { Outcome } from './outcome.ts';
import { between, type Random, seeded } from './random.ts';
import { Client } from './requests.ts';
import { compareWithTruth } from './truth.ts';

const ROLES = ['owner', 'member', 'guest'];
/** Longest time for the listeners to receive the remaining events, in milliseconds. */
const CATCH_UP_MS = 20_000;

/** Reason why the table of faults has no measurements of unaffected organizations for the embedded database. */
export const ONE_PROCESS = 'one process serves all organizations';

/** The writers and listeners during a fault. */
export interface Crowd {
  readonly writers: readonly Writer[];
  readonly listeners: readonly Listener[];
  /** Resolves when every writer has stopped. Each writer stops after an acknowledged change. */
  stopWriting(): Promise<void>;
  /** Waits until the listeners have received the writers' changes, then stops them. */
  stopListening(): Promise<void>;
}

interface Pace {
  /** Users who write and listen. Default: one user of each role. */
  readonly people?: readonly Person[];
  /** Number of writers that other crowds have. This crowd numbers its writers after them, so that all numbers are unique. */
  readonly besides?: number;
  /** Longest pause of a writer between two changes, in milliseconds. */
  readonly pauseMs?: number;
}

/** Starts two writers for each user, over REST and GraphQL, and a listener over each transport. */
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
 * Repeatedly kills the server with kill -9 while clients write and listen, and restarts it on the same data. No acknowledged
 * change may be missing from the log or from any listener. On PostgreSQL, another organization uses another node, which is not
 * killed and must not be affected.
 *
 * @param databaseServer PostgreSQL server. Undefined: the embedded database.
 * @param isTimed Whether durations are compared with their limits. On a busy machine, the result is not conclusive.
 */
export async function killTrial({
  databaseServer,
  kills,
  seed,
  isTimed = false,
}: {
  databaseServer: string | undefined;
  kills: number;
  seed: number;
  isTimed?: boolean;
}): Promise<Outcome> {
  const random = seeded(seed);
  await using service = await startDemo(databaseServer, { EVENT_QUEUE_WRITE_SECONDS: '0.5' });
  const { server } = service;
  await using other = databaseServer === undefined ? undefined : await ServerProcess.start({ env: service.env });
  const neighbours = other && (await Neighbours.start(other.url, await makeNeighbour(other)));
  const crowd = await gather(server.url, service, random);
  const usual = neighbours && (await besideStranger(neighbours, databaseServer, kills));
  let longestStartMs = 0;
  const since = performance.now();
  const killing = async () => {
    for (let i = 0; i < kills; i++) {
      // At least one change is acknowledged between two kills, however long the start takes.
      const before = acknowledgedBy(crowd);
      await eventually(() => acknowledgedBy(crowd) > before, CATCH_UP_MS);
      await sleep(between(random, 0, 1_200));
      await server.kill9();
      const startedAt = performance.now();
      await server.restart();
      longestStartMs = Math.max(longestStartMs, performance.now() - startedAt);
    }
  };
  const stricken = await (neighbours?.during(killing()) ?? killing());
  await sleep(300);
  await crowd.stopWriting();
  await crowd.stopListening();
  neighbours?.close();
  if (databaseServer === undefined) await server.stop();
  const { events, violations, broken } = await compareWithTruth(service, crowd.writers, crowd.listeners);
  const fared = usual && stricken && faredIn(usual, [stricken]);
  const trial = `kill -9 on ${databaseServer === undefined ? 'the embedded database' : 'PostgreSQL'}`;
  return {
    trial,
    facts: {
      kills,
      ...figuresOf(crowd),
      events,
      'longest start': `${(longestStartMs / 1000).toFixed(1)} s`,
      ...(neighbours && fared && neighbourFigures(neighbours, fared)),
    },
    violations: [
      ...crowd.writers.flatMap((writer) => writer.violations.lines),
      ...violations,
      ...((fared && neighbours?.complaints(fared, { isTimed })) ?? []),
    ],
    felt: [{ fault: trial, ...broken, gap: gapOf(crowd, since), neighbours: fared ?? { why: ONE_PROCESS } }],
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Returns the number of changes acknowledged so far. */
export const acknowledgedBy = ({ writers }: Pick<Crowd, 'writers'>): number =>
  sum(writers.map(({ acknowledged }) => acknowledged.length));

/** Returns the numbers of changes, connections and events of a crowd, for the `facts` of a trial's outcome. */
export function figuresOf(crowd: Pick<Crowd, 'writers' | 'listeners'>): Record<string, number | string> {
  const { writers, listeners } = crowd;
  return {
    acknowledged: acknowledgedBy(crowd),
    'outcome unknown': sum(writers.map(({ cutOff }) => cutOff)),
    listeners: listeners.length,
    connections: sum(listeners.map(({ received }) => received.connections)),
    heard: sum(listeners.map(({ received }) => received.ids.size)),
    'received again': sum(listeners.map(({ received }) => received.duplicates)),
  };
}
