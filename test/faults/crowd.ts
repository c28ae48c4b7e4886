import { setTimeout as sleep } from 'node:timers/promises';
import { QUERY } from '../bench/fan-out.ts';
import { median, mostOpenFiles, percentile } from '../bench/measure.ts';
import { subscribe } from '../bench/sends.ts';
import { makeAccounts, makeQueues } from '../bench/stage.ts';
import type { Subscriber } from '../bench/subscribers.ts';
import { Worker } from '../bench/workers.ts';
import { type DemoService, makeNeighbour, type Person, personOf, startDemo } from './demo.ts';
import { addUp, type Broken } from './felt.ts';
import {
  brokenBy,
  compareSent,
  endsOf,
  ms,
  Neighbours,
  neighbourFigures,
  SequentialSender,
  type Spell,
  type WatchedTrial,
} from './neighbours.ts';
import { type Outcome, some } from './outcome.ts';
import { type Compared, faredBeside, PlainWork, plainRequest } from './plain-work.ts';
import { Client, hostHeader } from './requests.ts';
import type { ReceiptFaults, tasks as socketTasks } from './sockets.ts';
import { openDatabase, withDatabase } from './truth.ts';

/**
 * Number of messages that are sent one at a time (`ALONE`), and interval between these sends in milliseconds. Each is sent
 * after the previous one has reached all sockets.
 */
const [ALONE, PACE_MS] = [10, 1_500];
/** Number of messages sent concurrently in one round, number of rounds, and duration of each round in milliseconds. */
const [TRAIN, TRAINS, TRAIN_MS] = [10, 3, 4_000];
/** Number of messages sent before the measurement, so that the JIT compiler has compiled the code. */
const WARM_UP = 4;
/** Number of sockets at the node that belong to the other organization. Each socket reads a queue of its own. */
const FEW = 3;
/** Number of clients that make the simple requests of `PlainWork`. They belong to the organization with many sockets. */
const PLAIN_CLIENTS = 20;
const PATIENCE_MS = 30_000;
/** Number of files that a process opens in addition to sockets. */
const SPARE_FILES = 500;
/** Longest delay, in milliseconds, that is never a violation: users do not notice such a delay. */
const SOON_MS = 100;

/** Times, in milliseconds since the send request, at which one message, or several, were acknowledged and delivered. */
interface DeliveryTimes {
  readonly acknowledged: number;
  /** Time at which the last socket received the last message. */
  readonly delivered: number;
}

/** Sockets in a separate process. */
type Sockets = Worker<typeof socketTasks>;

const startSockets = (): Sockets => new Worker(`${import.meta.dirname}/sockets.ts`);

/** Returns the number in the content of a message that a `SequentialSender` sent. */
const numberOf = (content: string): number => Number(/\d+/.exec(content));

/**
 * Sends one message as each sender, concurrently, and waits until all messages have reached all sockets.
 *
 * @returns The time of the last acknowledgement and of the last delivery.
 */
async function measureDelivery(senders: readonly SequentialSender[], sockets: Sockets): Promise<DeliveryTimes> {
  const sentAt = performance.timeOrigin + performance.now();
  await Promise.all(senders.map((sender) => sender.send()));
  const acknowledged = Math.max(...senders.map(({ took }) => took.at(-1) ?? Number.POSITIVE_INFINITY));
  const arrivals = await Promise.all(
    senders.map(({ acknowledged: sent }) =>
      sockets.ask('arrival', { number: numberOf(sent.at(-1) ?? ''), patienceMs: PATIENCE_MS }),
    ),
  );
  return { acknowledged, delivered: Math.max(...arrivals.map(({ lastAt }) => lastAt)) - sentAt };
}

/** Opens a socket for each of `count` users of the demo organization, all subscribed to one channel. */
async function openCrowd(
  service: DemoService,
  owner: Person,
  { channelId, count }: { readonly channelId: number; readonly count: number },
): Promise<Sockets> {
  const db = await openDatabase(service);
  const people = await makeAccounts(db, 'crowd', count);
  const { rows } = await db.query<{ realm_id: number }>('SELECT realm_id FROM channel WHERE id = $1', [channelId]);
  const [{ realm_id: organizationId } = { realm_id: 0 }] = rows;
  await subscribe(
    { db },
    { organizationId, channelId },
    people.map(({ id }) => id),
  );
  const { url, port } = service.server;
  const subscribers = await makeQueues({ db, url, owner, users: people }, count);
  await db.query('VACUUM ANALYZE');
  await db.end();
  const sockets = startSockets();
  await sockets.ask('open', { port, query: QUERY, subscribers });
  return sockets;
}

