import { randomUUID } from 'node:crypto';
import type { Burst } from './generator.ts';
import { median, mostOpenFiles } from './measure.ts';
import { HOW_TO_INSTALL_NCHAN, hasNchan, Nchan } from './nchan.ts';
import type { Row } from './report.ts';
import { makeChannel, sendRequest, subscribe } from './sends.ts';
import { type BenchQueue, type BenchUser, bareTriggers, makeAccounts, makeQueues, type Stage } from './stage.ts';

const TRAIN = 40;
/** Number of send requests of a burst that are unanswered at the same time, as in a busy organization. */
const IN_FLIGHT = 4;
/** Number of files that a process opens in addition to the sockets of the three servers. */
const SPARE_FILES = 500;

/** Fields of a message that a chat displays in a list of messages. */
const SHOWN = [
  'content',
  'renderedContent',
  'topicName',
  'topic { id name }',
  'sentAt',
  'lastEditedAt',
  'viewerHasRead viewerHasStarred',
  'reactionGroups { emojiName emojiCode count viewerHasReacted }',
  'channel { id name }',
  'sender { id fullName avatarUrl }',
];

export const USUAL = `id ${SHOWN.join(' ')}`;

export const documentOf = (fields: string, more = '') => `subscription Bench($queueId: String!) {
  events(queueId: $queueId) {
    position
    __typename
    ... on MessageSentEvent { ${more} message { ${fields} } }
  }
}`;

/** Subscription document of a typical chat client. */
export const QUERY = documentOf(USUAL, 'localId');

/** Twenty different subscription documents. Each omits one of the displayed fields. Half of them select `localId`. */
const DIFFERENT = SHOWN.flatMap((left) => {
  const fields = `id ${SHOWN.filter((field) => field !== left).join(' ')}`;
  return [documentOf(fields), documentOf(fields, 'localId')];
});

/** A set of subscribers. Each subscriber receives every event. */
interface Audience {
  readonly what: string;
  readonly sockets: number;
  /**
   * Kinds of readers, each with the same number of readers. Kinds differ in the fields that they request, or in the permissions
   * of their users.
   */
  readonly kinds: readonly { readonly query: string; readonly users: readonly BenchUser[] }[];
}

interface Extent {
  readonly warmUp: number;
  readonly rounds: number;
  /** Number of events in each round that are sent one at a time. */
  readonly alone: number;
}

/** One of the compared servers: the service, or a server that it is compared with. */
interface Side {
  readonly name: string;
  readonly burst: (events: number, inFlight: number) => Promise<Burst>;
  readonly cpu: () => Promise<number>;
}

interface Round {
  /**
   * Deliveries per second from the first delivery of an event to its last one: the median of events that are sent one at a
   * time.
   */
  readonly perSecond: number;
  /** As `perSecond`, but the time starts with the request that caused the event. */
  readonly wholePerSecond: number;
  /** Rate at which a burst of events is delivered, in deliveries per second from the first delivery to the last. */
  readonly trainPerSecond: number;
  readonly generatorShare: number;
  readonly serverShare: number;
  /** CPU time of the server for each delivery of the burst, in microseconds. */
  readonly microseconds: number;
  readonly bytes: number;
}

interface Measured {
  readonly name: string;
  readonly rounds: Round[];
}

/**
 * Lowest accepted ratios of the service's rate to that of a server that only uses `ws`: for one event (`alone`) and for a burst
 * (`train`).
 */
interface Marks {
  readonly alone: number;
  readonly train: number;
}

/** Measures the delivery of single events and of bursts of events to 1,000 WebSocket subscriptions. Rows "a" of the report. */
export async function measureFanOut(stage: Stage): Promise<Row[]> {
  const extent = stage.quick ? { warmUp: 1, rounds: 4, alone: 15 } : { warmUp: 2, rounds: 9, alone: 15 };
  return measureAlike(stage, 'a', 1_000, extent);
}

/** Measures the delivery of single events and of bursts of events to 5,000 WebSocket subscriptions. Rows "p" of the report. */
export async function measureLargeFanOut(stage: Stage): Promise<Row[]> {
  const extent = stage.quick ? { warmUp: 1, rounds: 2, alone: 5 } : { warmUp: 1, rounds: 7, alone: 9 };
  return measureAlike(stage, 'p', 5_000, extent);
}

/**
 * Measures the delivery of events to 1,000 subscriptions with twenty different documents. Half of the readers are guests. Rows
 * "q" of the report.
 */
