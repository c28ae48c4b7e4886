import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { METRICS } from '../helpers/process.ts';
import { makeNeighbour, type Person, startDemo } from './demo.ts';
import { addUp, gapOf } from './felt.ts';
import { eventually, type Listener, listen, quieten, reconnectedOf, TRANSPORTS } from './listeners.ts';
import { type Metrics, MIB, readMetrics } from './metrics.ts';
import { brokenBy, compareSent, endsOf, faredIn, Neighbours, Sender, toldOf } from './neighbours.ts';
import { type Outcome, some } from './outcome.ts';
import { between, type Random, seeded } from './random.ts';
import { Client, type QueueStart } from './requests.ts';
import { compareWithTruth, withDatabase } from './truth.ts';

/** What src/events/window-memory.ts promises of the heap: this part for all windows, and half for all else. */
const SHARE_OF_WINDOWS = 1 / 8;
const SHARE_OF_ALL_THAT_IS_HELD = 1 / 2;
/** How many times as much as windows may hold is sent. */
const TIMES = 3;
/** Of all organisations together: a node that is busy, on two cores with the database and the clients, and keeps up. */
const PER_SECOND = 80;
/** As long as a message may be, with what is put before it: 20 kB, which an event has twice, as text and as HTML. */
const MORE = ` ${`${'я'.repeat(19)} `.repeat(497)}`;
const EVENT_BYTES = 2 * Buffer.byteLength(MORE);
/** How long they send before anybody reads. */
const BEFORE_MS = 20_000;
/** What a slow client leaves between two polls: an answer is at most a megabyte, so that it comes to be further and further behind. */
const [SHORTEST_REST_MS, LONGEST_REST_MS] = [50_000, 80_000];
const CATCH_UP_MS = 90_000;
const LOOK_EVERY_MS = 1_000;

/** Somebody who sends, alone in an organisation. */
interface Sending {
  readonly person: Person;
  readonly sender: Sender;
}

/** With a client of theirs that keeps up, and one that does not. */
interface Organisation extends Sending {
  readonly quick: Listener;
  readonly slow: Listener;
}

/** What the node held at a moment, in bytes. */
interface Look {
  readonly windows: number;
  readonly heap: number;
  readonly resident: number;
}

/** The heap's limit of a node with this option, as Node has it: some more than was asked for. */
function heapLimitOf(option: string): number {
  const script = 'console.log(require("node:v8").getHeapStatistics().heap_size_limit)';
  return Number(execFileSync(process.execPath, [option, '-e', script], { encoding: 'utf8' }));
}

const lookOf = ({ shown }: Metrics): Look => ({
  windows: shown('event_windows_bytes'),
  heap: shown('nodejs_heap_size_used_bytes'),
  resident: shown('process_resident_memory_bytes'),
});

