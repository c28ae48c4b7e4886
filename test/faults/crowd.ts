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
  Sender,
  type Spell,
  toldOf,
  type WatchedTrial,
} from './neighbours.ts';
import { type Outcome, some } from './outcome.ts';
import { type Compared, faredBeside, PlainWork, plainRequest } from './plain-work.ts';
import { Client, hostHeader } from './requests.ts';
import type { Misheard, tasks as socketTasks } from './sockets.ts';
import { openDatabase, withDatabase } from './truth.ts';

/** Messages that are sent when the one before has come to all, and how often. */
const [ALONE, PACE_MS] = [10, 1_500];
/** Messages that are sent at once, how often, and how long each time is watched. */
const [TRAIN, TRAINS, TRAIN_MS] = [10, 3, 4_000];
/** What has not run yet is slow the first times. */
const WARM_UP = 4;
/** How many sockets the neighbours have: one each. */
const FEW = 3;
/** How many clients of the organisation make the plain requests that a message is compared with. */
const PLAIN_CLIENTS = 20;
const PATIENCE_MS = 30_000;
/** What a process opens besides sockets. */
const SPARE_FILES = 500;
/** Whoever reads what is written to them does not call this late. */
const SOON_MS = 100;

/** One message, or several at once, in milliseconds from their sending. */
interface Telling {
  readonly acknowledged: number;
  /** To the last socket. */
  readonly heard: number;
}

/** Sockets in a process of their own. */
type Sockets = Worker<typeof socketTasks>;

const startSockets = (): Sockets => new Worker(`${import.meta.dirname}/sockets.ts`);

/** How a number is known of what a `Sender` sent. */
const numberOf = (content: string): number => Number(/\d+/.exec(content));

/** Sends a message as each of these, and waits until it has come to all sockets. */
async function tell(senders: readonly Sender[], sockets: Sockets): Promise<Telling> {
  const sentAt = performance.timeOrigin + performance.now();
  await Promise.all(senders.map((sender) => sender.send()));
  const acknowledged = Math.max(...senders.map(({ took }) => took.at(-1) ?? Number.POSITIVE_INFINITY));
  const arrivals = await Promise.all(
    senders.map(({ acknowledged: sent }) =>
      sockets.ask('arrival', { number: numberOf(sent.at(-1) ?? ''), patienceMs: PATIENCE_MS }),
    ),
  );
  return { acknowledged, heard: Math.max(...arrivals.map(({ lastAt }) => lastAt)) - sentAt };
}

