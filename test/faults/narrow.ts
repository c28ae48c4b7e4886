import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { lengthenLog } from '../helpers/long-log.ts';
import { compareWithDue } from './commits.ts';
import { makeNeighbour, makeOrganization, type OtherOrganization, type Person, startDemo } from './demo.ts';
import { addUp, type Broken, disorderedEventsOf, gapOf } from './felt.ts';
import { eventually, type Listener, listen, reconnectedOf, TRANSPORTS, type Transport } from './listeners.ts';
import {
  brokenBy,
  compareSent,
  faredIn,
  MOST_MS,
  ms,
  Neighbours,
  neighbourFigures,
  SequentialSender,
  type WatchedTrial,
} from './neighbours.ts';
import { type Outcome, some, without } from './outcome.ts';
import { Client, type QueueStart } from './requests.ts';
import { openDatabase, withDatabase } from './truth.ts';

/**
 * Kinds of selective queues, which match only some events. Each has registration options, and the SQL condition for the events
 * that match.
 */
const KINDS = {
  'a narrow': {
    options: { event_types: ['message'], narrow: [['topic', 'wanted']] },
    due: `type = 'message' AND payload->>'topic' = 'wanted'`,
  },
  'event types': { options: { event_types: ['user_status'] }, due: `type = 'user_status'` },
} as const;
type Kind = keyof typeof KINDS;
const ALL_KINDS = Object.keys(KINDS) as Kind[];

/** Number of users who read queues of each kind. Each user has one queue for each transport. */
const READERS_OF_KIND = 2;
/**
 * Length of the pattern of inserted events, which repeats. In each repetition, only events near the positions in `EDGES` and at
 * the end match a queue.
 */
const EVERY = 10_000;
/**
 * Positions in the pattern near which events match. A batched read of the log can end there, because it returns at most 1,000
 * rows and covers at most 4,000 ids.
 */
const EDGES = [1_000, 4_000];
/** Offsets from a position in `EDGES`. The events at these offsets match the kinds of queues in turn. */
const SIDES = [-2, -1, 0, 1];
/** Number of messages in a page that a client reads. */
const MESSAGES = 50;
const PATIENCE_MS = 180_000;
/** Pause between two actions in the organization while its queues catch up, in milliseconds. */
const PAUSE_MS = 300;

/** A queue with a backlog of unread events, and the user and transport that read it. */
interface Late {
  readonly kind: Kind;
  readonly person: Person;
  readonly transport: Transport;
  readonly queue: QueueStart;
}

/** A client that acts in the organization and so causes events of every kind. */
class Doer {
  readonly #client: Client;
  #done = 0;

  constructor(url: string, person: Person) {
    this.#client = new Client(url, person);
  }

  async act(): Promise<void> {
    await this.#client.ask('POST', '/users/me/status', { status_text: `at ${++this.#done}` });
    const { stream_id } = await this.#client.ask('GET', '/get_stream_id', { stream: 'stuck' });
    const message = { type: 'channel', to: stream_id, topic: 'wanted', content: `wanted ${this.#done}` };
    await this.#client.ask('POST', '/messages', message);
  }

  close(): void {
    this.#client.close();
  }
}

/** Returns the ids of the events after a position that a queue of this kind must receive, in ascending order. */
async function dueAfter(db: pg.Client, organizationId: number, { kind, after }: { kind: Kind; after: number }) {
  const { rows } = await db.query<{ id: number }>(
    `SELECT id::float8 AS id FROM event WHERE realm_id = $1 AND id > $2 AND ${KINDS[kind].due} ORDER BY id`,
    [organizationId, after],
  );
  return rows.map(({ id }) => id);
}

/**
 * Returns the positions, from 0 to below `EVERY`, of the events in the pattern that match a kind of queue. @param kind Index in
 * `ALL_KINDS`.
 */
function placesOf(kind: number): number[] {
  const kinds = ALL_KINDS.length;
  const around = EDGES.flatMap((edge) => SIDES.filter((_, i) => i % kinds === kind).map((side) => edge + side));
  return [...around, EVERY - 1 - kind];
}

/**
 * Registers queues of all kinds over all transports. Then adds very many events to the log, most of which the queues do not
 * match.
 */