export async function measureDifferent(stage: Stage): Promise<Row[]> {
  const { db, users, quick } = stage;
  const members = users.slice(0, 32);
  const guests = await makeAccounts(db, 'guest', members.length);
  await db.query('UPDATE user_account SET role = 600 WHERE id = ANY($1)', [guests.map(({ id }) => id)]);
  const kinds = [members, guests].flatMap((readers) => DIFFERENT.map((query) => ({ query, users: readers })));
  const what = `one event to 1,000 subscriptions with ${DIFFERENT.length} documents, half of them by guests`;
  const extent = quick ? { warmUp: 1, rounds: 3, alone: 9 } : { warmUp: 2, rounds: 9, alone: 15 };
  await using sides = await makeSides(stage, { what, sockets: 1_000, kinds });
  const measured = await measureSides(sides.sides, extent);
  return rowsOf({ id: 'q', what, sample: sides.sample, alone: extent.alone }, measured, { alone: 0.6, train: 0.6 });
}

async function measureAlike(stage: Stage, id: string, sockets: number, extent: Extent): Promise<Row[]> {
  const what = `one event to ${sockets.toLocaleString('en')} WebSocket subscriptions`;
  const needed = 3 * sockets + SPARE_FILES;
  if (mostOpenFiles() < needed) {
    console.log(`${id} skipped: the load generator needs ${needed} open files, the limit is ${mostOpenFiles()}`);
    return [];
  }
  const kinds = [{ query: QUERY, users: stage.users }];
  await using sides = await makeSides(stage, { what, sockets, kinds });
  const measured = await measureSides(sides.sides, extent);
  return rowsOf({ id, what, sample: sides.sample, alone: extent.alone }, measured, { alone: 0.8, train: 0.7 });
}

/**
 * Opens all sockets of all compared servers before the first round, because the rounds alternate between the servers.
 *
 * @returns The compared servers. The first one is the service.
 */
async function makeSides(stage: Stage, { sockets, kinds }: Audience) {
  const { generator, yardsticks, port } = stage;
  const everybody = [...new Set(kinds.flatMap(({ users }) => users))];
  const take = await makeSends(stage, everybody);
  const burstAt = (to: number, triggers: Buffer[], inFlight: number) =>
    generator.ask('burst', { port: to, triggers, inFlight, expected: triggers.length * sockets });
  const samples = await samplesOf(stage, kinds, take);
  const [sample = ''] = samples;

  const people = Array.from({ length: sockets }, (_, i) => {
    const { users } = kinds[i % kinds.length] as Audience['kinds'][number];
    return users[Math.floor(i / kinds.length) % users.length] as BenchUser;
  });
  const queues = await makeQueues({ ...stage, users: people }, sockets);
  for (const [kind, { query }] of kinds.entries()) {
    const subscribers = queues.filter((_, i) => i % kinds.length === kind);
    await generator.ask('listen', { set: 'service', port, query, subscribers });
  }
  const listen = (set: string, to: number) =>
    generator.ask('listen', { set, port: to, query: '', subscribers: [], silent: sockets });

  const barePort = await yardsticks.ask('broadcast', undefined);
  await yardsticks.ask('deliver', { texts: samples });
  await listen('plain ws', barePort);
  const sides: Side[] = [
    {
      name: 'service',
      burst: (events, inFlight) => burstAt(port, take(events), inFlight),
      cpu: async () => stage.cpu(),
    },
    {
      name: 'plain ws',
      burst: (events, inFlight) => burstAt(barePort, bareTriggers(barePort, events), inFlight),
      cpu: () => yardsticks.ask('cpu', undefined),
    },
  ];
  // Nchan can only send one message to all sockets, so it is left out if kinds of readers receive different messages.
  const nchan = kinds.length === 1 && hasNchan() ? await Nchan.start(sockets) : undefined;
  if (nchan !== undefined) {
    await listen('Nchan', nchan.port);
    sides.push({
      name: `Nchan ${Nchan.version}`,
      burst: (events, inFlight) => burstAt(nchan.port, nchan.publish(sample, events), inFlight),
      cpu: async () => nchan.cpu(),
    });
  } else if (kinds.length === 1) console.log(`Nchan skipped: it is not installed. Install: ${HOW_TO_INSTALL_NCHAN}`);
  return {
    sides,
    sample,
    async [Symbol.asyncDispose]() {
      for (const set of ['service', 'plain ws', 'Nchan']) await generator.ask('close', { set });
      await nchan?.[Symbol.asyncDispose]();
    },
  };
}

/** Returns the messages that the service sends for one event, one for a reader of each kind, in the order of the kinds. */
async function samplesOf(
  stage: Stage,
  kinds: Audience['kinds'],
  take: (count: number) => Buffer[],
): Promise<readonly string[]> {
  const { generator, port } = stage;
  const readers = kinds.map(({ users }) => users[0] as BenchUser);
  const queues = await makeQueues({ ...stage, users: readers }, kinds.length);
  const samples: string[] = [];
  for (const [i, { query }] of kinds.entries()) {
    await generator.ask('listen', { set: 'sample', port, query, subscribers: [queues[i] as BenchQueue] });
    const burst: Burst = await generator.ask('burst', { port, triggers: take(1), inFlight: 1, expected: 1 });
    await generator.ask('close', { set: 'sample' });
    samples.push(burst.sample);
  }
  return samples;
}

