import { setTimeout as sleep } from 'node:timers/promises';
import type { Burst } from './generator.ts';
import { median } from './measure.ts';
import { requestBytes } from './raw-http.ts';
import type { Row } from './report.ts';
import { type BenchQueue, bareTriggers, FolderTriggers, makeQueues, type Stage } from './stage.ts';

const POLLS = 1_000;

interface Wake extends Burst {
  /** CPU time that the server used, in seconds. */
  readonly serverSeconds: number;
}

const QUERY = 'subscription Sign($queueId: String!) { events(queueId: $queueId) { position } }';

/**
 * Measures 1,000 long polls that are answered after one event. The yardstick is a bare node:http server that answers 1,000
 * waiting requests. Rows "b" of the report.
 *
 * The time starts with the first bytes that a server sends for the event. The service first notifies a WebSocket of the same
 * user, and the bare server first answers the request that triggers the event. If the time started with the first answered
 * poll, it would not include the work done before for all polls.
 */
export async function measureLongPolls(stage: Stage): Promise<Row[]> {
  const { generator, quick } = stage;
  const [byService, byHand] = [await serviceSide(stage), await yardstickSide(stage)];
  await byService();
  const { sample } = await byService();
  await stage.yardsticks.ask('deliver', { texts: [sample] });
  const wakes = { service: [] as Wake[], yardstick: [] as Wake[] };
  const [warmUp, measured] = quick ? [2, 5] : [5, 21];
  for (let i = 0; i < warmUp + measured; i++) {
    const round = { yardstick: await byHand(), service: await byService() };
    if (i < warmUp) continue;
    wakes.service.push(round.service);
    wakes.yardstick.push(round.yardstick);
  }
  for (const set of ['sign', 'service', 'yardstick']) await generator.ask('close', { set });
  return rowsOf(wakes);
}

type Side = () => Promise<Wake>;

async function serviceSide(stage: Stage): Promise<Side> {
  const { generator, port } = stage;
  const [watcher, ...queues] = await makeQueues(stage, POLLS + 1);
  await generator.ask('watch', { set: 'sign', port, query: QUERY, subscriber: watcher as BenchQueue });
  await settled(stage);
  await generator.ask('connect', { set: 'service', port, count: POLLS });
  const triggers = await FolderTriggers.make(stage);
  let lastEventId = -1;
  return async () => {
    const requests = queues.map((queue) => pollBytes(port, queue, lastEventId));
    await generator.ask('poll', { set: 'service', requests });
    // In the first round, the queues already contain the event about the new folder, so the polls are answered at once. In
    // later rounds, all polls must wait.
    if (lastEventId !== -1) await settled(stage);
    const before = stage.cpu();
    const burst = await generator.ask('burst', {
      ...{ port, triggers: lastEventId === -1 ? [] : triggers.take(1) },
      ...{ inFlight: 1, expected: POLLS },
    });
    lastEventId = (JSON.parse(burst.sample) as { events: { id: number }[] }).events.at(-1)?.id ?? -1;
    return { ...burst, serverSeconds: stage.cpu() - before };
  };
}

async function yardstickSide({ generator, yardsticks }: Stage): Promise<Side> {
  const port = await yardsticks.ask('longPolls', undefined);
  await generator.ask('connect', { set: 'yardstick', port, count: POLLS });
  const requests = Array.from({ length: POLLS }, () => requestBytes({ method: 'GET', path: '/', port }));
  return async () => {
    await generator.ask('poll', { set: 'yardstick', requests });
    await sleep(100);
    const before = await yardsticks.ask('cpu', undefined);
    const burst = await generator.ask('burst', {
      ...{ port, triggers: bareTriggers(port, 1), inFlight: 1 },
      ...{ expected: POLLS, answeredFirst: true },
    });
    return { ...burst, serverSeconds: (await yardsticks.ask('cpu', undefined)) - before };
  };
}

function pollBytes(port: number, { authorization, queueId }: BenchQueue, lastEventId: number): Buffer {
  const path = `/api/v1/events?queue_id=${queueId}&last_event_id=${lastEventId}`;
  return requestBytes({ method: 'GET', path, port, headers: { Authorization: authorization } });
}

/** Waits until the service uses almost no CPU time. All polls of the clients are then waiting for an event. */
async function settled(stage: Stage): Promise<void> {
  for (let idle = 0; idle < 3; ) {
    const before = stage.cpu();
    await sleep(100);
    const busy = stage.cpu() - before;
    idle = busy < 0.01 || Number.isNaN(busy) ? idle + 1 : 0;
  }
}

function rowsOf({ service, yardstick }: { service: Wake[]; yardstick: Wake[] }): Row[] {
  const rates = (name: 'sinceSignMs' | 'wholeMs') => {
    const rate = (wakes: Wake[]) => wakes.map((wake) => (POLLS / wake[name]) * 1000);
    return { unit: '/s', service: rate(service), yardstick: rate(yardstick) };
  };
  const size = (wakes: Wake[]) => [...new Set(wakes.map(({ bytes, deliveries }) => bytes / deliveries))].join(', ');
  const share = (wakes: Wake[]) =>
    `${Math.round(median(wakes.map(({ cpuSeconds, wholeMs }) => cpuSeconds / (wholeMs / 1000))) * 100)} %`;
  const each = (wakes: Wake[]) => `${((median(wakes.map((wake) => wake.serverSeconds)) / POLLS) * 1e6).toFixed(1)} µs`;
  const both = (say: (wakes: Wake[]) => string) => `service ${say(service)}, yardstick ${say(yardstick)}`;
  const times = (name: 'sinceSignMs' | 'wholeMs') =>
    both((wakes) => `${median(wakes.map((wake) => wake[name])).toFixed(1)} ms`);
  const facts = {
    answer: service[0]?.sample ?? '',
    'bytes of each body': both(size),
    'median time': times('sinceSignMs'),
    'server CPU per answer': `${both(each)}; for the service, this includes a share of the change itself`,
    'generator CPU, share of one core': both(share),
  };
  const unequal = size(service) === size(yardstick) ? undefined : 'unequal bytes';
  const what = `one event, ${POLLS} long polls, answers`;
  return [
    { id: 'b', what, mark: 0.5, unequal, facts, ...rates('sinceSignMs') },
    {
      ...{ id: 'b', what: 'the same, from the request that caused it (commit included)' },
      ...{ facts: { 'median time': times('wholeMs') }, ...rates('wholeMs') },
    },
  ];
}
