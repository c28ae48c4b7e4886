import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { METRICS } from '../helpers/process.ts';
import { makeNeighbour, type Person, startDemo } from './demo.ts';
import { addUp, gapOf } from './felt.ts';
import { eventually, type Listener, listen, quieten, reconnectedOf, TRANSPORTS } from './listeners.ts';
import { type Metrics, MIB, readMetrics } from './metrics.ts';
import {
  brokenBy,
  compareSent,
  endsOf,
  faredIn,
  Neighbours,
  neighbourFigures,
  SequentialSender,
} from './neighbours.ts';
import { type Outcome, some } from './outcome.ts';
import { between, type Random, seeded } from './random.ts';
import { Client, type QueueStart } from './requests.ts';
import { compareWithTruth, withDatabase } from './truth.ts';

/**
 * Largest accepted share of the heap for all in-memory tails of event logs, as in src/events/tail-memory.ts.
 * `SHARE_OF_ALL_THAT_IS_HELD` is the largest accepted share for everything that the node keeps in memory.
 */
const SHARE_OF_WINDOWS = 1 / 8;
const SHARE_OF_ALL_THAT_IS_HELD = 1 / 2;
/** Amount of data to send, as a multiple of the memory limit of the windows (the in-memory tails of the event logs). */
const TIMES = 3;
/**
 * Number of sends per second of all organizations together. A node can handle as many on two cores that it shares with the
 * database and the clients.
 */
const PER_SECOND = 80;
/**
 * Text appended to each message, near the maximum length. It has 20 kB, and an event contains it twice, as text and as HTML.
 */
const MORE = ` ${`${'я'.repeat(19)} `.repeat(497)}`;
const EVENT_BYTES = 2 * Buffer.byteLength(MORE);
/** Duration in milliseconds of the sends that are made before any client subscribes. */
const BEFORE_MS = 20_000;
/**
 * Shortest and longest pause of a slow client between two polls, in milliseconds. An answer has at most one megabyte, so the
 * client falls further and further behind.
 */
const [SHORTEST_REST_MS, LONGEST_REST_MS] = [50_000, 80_000];
const CATCH_UP_MS = 90_000;
const LOOK_EVERY_MS = 1_000;

/** The only user of an organization, who sends messages, and the sender. */
interface Sending {
  readonly person: Person;
  readonly sender: SequentialSender;
}

/** An organization with a client that receives events quickly, and one that falls behind. */
interface Organization extends Sending {
  readonly quick: Listener;
  readonly slow: Listener;
}

/** Memory of the node at one time, in bytes. */
interface Look {
  readonly windows: number;
  readonly heap: number;
  readonly resident: number;
}

/**
 * Returns the heap limit, in bytes, that Node.js sets for this command line option. The limit is somewhat higher than the value
 * of the option.
 */
function heapLimitOf(option: string): number {
  const script = 'console.log(require("node:v8").getHeapStatistics().heap_size_limit)';
  return Number(execFileSync(process.execPath, [option, '-e', script], { encoding: 'utf8' }));
}

const lookOf = ({ shown }: Metrics): Look => ({
  windows: shown('event_windows_bytes'),
  heap: shown('nodejs_heap_size_used_bytes'),
  resident: shown('process_resident_memory_bytes'),
});

/** Sends messages from all senders at the total rate `PER_SECOND`, until `isOver` returns true. */
const sendAll = (senders: readonly SequentialSender[], isOver: () => boolean): Promise<unknown> => {
  const pauseMs = (senders.length * 1_000) / PER_SECOND;
  return Promise.all(
    senders.map(async (sender, i) => {
      await sleep((i * pauseMs) / senders.length);
      await sender.until(isOver, { pauseMs });
    }),
  );
};

async function registered(url: string, person: Person): Promise<QueueStart> {
  const client = new Client(url, person);
  const queue = await client.register();
  client.close();
  return queue;
}

/**
 * Starts the two subscribers of an organization, a quick and a slow one.
 *
 * @param isHurried Returns whether the slow client stops pausing, so that it catches up.
 */
async function readIn(
  url: string,
  { person, sender }: Sending,
  { at, random, isHurried }: { at: number; random: Random; isHurried: () => boolean },
): Promise<Organization> {
  const transport = TRANSPORTS[at % TRANSPORTS.length] ?? 'long poll';
  const quick = listen(transport, url, person, await registered(url, person));
  const rest = () => eventually(isHurried, between(random, SHORTEST_REST_MS, LONGEST_REST_MS));
  const slow = listen('long poll', url, person, { ...(await registered(url, person)), rest });
  return { person, sender, quick, slow };
}

/** Samples of the node's memory, and the largest number of events by which a slow client was behind. */
interface Watched {
  readonly looks: readonly Look[];
  readonly furthest: number;
}

async function watch(url: string, organizations: readonly Organization[], isOver: () => boolean): Promise<Watched> {
  const looks: Look[] = [];
  let furthest = 0;
  while (!isOver()) {
    looks.push(lookOf(await readMetrics(url)));
    const behind = organizations.map(({ quick, slow }) => quick.received.ids.size - slow.received.ids.size);
    furthest = Math.max(furthest, ...behind);
    await sleep(LOOK_EVERY_MS);
  }
  return { looks, furthest };
}

