import { setTimeout as sleep } from 'node:timers/promises';
import { percentile, residentBytesOf } from './measure.ts';
import type { Row } from './report.ts';
import { makeChannel, sendRequest, subscribe } from './sends.ts';
import { FolderTriggers, makeQueues, type Stage } from './stage.ts';

const QUERY = 'subscription Idle($queueId: String!) { events(queueId: $queueId) { position type } }';
const SUBSCRIPTIONS = 5_000;
const BYSTANDERS = 1_000;
/** Pause before memory is measured, in milliseconds. In this time, the garbage collector finishes. */
const SETTLING_MS = 4_000;

/** Measures the memory that 5,000 idle subscriptions use, on a service that has done nothing else. Rows "d" of the report. */
export async function measureMemory(stage: Stage): Promise<Row[]> {
  const { generator, port, service, quick } = stage;
  const count = quick ? 1_000 : SUBSCRIPTIONS;
  const subscribers = await makeQueues(stage, count);
  await sleep(SETTLING_MS);
  const before = residentBytesOf(service.server.pid ?? 0);
  const startedAt = performance.now();
  await generator.ask('listen', { set: 'idle', port, query: QUERY, subscribers });
  // One event is delivered to all subscriptions, to check that each of them works.
  const triggers = await FolderTriggers.make(stage);
  await generator.ask('burst', { port, triggers: triggers.take(1), inFlight: 1, expected: 2 * count });
  const seconds = (performance.now() - startedAt) / 1000;
  await sleep(SETTLING_MS);
  const after = residentBytesOf(service.server.pid ?? 0);
  await generator.ask('close', { set: 'idle' });
  const plain = await plainSockets(stage, count);
  const mebibytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
  return [
    {
      id: 'd',
      what: `memory of ${count} idle subscriptions, each with its own socket and queue`,
      unit: 'KiB each',
      service: [(after - before) / count / 1024],
      facts: {
        'resident set': `${mebibytes(before)} before, ${mebibytes(after)} after, without forced garbage collection`,
        'plain ws sockets, for comparison': `${plain.toFixed(1)} KiB each`,
        'time to open and subscribe all': `${seconds.toFixed(1)} s`,
      },
    },
  ];
}

/** Returns the memory per socket, in bytes, of a process that holds `count` sockets which receive and send nothing. */
async function plainSockets({ generator, yardsticks }: Stage, count: number): Promise<number> {
  const port = await yardsticks.ask('broadcast', undefined);
  const before = await yardsticks.ask('residentBytes', undefined);
  await generator.ask('listen', { set: 'plain', port, query: '', subscribers: [], silent: count });
  await sleep(SETTLING_MS);
  const after = await yardsticks.ask('residentBytes', undefined);
  await generator.ask('close', { set: 'plain' });
  return (after - before) / count / 1024;
}

/**
 * Measures the time from a send request to the delivery of its event on a subscription, beside 1,000 idle subscriptions. Rows
 * "e" of the report.
 */
export async function measureLatency(stage: Stage): Promise<Row[]> {
  const { generator, port, users, quick } = stage;
  const [listener, ...bystanders] = users;
  if (listener === undefined) return [];
  const idle = await makeQueues({ ...stage, users: bystanders }, BYSTANDERS);
  const [queue] = await makeQueues({ ...stage, users: [listener] }, 1);
  await generator.ask('listen', { set: 'latency', port, query: QUERY, subscribers: queue ? [...idle, queue] : idle });
  await sleep(500);
  const ground = await makeChannel(stage, 'Bench latency');
  await subscribe(stage, ground, [listener.id]);
  const trigger = sendRequest(port, listener.basic, { channelId: ground.channelId, topic: 'latency' });
  const times = (count: number) =>
    generator.ask('delays', { port, triggers: Array.from({ length: count }, () => trigger), pauseMs: 5 });
  await times(50);
  const delays = await times(quick ? 100 : 400);
  await generator.ask('close', { set: 'latency' });
  const facts = {
    'measured from': 'the send request: includes authentication, checks, rendering and commit',
  };
  return [
    {
      id: 'e',
      what: `send request to frame, with ${BYSTANDERS} idle subscriptions, p50`,
      unit: 'ms',
      service: [percentile(delays, 50)],
      facts,
    },
    {
      id: 'e',
      what: `send request to frame, with ${BYSTANDERS} idle subscriptions, p99`,
      unit: 'ms',
      service: [percentile(delays, 99)],
      facts: {},
    },
  ];
}