/** Opens a socket for each of many people of the demo organisation, who all are subscribed to one channel. */
async function openCrowd(
  service: DemoService,
  owner: Person,
  { channelId, count }: { readonly channelId: number; readonly count: number },
): Promise<Sockets> {
  const db = await openDatabase(service);
  const people = await makeAccounts(db, 'crowd', count);
  const { rows } = await db.query<{ realm_id: number }>('SELECT realm_id FROM channel WHERE id = $1', [channelId]);
  const [{ realm_id: realmId } = { realm_id: 0 }] = rows;
  await subscribe(
    { db },
    { realmId, channelId },
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

/** What the sockets heard otherwise than the log has it of a channel, from a position on. */
async function comparedWithLog(
  service: DemoService,
  sockets: Sockets,
  { channelId, startId }: { readonly channelId: number; readonly startId: number },
): Promise<Misheard> {
  const rows = await withDatabase(service, (query) =>
    query(
      `SELECT substring(content FROM '^sent (\\d+)\\.')::int AS number FROM message
       WHERE channel_id = $1 AND content LIKE 'sent %' AND sent_event_id > $2 ORDER BY sent_event_id`,
      [channelId, startId],
    ),
  );
  return sockets.ask('compare', { numbers: rows.map(({ number }) => Number(number)) });
}

const toBroken = ({ lost, repeated, outOfOrder }: Misheard): Broken => ({
  lost,
  repeated,
  outOfOrder,
  refusedButDone: 0,
});

const misheardBy = (who: string, { lost, repeated, outOfOrder, strange }: Misheard): string[] => [
  ...(lost > 0 ? [`${who} never heard ${lost} messages`] : []),
  ...(repeated > 0 ? [`${who} heard ${repeated} messages again`] : []),
  ...(outOfOrder > 0 ? [`${who} heard ${outOfOrder} messages after later ones`] : []),
  ...(strange > 0 ? [`${who} heard ${strange} messages that were not for them`] : []),
];

/** What was measured of messages to all. */
interface Told {
  readonly tellings: readonly Telling[];
  readonly compared: readonly Compared[];
}

const middleOf = ({ tellings }: Told, what: keyof Telling) => median(tellings.map((telling) => telling[what]));
const slowest = ({ tellings }: Told) => Math.max(...tellings.map(({ acknowledged }) => acknowledged));

const factsOf = (told: Told) => {
  const cpu = median(told.compared.map(({ taken }) => taken.cpuSeconds));
  return `${ms(middleOf(told, 'acknowledged'))}, the last socket after ${ms(middleOf(told, 'heard'))}, ${ms(1_000 * cpu)} of a processor`;
};

/** Whether senders wait until all have heard. */
const waitsOf = (what: string, told: Told): string[] =>
  middleOf(told, 'acknowledged') > middleOf(told, 'heard') / 2
    ? [`${what} was acknowledged after ${factsOf(told)}: its sender waits for those who hear it`]
    : [];

/** The neighbours' sockets, and how late they are told in some rounds. */
class Few implements AsyncDisposable {
  readonly #sockets = startSockets();
  readonly #neighbours: Neighbours;
  /** Where the log was when they were opened. */
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

  compared(service: DemoService): Promise<Misheard> {
    const channelId = this.#neighbours.senders[0]?.channelId ?? 0;
    return comparedWithLog(service, this.#sockets, { channelId, startId: this.#startId });
  }

  /** How long after its sender had the answer the last of them had a message, for 95 of 100. */
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
 * Messages to very many open sockets, one after the other and ten at once: each hears each of them once and in order, the
 * sender does not wait for that, and another organisation at the same node, whose people have sockets as well, notices as
 * much as of plain requests that take as long.
 */
export async function crowdTrial({
  databaseServer,
  sockets: count,
  isTimed,
}: Omit<WatchedTrial, 'seconds'> & { readonly sockets: number }): Promise<Outcome> {
  if (mostOpenFiles() < count + SPARE_FILES) throw new Error(`${count} sockets take as many open files`);
  // Heartbeats as in earnest: those of tests would come to all sockets every other second. Of all places one address, from
  // which they all come here, has half at the most.
  const env = { EVENT_HEARTBEAT_SECONDS: undefined, MAX_SOCKETS: String(4 * count) };
  await using service = await startDemo(databaseServer, env);
  const { url } = service.server;
  const owner = personOf(service.people, 'owner');
  const senders: Sender[] = [];
  while (senders.length < TRAIN) senders.push(await Sender.start(url, owner));
  const [sender] = senders as [Sender, ...Sender[]];
  await using crowd = await openCrowd(service, owner, { channelId: sender.channelId, count });
  const neighbour = await makeNeighbour(service.server);
  const neighbours = await Neighbours.start(url, neighbour);
  await using few = await Few.open(url, neighbour, neighbours);
  await using plain = new PlainWork(
    service.server,
    Array.from({ length: PLAIN_CLIENTS }, () => plainRequest(service.server, owner)),
  );
  for (let i = 0; i < WARM_UP; i++) await tell(i % 2 === 0 ? [sender] : senders, crowd);

  const run = async (by: readonly Sender[], times: number, paceMs: number): Promise<Told> => {
    const [tellings, compared]: [Telling[], Compared[]] = [[], []];
    const once = async () => void tellings.push(await tell(by, crowd));
    while (compared.length < times) {
      compared.push(await plain.beside(neighbours, () => Promise.all([once(), sleep(paceMs)])));
    }
    return { tellings, compared };
  };
  const alone = await run([sender], ALONE, PACE_MS);
  const train = await run(senders, TRAINS, TRAIN_MS);
  for (const one of [...senders, neighbours]) one.close();
  // For what is on its way to the neighbours.
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
      'one is acknowledged after': factsOf(alone),
      [`the last of ${TRAIN} at once`]: factsOf(train),
      ...toldOf(neighbours, besideOne),
      [`beside ${TRAIN} at once`]: toldOf(neighbours, besideTrain)["neighbours' p95"],
      "neighbours' sockets, after the answer": `${ms(lateBefore)} before, ${ms(lateMeanwhile)} meanwhile`,
      'messages to all': endsOf(senders).toString(),
    },
    violations: [
      ...(failures.length > 0 ? [`those who sent to all were told ${some(failures)}`] : []),
      ...brokenBy(sent),
      ...misheardBy('the sockets', heard),
      ...misheardBy("the neighbours' sockets", heardByFew),
      ...(isTimed ? [...waitsOf('one message', alone), ...waitsOf(`the last of ${TRAIN}`, train)] : []),
      ...(isTimed && lateMeanwhile > Math.max(SOON_MS, 2 * lateBefore)
        ? [`neighbours heard each other ${ms(lateMeanwhile)} late, and ${ms(lateBefore)} before`]
        : []),
      ...[besideOne, besideTrain].flatMap((fared) => neighbours.complaints(fared, { isTimed })),
    ],
    felt: [
      { fault: `a message to ${many} sockets`, ...broken, gap: slowest(alone), neighbours: besideOne },
      { fault: `${TRAIN} messages at once to them`, ...broken, gap: slowest(train), neighbours: besideTrain },
    ],
  };
}