/** Has each send at the pace, until it is over. */
const sendAll = (senders: readonly Sender[], isOver: () => boolean): Promise<unknown> => {
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
 * Sets off an organisation's readers.
 *
 * @param isHurried Whether the slow one is to catch up.
 */
async function readIn(
  url: string,
  { person, sender }: Sending,
  { at, random, isHurried }: { at: number; random: Random; isHurried: () => boolean },
): Promise<Organisation> {
  const transport = TRANSPORTS[at % TRANSPORTS.length] ?? 'long poll';
  const quick = listen(transport, url, person, await registered(url, person));
  const rest = () => eventually(isHurried, between(random, SHORTEST_REST_MS, LONGEST_REST_MS));
  const slow = listen('long poll', url, person, { ...(await registered(url, person)), rest });
  return { person, sender, quick, slow };
}

/** What the node held, look after look, and by how many events whoever was slowest was behind. */
interface Watched {
  readonly looks: readonly Look[];
  readonly furthest: number;
}

async function watch(url: string, organisations: readonly Organisation[], isOver: () => boolean): Promise<Watched> {
  const looks: Look[] = [];
  let furthest = 0;
  while (!isOver()) {
    looks.push(lookOf(await readMetrics(url)));
    const behind = organisations.map(({ quick, slow }) => quick.heard.ids.size - slow.heard.ids.size);
    furthest = Math.max(furthest, ...behind);
    await sleep(LOOK_EVERY_MS);
  }
  return { looks, furthest };
}

/** What is told of it, and what of it is not as promised. */
function judge({ looks, furthest }: Watched, heapLimit: number, organisationCount: number) {
  const [budget, share] = [heapLimit * SHARE_OF_WINDOWS, heapLimit * SHARE_OF_ALL_THAT_IS_HELD];
  const most = (name: keyof Look) => Math.max(...looks.map((look) => look[name]));
  // Between two collections a heap fills up: what is left after one is what is held.
  const held = Math.min(...looks.slice(-Math.ceil(looks.length / 3)).map(({ heap }) => heap));
  const behind = furthest * EVENT_BYTES;
  return {
    facts: {
      windows: `${mib(most('windows'))} at the most, of ${mib(budget)}`,
      heap: `${mib(held)} held in the last third, ${mib(most('heap'))} at the most, of ${mib(heapLimit)}`,
      resident: `${mib(most('resident'))} at the most`,
      'the slowest was behind by': mib(behind),
    },
    violations: [
      ...(most('windows') <= budget ? [] : [`windows held ${mib(most('windows'))}, of ${mib(budget)}`]),
      ...(held <= share ? [] : [`the heap held ${mib(held)}, of ${mib(share)}`]),
      // What windows hold is shared among them.
      ...(behind > budget / organisationCount ? [] : ['every window reached back to all: the trial tried nothing']),
    ],
  };
}

/**
 * Long messages are sent in many organisations, each of which is read, until several times as much has passed as the windows
 * of a process may hold: the node lives and holds no more than it may, all readers hear everything, those too for whom the
 * window does not reach back any more, and another organisation there does not notice.
 */
export async function windowsTrial({
  databaseServer,
  organisations: count,
  heapMegabytes,
  seed,
  isTimed,
}: {
  databaseServer: string;
  organisations: number;
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
    sending.push({ person, sender: await Sender.start(url, person, MORE) });
  }
  const senders = sending.map(({ sender }) => sender);
  // The same messages at the same pace, of which no window holds anything: nobody reads.
  const unreadUntil = performance.now() + BEFORE_MS;
  const usual = await neighbours.during(sendAll(senders, () => performance.now() >= unreadUntil));

  let isHurried = false;
  const organisations = await Promise.all(
    sending.map((one, at) => readIn(url, one, { at, random, isHurried: () => isHurried })),
  );
  const listeners = [hearing, ...organisations.flatMap(({ quick, slow }) => [quick, slow])];
  const sentBefore = doneBy(senders);
  const passed = () => (doneBy(senders) - sentBefore) * EVENT_BYTES;
  const isFull = () => passed() >= TIMES * heapLimit * SHARE_OF_WINDOWS;
  const since = performance.now();
  const watching = watch(url, organisations, isFull);
  const filled = await neighbours.during(sendAll(senders, isFull));
  const took = performance.now() - since;
  const { facts, violations } = judge(await watching, heapLimit, count);
  isHurried = true;
  const hurriedAt = performance.now();
  await eventually(() => organisations.every(isCaughtUp), CATCH_UP_MS);
  const caughtUp = performance.now() - hurriedAt;
  await quieten(listeners);
  for (const one of [...senders, neighbours]) one.close();
  const lastWords = server.pid === undefined ? [/^FATAL.*$/m.exec(server.log())?.[0] ?? 'it said nothing of it'] : [];
  const truth = await compareWithTruth(service, [], listeners);
  const sent = await withDatabase(service, (query) => compareSent(query, [...senders, ...neighbours.senders]));
  const fared = faredIn([usual], [filled]);
  const failures = senders.flatMap((sender) => sender.failures);
  const fault = `the windows of ${count} organisations full`;
  return {
    trial: fault,
    facts: {
      passed: `${mib(passed())} in ${seconds(took)}`,
      ...facts,
      listeners: listeners.length,
      'events heard': listeners.reduce((sum, { heard }) => sum + heard.ids.size, 0),
      'the slow ones caught up after': seconds(caughtUp),
      'sends there': endsOf(senders).toString(),
      ...toldOf(neighbours, fared),
    },
    violations: [
      ...lastWords.map((words) => `the node has ended: ${words}`),
      ...violations,
      ...(failures.length > 0 ? [`senders were told ${some(failures)}`] : []),
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

const doneBy = (senders: readonly Sender[]) => senders.reduce((sum, { done }) => sum + done, 0);

const isCaughtUp = ({ quick, slow }: Organisation) => slow.heard.ids.size >= quick.heard.ids.size;