/** Compares the messages that the sockets received with the messages of the channel in the event log, after a position. */
async function comparedWithLog(
  service: DemoService,
  sockets: Sockets,
  { channelId, startId }: { readonly channelId: number; readonly startId: number },
): Promise<ReceiptFaults> {
  const rows = await withDatabase(service, (query) =>
    query(
      `SELECT substring(content FROM '^sent (\\d+)\\.')::int AS number FROM message
       WHERE channel_id = $1 AND content LIKE 'sent %' AND sent_event_id > $2 ORDER BY sent_event_id`,
      [channelId, startId],
    ),
  );
  return sockets.ask('compare', { numbers: rows.map(({ number }) => Number(number)) });
}

const toBroken = ({ lost, repeated, outOfOrder }: ReceiptFaults): Broken => ({
  lost,
  repeated,
  outOfOrder,
  refusedButDone: 0,
});

const misheardBy = (who: string, { lost, repeated, outOfOrder, strange }: ReceiptFaults): string[] => [
  ...(lost > 0 ? [`${who} did not receive ${lost} messages`] : []),
  ...(repeated > 0 ? [`${who} received ${repeated} messages twice`] : []),
  ...(outOfOrder > 0 ? [`${who} received ${outOfOrder} messages after later ones`] : []),
  ...(strange > 0 ? [`${who} received ${strange} messages that were not for them`] : []),
];

/** Measurements of the messages that were sent to the sockets of all users. */
interface CrowdMeasurements {
  readonly deliveries: readonly DeliveryTimes[];
  readonly compared: readonly Compared[];
}

const middleOf = ({ deliveries }: CrowdMeasurements, what: keyof DeliveryTimes) =>
  median(deliveries.map((times) => times[what]));
const slowest = ({ deliveries }: CrowdMeasurements) => Math.max(...deliveries.map(({ acknowledged }) => acknowledged));

const figuresOf = (told: CrowdMeasurements) => {
  const cpu = median(told.compared.map(({ taken }) => taken.cpuSeconds));
  return `${ms(middleOf(told, 'acknowledged'))}, the last socket after ${ms(middleOf(told, 'delivered'))}, ${ms(1_000 * cpu)} of CPU`;
};

/**
 * Returns a violation if senders wait for deliveries. They do if the median send is acknowledged after more than half of the
 * delivery time.
 */
const waitsOf = (what: string, told: CrowdMeasurements): string[] =>
  middleOf(told, 'acknowledged') > middleOf(told, 'delivered') / 2
    ? [`${what} was acknowledged after ${figuresOf(told)}: the sender waits for the recipients`]
    : [];

/** The few sockets that the other organization has at the node, and the delays of deliveries to them. */
class Few implements AsyncDisposable {
  readonly #sockets = startSockets();
  readonly #neighbours: Neighbours;
  /** Id of the last event in the log when the sockets were opened. */
  #startId = 0;

  private constructor(neighbours: Neighbours) {
    this.#neighbours = neighbours;
  }

  static async open(url: string, person: Person, neighbours: Neighbours): Promise<Few> {
    const few = new Few(neighbours);
    const client = new Client(url, person);
    const subscribers: Subscriber[] = [];
    while (subscribers.length < FEW) {
      const { queueId, startId } = await client.register();
      few.#startId = startId;
      subscribers.push({ authorization: person.basic, queueId, ...hostHeader(url, person) });
    }
    client.close();
    await few.#sockets.ask('open', { port: Number(new URL(url).port), query: QUERY, subscribers });
    return few;
  }

  compared(service: DemoService): Promise<ReceiptFaults> {
    const channelId = this.#neighbours.senders[0]?.channelId ?? 0;
    return comparedWithLog(service, this.#sockets, { channelId, startId: this.#startId });
  }

  /**
   * Returns the 95th percentile of the delays of the sends in some periods, in milliseconds. A delay lasts from the
   * acknowledgement of a send to its last delivery.
   */
  async lateIn(spells: readonly Spell[]): Promise<number> {
    const arrivals = await this.#sockets.ask('arrivals', undefined);
    const late = this.#neighbours.senders.flatMap(({ acknowledged, acknowledgedAt }) =>
      acknowledgedAt.flatMap((at, i) => {
        if (!spells.some(({ since, until }) => at >= since && at <= until)) return [];
        const { lastAt = Number.POSITIVE_INFINITY } = arrivals.get(numberOf(acknowledged[i] ?? '')) ?? {};
        return Math.max(0, lastAt - performance.timeOrigin - at);
      }),
    );
    return percentile(late, 95);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#sockets[Symbol.asyncDispose]();
  }
}

/**
 * Sends messages to very many open sockets, one at a time and ten concurrently. Each socket must receive each message once and
 * in order, and the sender must not wait for the deliveries. Another organization also has sockets at the node. The load may
 * slow these down only as much as simple requests (`PlainWork`) that use the same CPU time.
 */