/** Compares the samples of the node's memory with their limits. Returns the facts and violations for the trial's outcome. */
function judge({ looks, furthest }: Watched, heapLimit: number, organizationCount: number) {
  const [budget, share] = [heapLimit * SHARE_OF_WINDOWS, heapLimit * SHARE_OF_ALL_THAT_IS_HELD];
  const most = (name: keyof Look) => Math.max(...looks.map((look) => look[name]));
  // The heap grows between two garbage collections, so its minimum is the memory in use.
  const held = Math.min(...looks.slice(-Math.ceil(looks.length / 3)).map(({ heap }) => heap));
  const behind = furthest * EVENT_BYTES;
  return {
    facts: {
      windows: `${mib(most('windows'))} at most, limit ${mib(budget)}`,
      heap: `${mib(held)} in use in the last third, ${mib(most('heap'))} at most, limit ${mib(heapLimit)}`,
      resident: `${mib(most('resident'))} at most`,
      'the slowest client was behind by': mib(behind),
    },
    violations: [
      ...(most('windows') <= budget ? [] : [`windows used ${mib(most('windows'))}, limit ${mib(budget)}`]),
      ...(held <= share ? [] : [`the heap used ${mib(held)}, limit ${mib(share)}`]),
      // All windows share the memory limit.
      ...(behind > budget / organizationCount ? [] : ['all events were in the windows: the trial tested nothing']),
    ],
  };
}

/**
 * Sends long messages in many organizations with subscribers. Their total size is a multiple of the memory limit of the
 * windows, which are the in-memory tails of event logs. The node must stay within its limits. All clients must receive all
 * events, even if their position is older than the window. Another organization at the node must not be affected.
 */
export async function windowsTrial({
  databaseServer,
  organizations: count,
  heapMegabytes,
  seed,
  isTimed,
}: {
  databaseServer: string;
  organizations: number;
  heapMegabytes: number;
  seed: number;
  isTimed: boolean;
}): Promise<Outcome> {
  const random = seeded(seed);
  const option = `--max-old-space-size=${heapMegabytes}`;
  const heapLimit = heapLimitOf(option);
  await using service = await startDemo(databaseServer, { ...METRICS.env, NODE_OPTIONS: option });
  const { server } = service;
  const { url } = server;
  const neighbour = await makeNeighbour(server);
  const neighbours = await Neighbours.start(url, neighbour);
  const hearing = listen('WebSocket', url, neighbour, await registered(url, neighbour));
  const sending: Sending[] = [];
  while (sending.length < count) {
    const person = await makeNeighbour(server);
    sending.push({ person, sender: await SequentialSender.start(url, person, { more: MORE }) });
  }
  const senders = sending.map(({ sender }) => sender);
  // As a baseline, sends messages of the same size at the same rate without subscribers, so that the windows stay empty.
  const unreadUntil = performance.now() + BEFORE_MS;
  const usual = await neighbours.during(sendAll(senders, () => performance.now() >= unreadUntil));

  let isHurried = false;
  const organizations = await Promise.all(
    sending.map((one, at) => readIn(url, one, { at, random, isHurried: () => isHurried })),
  );
  const listeners = [hearing, ...organizations.flatMap(({ quick, slow }) => [quick, slow])];
  const sentBefore = doneBy(senders);
  const passed = () => (doneBy(senders) - sentBefore) * EVENT_BYTES;
  const isFull = () => passed() >= TIMES * heapLimit * SHARE_OF_WINDOWS;
  const since = performance.now();
  const watching = watch(url, organizations, isFull);
  const filled = await neighbours.during(sendAll(senders, isFull));
  const took = performance.now() - since;
  const { facts, violations } = judge(await watching, heapLimit, count);
  isHurried = true;
  const hurriedAt = performance.now();
  await eventually(() => organizations.every(isCaughtUp), CATCH_UP_MS);
  const caughtUp = performance.now() - hurriedAt;
  await quieten(listeners);
  for (const one of [...senders, neighbours]) one.close();
  const lastWords = server.pid === undefined ? [/^FATAL.*$/m.exec(server.log())?.[0] ?? 'no FATAL log line'] : [];
  const truth = await compareWithTruth(service, [], listeners);
  const sent = await withDatabase(service, (query) => compareSent(query, [...senders, ...neighbours.senders]));
  const fared = faredIn([usual], [filled]);
  const failures = senders.flatMap((sender) => sender.failures);
  const fault = `in-memory tails of ${count} organizations full`;
  return {
    trial: fault,
    facts: {
      passed: `${mib(passed())} in ${seconds(took)}`,
      ...facts,
      listeners: listeners.length,
      'events heard': listeners.reduce((sum, { received }) => sum + received.ids.size, 0),
      'slow clients caught up after': seconds(caughtUp),
      'sends of the organizations': endsOf(senders).toString(),
      ...neighbourFigures(neighbours, fared),
    },
    violations: [
      ...lastWords.map((words) => `the node has ended: ${words}`),
      ...violations,
      ...(failures.length > 0 ? [`sends failed: ${some(failures)}`] : []),
      ...reconnectedOf(listeners),
      ...truth.violations,
      ...brokenBy(sent),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [{ fault, ...addUp([truth.broken, sent]), gap: gapOf({ writers: senders }, since), neighbours: fared }],
  };
}

const mib = (bytes: number) => `${(bytes / MIB).toFixed(0)} MiB`;
const seconds = (time: number) => `${(time / 1_000).toFixed(1)} s`;

const doneBy = (senders: readonly SequentialSender[]) => senders.reduce((sum, { done }) => sum + done, 0);

const isCaughtUp = ({ quick, slow }: Organization) => slow.received.ids.size >= quick.received.ids.size;