async function fallBehind(
  url: string,
  db: pg.Client,
  { organizationId, owner, members }: OtherOrganization,
  backlog: number,
): Promise<Late[]> {
  const sender = await SequentialSender.start(url, owner);
  for (const person of members) {
    const client = new Client(url, person);
    await client.ask('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'stuck' }] });
    client.close();
  }
  const doer = new Doer(url, owner);
  await doer.act();
  for (let i = 0; i < MESSAGES; i++) await sender.send();
  for (const one of [sender, doer]) one.close();
  const idOf = async (due: string) => {
    const { rows } = await db.query<{ id: number }>(
      `SELECT max(id)::float8 AS id FROM event WHERE realm_id = $1 AND ${due}`,
      [organizationId],
    );
    return rows[0]?.id ?? 0;
  };
  const unwanted = await idOf(`type = 'message' AND payload->>'topic' = 'stuck'`);
  const copied = Array.from({ length: EVERY }, () => unwanted);
  for (const [i, kind] of ALL_KINDS.entries()) {
    const wanted = await idOf(KINDS[kind].due);
    for (const place of placesOf(i)) copied[place] = wanted;
  }
  const late: Late[] = [];
  for (const [i, person] of members.entries()) {
    const kind = ALL_KINDS[i % ALL_KINDS.length] as Kind;
    const client = new Client(url, person);
    for (const transport of TRANSPORTS)
      late.push({ kind, person, transport, queue: await client.register(KINDS[kind].options) });
    client.close();
  }
  await lengthenLog((sql, values) => db.query(sql, [...values]), organizationId, { count: backlog, of: copied });
  await db.query('VACUUM ANALYZE event');
  return late;
}

/**
 * Reads pages of messages for `seconds` seconds. Each queue in `late` has one client, which signs in as the owner of the queue.
 */
async function readPages(url: string, late: readonly Late[], seconds: number): Promise<void> {
  const endsAt = performance.now() + seconds * 1_000;
  await Promise.all(
    late.map(async ({ person }) => {
      const client = new Client(url, person);
      while (performance.now() < endsAt)
        await client.ask('GET', '/messages', { anchor: 'newest', num_before: MESSAGES, num_after: 0 });
      client.close();
    }),
  );
}

/** Compares the events that the listeners received with the events that each queue matches. */
async function compareAll(db: pg.Client, organizationId: number, heard: readonly { late: Late; listener: Listener }[]) {
  const violations: string[] = [];
  const broken: Broken[] = [];
  for (const { late, listener } of heard) {
    const due = await dueAfter(db, organizationId, { kind: late.kind, after: late.queue.startId });
    const found = await compareWithDue(listener, due);
    violations.push(...found.map((what) => `${late.kind}: ${what}`));
    const lost = without(due, listener.received.ids).length;
    broken.push({ lost, repeated: 0, outOfOrder: disorderedEventsOf([listener]), refusedButDone: 0 });
  }
  return { violations, broken: addUp(broken) };
}

/**
 * Reconnects selective queues at the same time, after very many events that they do not match. Each queue must receive its
 * matching events once, in order and soon. Another organization at the node must not be affected.
 *
 * @param backlog Number of unread events.
 */
export async function narrowTrial({
  databaseServer,
  seconds,
  backlog,
  isTimed,
}: WatchedTrial & { readonly backlog: number }): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const { server } = service;
  const { url } = server;
  const organization = await makeOrganization(server, ALL_KINDS.length * READERS_OF_KIND);
  const { organizationId, owner } = organization;
  const neighbour = await makeNeighbour(server);
  const db = await openDatabase(service);
  const late = await fallBehind(url, db, organization, backlog);
  // After the restart, the node has no event of the log in memory.
  await server.restart();
  const neighbours = await Neighbours.start(url, neighbour);
  const [sender, doer] = [await SequentialSender.start(url, owner), new Doer(url, owner)];
  const usual = await neighbours.during(readPages(url, late, seconds));

  const since = performance.now();
  const heard = late.map((one) => ({ late: one, listener: listen(one.transport, url, one.person, one.queue) }));
  const listeners = heard.map(({ listener }) => listener);
  const there = (backlog / EVERY) * placesOf(0).length;
  let isOver = false;
  const doing = async () => {
    while (!isOver) {
      await doer.act();
      await sleep(PAUSE_MS);
    }
  };
  const acting = Promise.all([doing(), sender.until(() => isOver, { pauseMs: PAUSE_MS })]);
  const isCaughtUp = (listener: Listener) => listener.received.ids.size >= there;
  const caught = await neighbours.during(eventually(() => listeners.every(isCaughtUp), PATIENCE_MS));
  const took = performance.now() - since;
  const silences = Object.fromEntries(
    ALL_KINDS.map((kind) => [
      kind,
      Math.max(
        ...heard.filter(({ late: one }) => one.kind === kind).map(({ listener }) => listener.received.longestSilenceMs),
      ),
    ]),
  ) as Record<Kind, number>;
  isOver = true;
  await acting;
  for (const one of [sender, doer, neighbours]) one.close();
  const { violations, broken } = await compareAll(db, organizationId, heard);
  await db.end();
  const sent = await withDatabase(service, (query) => compareSent(query, [sender, ...neighbours.senders]));
  const fared = faredIn([usual], [caught]);
  const fault = `selective queues behind ${backlog.toLocaleString('en')} events`;
  return {
    trial: fault,
    facts: {
      queues: late.length,
      'events for each': there,
      'events heard': listeners.reduce((sum, { received: { ids } }) => sum + ids.size, 0),
      'all queues caught up after': `${(took / 1_000).toFixed(1)} s`,
      'longest wait for the next event': ALL_KINDS.map((kind) => `by ${kind} ${ms(silences[kind])}`).join(', '),
      ...neighbourFigures(neighbours, fared),
    },
    violations: [
      ...violations,
      ...reconnectedOf(listeners),
      ...ALL_KINDS.filter((kind) => isTimed && silences[kind] > MOST_MS).map(
        (kind) => `queues with ${kind} received nothing for ${ms(silences[kind])}`,
      ),
      ...(sender.failures.length > 0 ? [`sends to that organization failed: ${some(sender.failures)}`] : []),
      ...brokenBy(sent),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [{ fault, ...addUp([broken, sent]), gap: gapOf({ writers: [sender] }, since), neighbours: fared }],
  };
}
