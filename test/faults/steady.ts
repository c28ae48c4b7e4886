import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ServerProcess } from '../helpers/process.ts';
import { type Person, personOf, startDemo } from './demo.ts';
import { eventually, type Listener, listen } from './listeners.ts';
import { type Outcome, some } from './outcome.ts';
import { Client } from './requests.ts';

/** Number of clients that write at each node. There are several, so that one slow answer delays only a part of the writes. */
const CLIENTS_OF_NODE = 12;
/** Number of messages of its own that each client edits in turn. */
const OWN_MESSAGES = 5;
/**
 * Number of ids by which the event log is rolled back at the end. `NOTICE_MS` is the longest accepted time until the nodes
 * detect it.
 */
const BACK = 100;
const NOTICE_MS = 10_000;

const WARM_UP_MS = 5_000;
const WARM_UP_PACE_MS = 200;

/** Text that a node's log message contains if the node reports that its event log was restored. */
const WENT_BACK = 'event log epoch';

/** A client that sends and edits messages at a steady pace, and collects failures. */
class SteadyWriter {
  readonly #client: Client;
  readonly #channelId: number;
  readonly #messages: number[] = [];
  readonly failures: string[] = [];
  done = 0;

  constructor(client: Client, channelId: number) {
    this.#client = client;
    this.#channelId = channelId;
  }

  async run(everyMs: number, untilMs: number): Promise<void> {
    for (let next = performance.now(); next < untilMs; next += everyMs) {
      await sleep(Math.max(0, next - performance.now()));
      // After a delay, the writer does not send the omitted changes later, so the rate never exceeds the pace.
      next = Math.max(next, performance.now() - everyMs);
      await this.#change().catch((error: unknown) => this.failures.push(String(error)));
    }
  }

  close(): void {
    this.#client.close();
  }

  async #change(): Promise<void> {
    const turn = this.done + this.failures.length;
    const edited = this.#messages[turn % OWN_MESSAGES];
    const sent = edited === undefined || turn % 2 === 0;
    const content = `change ${turn}`;
    const { status, body } = sent
      ? await this.#client.rest('POST', '/messages', { type: 'channel', to: this.#channelId, topic: 'steady', content })
      : await this.#client.rest('PATCH', `/messages/${edited}`, { content });
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    if (sent)
      this.#messages[this.#messages.length < OWN_MESSAGES ? this.#messages.length : turn % OWN_MESSAGES] = body.id;
    this.done++;
  }
}

async function writersAt(url: string, people: readonly Person[]): Promise<SteadyWriter[]> {
  const [first] = people;
  if (first === undefined) throw new Error('There is no writer');
  const { subscriptions } = await new Client(url, first).ask('GET', '/users/me/subscriptions');
  return Array.from(
    { length: CLIENTS_OF_NODE },
    (_, i) => new SteadyWriter(new Client(url, people[i % people.length] as Person), subscriptions[0].stream_id),
  );
}

/** Starts listeners at a node, for each user one over each transport. */
async function listenersAt(url: string, people: readonly Person[]): Promise<Listener[]> {
  const listeners: Listener[] = [];
  for (const person of people) {
    const client = new Client(url, person);
    for (const transport of ['WebSocket', 'SSE', 'long poll'] as const) {
      listeners.push(listen(transport, url, person, await client.register()));
    }
    client.close();
  }
  return listeners;
}

/** Rolls the event log back by `BACK` ids, as if the database had been restored to an earlier state. */
async function putLogBack(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    BEGIN;
    UPDATE event_counter SET last_id = last_id - ${BACK} WHERE last_id > ${BACK};
    DELETE FROM event e USING event_counter c WHERE e.realm_id = c.realm_id AND e.id > c.last_id;
    COMMIT`);
  await client.end();
}

/**
 * Lets two nodes commit many sends and edits a second. No stream may be closed, and no node may report that the event log was
 * restored. Then rolls the log back, which each node must report.
 */
export async function steadyTrial({
  databaseServer,
  perSecond,
  seconds,
}: {
  databaseServer: string;
  perSecond: number;
  seconds: number;
}): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  await using other = await ServerProcess.start({ env: service.env });
  const nodes = [service.server, other];
  const writing = ['owner', 'administrator', 'moderator'].map((role) => personOf(service.people, role));
  const hearing = ['owner', 'member'].map((role) => personOf(service.people, role));
  const listeners = (await Promise.all(nodes.map(({ url }) => listenersAt(url, hearing)))).flat();
  const streams = listeners.filter(({ name }) => !name.startsWith('long poll'));
  const writers = (await Promise.all(nodes.map(({ url }) => writersAt(url, writing)))).flat();
  await eventually(() => streams.every(({ received }) => received.connections === 1), 5_000);

  // Warms up the JIT compiler.
  await Promise.all(writers.map((writer) => writer.run(WARM_UP_PACE_MS, performance.now() + WARM_UP_MS)));
  for (const writer of writers) writer.done = 0;

  const startedAt = performance.now();
  const everyMs = (1_000 * writers.length) / perSecond;
  await Promise.all(writers.map((writer) => writer.run(everyMs, startedAt + seconds * 1_000)));
  for (const writer of writers) writer.close();
  const took = (performance.now() - startedAt) / 1_000;
  await sleep(1_500);

  const alarms = () => nodes.map((node) => node.log().split(WENT_BACK).length - 1);
  const failures = writers.flatMap((writer) => writer.failures);
  const falseAlarms = alarms().reduce((a, b) => a + b, 0);
  const closed = streams.filter(({ received }) => received.connections !== 1);
  const violations = [
    ...(falseAlarms > 0 ? [`"${WENT_BACK}" was logged ${falseAlarms} times without a restore`] : []),
    ...closed.map(({ name, received }) => `${name} needed ${received.connections} connections`),
    ...listeners.flatMap(({ name, received }) => received.violations.lines.map((what) => `${name}: ${what}`)),
    ...(failures.length > 0 ? [`changes that failed: ${some(failures)}`] : []),
  ];

  await putLogBack(service.databaseUrl ?? '');
  const isNoticed = await eventually(() => alarms().every((count) => count > 0), NOTICE_MS);
  if (!isNoticed) violations.push(`the log was rolled back, and the nodes reported it ${alarms().join(' and ')} times`);
  await Promise.all(listeners.map((listener) => listener.stop()));
  const changes = writers.reduce((sum, { done }) => sum + done, 0);
  return {
    trial: 'steady sends and edits on two nodes',
    facts: {
      changes,
      'changes per second': Math.round(changes / took),
      streams: streams.length,
      'events heard': listeners.reduce((sum, { received }) => sum + received.ids.size, 0),
      'false alarms': falseAlarms,
    },
    violations,
  };
}
