import { randomUUID } from 'node:crypto';
import type { Burst } from './generator.ts';
import { median } from './measure.ts';
import type { Row } from './report.ts';
import { makeChannel, sendRequest, subscribe } from './sends.ts';
import { type BenchUser, bareTriggers, makeQueues, type Stage } from './stage.ts';

const SUBSCRIBERS = 1_000;
/** Events of a round that are sent one by one. */
const ALONE = 15;
const TRAIN = 40;
/** Events on their way at a time in a train, as in an organisation where much happens. */
const IN_FLIGHT = 4;

/** What the list of messages of a chat shows of each. */
export const USUAL = `id content renderedContent topicName topic { id name } sentAt lastEditedAt viewerHasRead
      viewerHasStarred reactionGroups { emojiName emojiCode count viewerHasReacted } channel { id name }
      sender { id fullName avatarUrl }`;

const QUERY = `subscription Bench($queueId: String!) {
  events(queueId: $queueId) {
    position
    __typename
    ... on MessageSentEvent { localMessageId message { ${USUAL} } }
  }
}`;

/** One side's rounds. */
interface Side {
  readonly burst: (events: number, inFlight: number) => Promise<Burst>;
  readonly cpu: () => Promise<number>;
}

interface Round {
  /** Of one event at a time, the middle of some: from the first delivery to the last. */
  readonly perSecond: number;
  /** The same from the request that caused the event. */
  readonly wholePerSecond: number;
  /** Of a train of events, from the first delivery to the last. */
  readonly trainPerSecond: number;
  readonly generatorShare: number;
  readonly serverShare: number;
  /** CPU time the server took for each delivery of the train. */
  readonly microseconds: number;
  readonly bytes: number;
}

/** (a) One event to 1,000 WebSocket subscriptions, against a plain broadcast. */
export async function measureFanOut(stage: Stage): Promise<Row[]> {
  const { generator, yardsticks, port, quick } = stage;
  const subscribers = await makeQueues(stage, SUBSCRIBERS);
  const take = await makeSends(stage, stage.users);
  await generator.ask('listen', { set: 'service', port, query: QUERY, subscribers });
  const barePort = await yardsticks.ask('broadcast', undefined);
  const silent = { set: 'yardstick', port: barePort, query: QUERY, subscribers: [], silent: SUBSCRIBERS };
  await generator.ask('listen', silent);

  const burst = (to: number, sent: Buffer[], inFlight: number) =>
    generator.ask('burst', { port: to, triggers: sent, inFlight, expected: sent.length * SUBSCRIBERS });
  const service: Side = {
    burst: (events, inFlight) => burst(port, take(events), inFlight),
    cpu: async () => stage.cpu(),
  };
  const yardstick: Side = {
    burst: (events, inFlight) => burst(barePort, bareTriggers(barePort, events), inFlight),
    cpu: () => yardsticks.ask('cpu', undefined),
  };
  const { sample } = await service.burst(1, 1);
  await yardsticks.ask('deliver', { text: sample });

  const rounds = { service: [] as Round[], yardstick: [] as Round[] };
  const [warmUp, measured] = quick ? [1, 4] : [2, 9];
  for (let i = 0; i < warmUp + measured; i++) {
    const round = { yardstick: await runRound(yardstick), service: await runRound(service) };
    if (i < warmUp) continue;
    rounds.service.push(round.service);
    rounds.yardstick.push(round.yardstick);
  }
  await generator.ask('close', { set: 'service' });
  await generator.ask('close', { set: 'yardstick' });
  return rowsOf(rounds, sample);
}

/** Makes a channel of all these people, and gives requests that each send a message to it. */
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

async function runRound({ burst, cpu }: Side): Promise<Round> {
  const alone: Burst[] = [];
  while (alone.length < ALONE) alone.push(await burst(1, 1));
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

function rowsOf(rounds: { service: Round[]; yardstick: Round[] }, sample: string): Row[] {
  const of = (name: keyof Round) => ({
    service: rounds.service.map((round) => round[name]),
    yardstick: rounds.yardstick.map((round) => round[name]),
  });
  const percent = (shares: number[]) => `${Math.round(median(shares) * 100)} %`;
  const shares = (side: Round[]) =>
    `server ${percent(side.map((r) => r.serverShare))} (${median(side.map((r) => r.microseconds)).toFixed(1)} µs a ` +
    `delivery), generator ${percent(side.map((r) => r.generatorShare))}`;
  const bytes = of('bytes');
  const equal = bytes.service.every((value, i) => value === bytes.yardstick[i]);
  const unequal = equal ? undefined : 'unequal bytes';
  const facts = {
    delivery: sample,
    bytes: `service ${bytes.service[0]} a delivery, yardstick ${bytes.yardstick[0]}`,
    measured: `from the first delivery to the last; each round is the middle of ${ALONE} events, one after another`,
  };
  const train = {
    measured: `${TRAIN} events, ${IN_FLIGHT} on their way at a time; each of the service's is a message sent, and a commit`,
    'CPU of one core, service': shares(rounds.service),
    'CPU of one core, yardstick': shares(rounds.yardstick),
  };
  const what = `one event to ${SUBSCRIBERS} WebSocket subscriptions`;
  return [
    { id: 'a', what: `${what}, deliveries`, unit: '/s', mark: 0.8, unequal, facts, ...of('perSecond') },
    {
      id: 'a',
      what: 'the same from the request that caused it (commit included)',
      unit: '/s',
      facts: {},
      ...of('wholePerSecond'),
    },
    { id: 'a', what: 'the same, a train of events', unit: '/s', facts: train, ...of('trainPerSecond') },
  ];
}