/**
 * Creates a channel and subscribes all readers to it.
 *
 * @returns A function that makes `count` requests to send a message to the channel.
 */
export async function makeSends(stage: Stage, readers: readonly BenchUser[]): Promise<(count: number) => Buffer[]> {
  const ground = await makeChannel(stage, `Bench ${randomUUID().slice(0, 8)}`);
  await subscribe(
    stage,
    ground,
    readers.map(({ id }) => id),
  );
  const request = sendRequest(stage.port, stage.owner.basic, { channelId: ground.channelId, topic: 'bench' });
  return (count) => Array.from({ length: count }, () => request);
}

async function measureSides(sides: readonly Side[], { warmUp, rounds, alone }: Extent): Promise<Measured[]> {
  const measured = sides.map(({ name }) => ({ name, rounds: [] as Round[] }));
  for (let i = 0; i < warmUp + rounds; i++) {
    for (const [at, side] of sides.entries()) {
      const round = await runRound(side, alone);
      if (i >= warmUp) measured[at]?.rounds.push(round);
    }
  }
  return measured;
}

async function runRound({ burst, cpu }: Side, count: number): Promise<Round> {
  const alone: Burst[] = [];
  while (alone.length < count) alone.push(await burst(1, 1));
  const before = await cpu();
  const train = await burst(TRAIN, IN_FLIGHT);
  const serverCpu = (await cpu()) - before;
  return {
    perSecond: median(alone.map(betweenRate)),
    wholePerSecond: median(alone.map(({ deliveries, wholeMs }) => (deliveries / wholeMs) * 1000)),
    trainPerSecond: betweenRate(train),
    generatorShare: train.cpuSeconds / (train.wholeMs / 1000),
    serverShare: serverCpu / (train.wholeMs / 1000),
    microseconds: (serverCpu / train.deliveries) * 1e6,
    bytes: train.bytes / train.deliveries,
  };
}

const betweenRate = ({ deliveries, betweenMs }: Burst) => ((deliveries - 1) / betweenMs) * 1000;

interface Subject {
  readonly id: string;
  readonly what: string;
  readonly sample: string;
  readonly alone: number;
}

function rowsOf(subject: Subject, [service, ...others]: Measured[], marks: Marks): Row[] {
  return others.flatMap((other, i) => rowsAgainst(subject, service as Measured, other, i === 0 ? marks : undefined));
}

/**
 * Returns the rows of the report that compare the service with another server. @param marks Lowest accepted ratios to that
 * server. Undefined: the comparison is for information only.
 */
function rowsAgainst(subject: Subject, service: Measured, other: Measured, marks: Marks | undefined): Row[] {
  const { id, what, sample, alone } = subject;
  const of = (side: Measured, name: keyof Round) => side.rounds.map((round) => round[name]);
  const percent = (shares: number[]) => `${Math.round(median(shares) * 100)} %`;
  const shares = (side: Measured) =>
    `server ${percent(of(side, 'serverShare'))} (${median(of(side, 'microseconds')).toFixed(1)} µs per delivery), ` +
    `generator ${percent(of(side, 'generatorShare'))}`;
  const [own, others] = [of(service, 'bytes'), of(other, 'bytes')];
  const equal = own.every((bytes, i) => bytes === others[i]);
  const rowOf = (name: keyof Round, said: string, facts: Row['facts'], mark?: number): Row => ({
    ...{ id, what: marks === undefined ? `${said}, against ${other.name}` : said, unit: '/s', facts },
    ...{ service: of(service, name), yardstick: of(other, name), unequal: equal ? undefined : 'unequal bytes' },
    ...(mark !== undefined && { mark }),
  });
  const first = {
    delivery: sample,
    bytes: `service ${own[0]} per delivery, ${other.name} ${others[0]}`,
    measured: `from the first delivery to the last; each round is the median of ${alone} events sent one at a time`,
  };
  const train = {
    measured: `${TRAIN} events, ${IN_FLIGHT} in flight; for the service, each is a sent message with its commit`,
    'CPU of one core, service': shares(service),
    [`CPU of one core, ${other.name}`]: shares(other),
  };
  return [
    rowOf('perSecond', `${what}, deliveries`, first, marks?.alone),
    ...(marks === undefined
      ? []
      : [rowOf('wholePerSecond', 'the same, from the request that caused it (commit included)', {})]),
    rowOf('trainPerSecond', 'the same, a burst of events', train, marks?.train),
  ];
}