export async function crowdTrial({
  databaseServer,
  sockets: count,
  isTimed,
}: Omit<WatchedTrial, 'seconds'> & { readonly sockets: number }): Promise<Outcome> {
  if (mostOpenFiles() < count + SPARE_FILES) throw new Error(`The limit of open files is too low for ${count} sockets`);
  // Sends heartbeats at the interval used in production. The short interval of tests would send one to all sockets every other
  // second. MAX_SOCKETS is four times the number of sockets, because one IP address can open at most half of them.
  const env = { EVENT_HEARTBEAT_SECONDS: undefined, MAX_SOCKETS: String(4 * count) };
  await using service = await startDemo(databaseServer, env);
  const { url } = service.server;
  const owner = personOf(service.people, 'owner');
  const senders: SequentialSender[] = [];
  while (senders.length < TRAIN) senders.push(await SequentialSender.start(url, owner));
  const [sender] = senders as [SequentialSender, ...SequentialSender[]];
  await using crowd = await openCrowd(service, owner, { channelId: sender.channelId, count });
  const neighbour = await makeNeighbour(service.server);
  const neighbours = await Neighbours.start(url, neighbour);
  await using few = await Few.open(url, neighbour, neighbours);
  await using plain = new PlainWork(
    service.server,
    Array.from({ length: PLAIN_CLIENTS }, () => plainRequest(service.server, owner)),
  );
  for (let i = 0; i < WARM_UP; i++) await measureDelivery(i % 2 === 0 ? [sender] : senders, crowd);

  const run = async (by: readonly SequentialSender[], times: number, paceMs: number): Promise<CrowdMeasurements> => {
    const [deliveries, compared]: [DeliveryTimes[], Compared[]] = [[], []];
    const once = async () => void deliveries.push(await measureDelivery(by, crowd));
    while (compared.length < times) {
      compared.push(await plain.beside(neighbours, () => Promise.all([once(), sleep(paceMs)])));
    }
    return { deliveries, compared };
  };
  const alone = await run([sender], ALONE, PACE_MS);
  const train = await run(senders, TRAINS, TRAIN_MS);
  for (const one of [...senders, neighbours]) one.close();
  // Waits for the last deliveries to the other organization.
  await sleep(1_000);

  const rounds = [...alone.compared, ...train.compared];
  const lateBefore = await few.lateIn(rounds.map(({ before }) => before));
  const lateMeanwhile = await few.lateIn(rounds.map(({ meanwhile }) => meanwhile));
  const heard = await comparedWithLog(service, crowd, { channelId: sender.channelId, startId: 0 });
  const heardByFew = await few.compared(service);
  const sent = await withDatabase(service, (query) => compareSent(query, [...senders, ...neighbours.senders]));
  const broken = addUp([sent, toBroken(heard), toBroken(heardByFew)]);
  const failures = senders.flatMap((one) => one.failures);
  const many = count.toLocaleString('en');
  const [besideOne, besideTrain] = [faredBeside(alone.compared), faredBeside(train.compared)];
  return {
    trial: `messages to ${many} open sockets`,
    facts: {
      'one message is acknowledged after': figuresOf(alone),
      [`the last of ${TRAIN} concurrent messages`]: figuresOf(train),
      ...neighbourFigures(neighbours, besideOne),
      [`beside ${TRAIN} concurrent messages`]: neighbourFigures(neighbours, besideTrain)["neighbours' p95"],
      "delay of neighbours' deliveries after the answer": `${ms(lateBefore)} before, ${ms(lateMeanwhile)} meanwhile`,
      'messages to all': endsOf(senders).toString(),
    },
    violations: [
      ...(failures.length > 0 ? [`sends to all failed: ${some(failures)}`] : []),
      ...brokenBy(sent),
      ...misheardBy('the sockets', heard),
      ...misheardBy("the neighbours' sockets", heardByFew),
      ...(isTimed ? [...waitsOf('one message', alone), ...waitsOf(`the last of ${TRAIN}`, train)] : []),
      ...(isTimed && lateMeanwhile > Math.max(SOON_MS, 2 * lateBefore)
        ? [`neighbours' deliveries were ${ms(lateMeanwhile)} late, ${ms(lateBefore)} before`]
        : []),
      ...[besideOne, besideTrain].flatMap((fared) => neighbours.complaints(fared, { isTimed })),
    ],
    felt: [
      { fault: `a message to ${many} sockets`, ...broken, gap: slowest(alone), neighbours: besideOne },
      { fault: `${TRAIN} concurrent messages to each`, ...broken, gap: slowest(train), neighbours: besideTrain },
    ],
  };
}
