import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ServerProcess } from '../helpers/process.ts';
import { type Person, personOf, startDemo } from './demo.ts';
import { eventually, type Listener, listen } from './listeners.ts';
import { type Outcome, some } from './outcome.ts';
import { Client } from './requests.ts';

/** Enough that one slow answer does not hold up the others. */
const CLIENTS_OF_NODE = 12;
/** How many messages each client edits in turn. */
const OWN_MESSAGES = 5;
/** How far the log is put back in the end, and how long that may go unnoticed. */
const BACK = 100;
const NOTICE_MS = 10_000;

const WARM_UP_MS = 5_000;
const WARM_UP_PACE_MS = 200;

/** How each node begins to say that the log is another. */
const WENT_BACK = 'a new epoch of the event log';

/** Sends and edits messages at a steady pace, and says what was not done. */
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
      // Behind its pace it does not make up for what it missed: the pace is the most there is.
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
  if (first === undefined) throw new Error('Somebody must write');
  const { subscriptions } = await new Client(url, first).ask('GET', '/users/me/subscriptions');
  return Array.from(
    { length: CLIENTS_OF_NODE },
    (_, i) => new SteadyWriter(new Client(url, people[i % people.length] as Person), subscriptions[0].stream_id),
  );
}

/** Streams and polls of everybody at a node. */
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

/** Puts the log back by `BACK` ids, as a database that was restored to an earlier state has it. */
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
 * Two nodes that both commit, sends and edits, many a second: no stream is closed, and no node believes that the log went
 * back. Then the log does go back, and each node notices.
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
  await eventually(() => streams.every(({ heard }) => heard.connections === 1), 5_000);

  // What has not run yet is slow the first times.
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
  const closed = streams.filter(({ heard }) => heard.connections !== 1);
  const violations = [
    ...(falseAlarms > 0 ? [`"${WENT_BACK}" was said ${falseAlarms} times, and it had not`] : []),
    ...closed.map(({ name, heard }) => `${name} took ${heard.connections} connections`),
    ...listeners.flatMap(({ name, heard }) => heard.violations.lines.map((what) => `${name}: ${what}`)),
    ...(failures.length > 0 ? [`changes that failed: ${some(failures)}`] : []),
  ];

  await putLogBack(service.databaseUrl ?? '');
  const isNoticed = await eventually(() => alarms().every((count) => count > 0), NOTICE_MS);
  if (!isNoticed) violations.push(`the log was put back, and the nodes noticed ${alarms().join(' and ')} times`);
  await Promise.all(listeners.map((listener) => listener.stop()));
  const changes = writers.reduce((sum, { done }) => sum + done, 0);
  return {
    trial: 'steady sends and edits on two nodes',
    facts: {
      changes,
      'changes a second': Math.round(changes / took),
      streams: streams.length,
      'events heard': listeners.reduce((sum, { heard }) => sum + heard.ids.size, 0),
      'false alarms': falseAlarms,
    },
    violations,
  };
}
