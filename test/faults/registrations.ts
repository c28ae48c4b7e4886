import { setTimeout as sleep } from 'node:timers/promises';
import { LARGE, makeOrganization, registerAt } from '../bench/registration.ts';
import { giveKeys } from '../bench/stage.ts';
import { Worker } from '../bench/workers.ts';
import { type DemoService, makeNeighbour, type Person, startDemo } from './demo.ts';
import { addUp, type Broken, longestBetween } from './felt.ts';
import { brokenBy, compareSent, ms, Neighbours, neighbourFigures, type WatchedTrial } from './neighbours.ts';
import { NamedCounters, type Outcome, some } from './outcome.ts';
import { type Compared, faredBeside, PlainWork, plainRequest } from './plain-work.ts';
import type { Registration, tasks as registrantTasks, Snapshot } from './registrants.ts';
import { Client } from './requests.ts';
import { openDatabase, type Query, withDatabase } from './truth.ts';

/** Number of clients that register concurrently. */
const CLIENTS = 20;
/** Number of users who are renamed in addition to the users who register. */
const OTHERS = 5;
const RENAME_EVERY_MS = 200;
/** Status and error code of a registration that the service refused because it waited too long. */
const COME_AGAIN = '503 REQUEST_TIMEOUT';
/** Shortest duration of a round of registrations, in milliseconds. */
const ROUND_MS = 5_000;

/** A change of a user's name, from the event log. */
interface Rename {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
}

/** A client that renames some users in turn, at a steady pace. */
class Renamer {
  readonly #client: Client;
  readonly #userIds: readonly number[];
  readonly acknowledged: string[] = [];
  readonly acknowledgedAt: number[] = [];
  readonly refused: string[] = [];
  readonly failures: string[] = [];
  #isOver = false;

  constructor(client: Client, userIds: readonly number[]) {
    this.#client = client;
    this.#userIds = userIds;
  }

  async run(): Promise<void> {
    for (let turn = 0, next = performance.now(); !this.#isOver; turn++) {
      const name = `Renamed ${turn}`;
      const userId = this.#userIds[turn % this.#userIds.length];
      const { status, body } = await this.#client.rest('PATCH', `/users/${userId}`, { full_name: name });
      if (status === 200) {
        this.acknowledged.push(name);
        this.acknowledgedAt.push(performance.now());
      } else {
        this.refused.push(name);
        this.failures.push(`${status} ${JSON.stringify(body)}`);
      }
      next = Math.max(next + RENAME_EVERY_MS, performance.now());
      await sleep(Math.max(0, next - performance.now()));
    }
  }

  stop(): void {
    this.#isOver = true;
  }
}

/** Names of users as a client has them in the end: from its registration and from the events after it. */
interface FinalNames extends Snapshot {
  /** Ids of the rename events that the client received after its registration, in order of arrival. */
  readonly received: readonly number[];
}

/** Reads all events of a queue. @returns The snapshot with the ids of these events. */
async function readQueue(client: Client, snapshot: Snapshot): Promise<FinalNames> {
  const received: number[] = [];
  for (let at = snapshot.lastEventId; ; ) {
    const params = { queue_id: snapshot.queueId, last_event_id: at, dont_block: true };
    const { status, body } = await client.rest('GET', '/events', params);
    if (status !== 200) throw new Error(`A queue has ended: ${JSON.stringify(body)}`);
    if (body.events.length === 0) return { ...snapshot, received };
    for (const { id, type, person } of body.events) {
      if (type === 'realm_user' && person.full_name !== undefined) received.push(id);
    }
    at = body.events.at(-1).id;
  }
}

/** Counts the differences between the names that a client has in the end and the renames in the log. */
function brokenFor(
  { lastEventId, names, received }: FinalNames,
  renames: readonly Rename[],
  first: ReadonlyMap<number, string>,
) {
  const known = new Set(received);
  const due = renames.filter(({ id }) => id > lastEventId);
  const state = new Map(first);
  for (const { id, userId, name } of renames) if (id <= lastEventId) state.set(userId, name);
  const wrong = [...state].filter(([userId, name]) => names.get(userId) !== name).map(([userId]) => userId);
  // A snapshot can contain the new name although the event about the rename is delivered after the snapshot.
  const early = wrong.filter((userId) => due.some((one) => one.userId === userId && one.name === names.get(userId)));
  return {
    lost: wrong.length - early.length + due.filter(({ id }) => !known.has(id)).length,
    repeated: early.length + received.length - known.size + received.filter((id) => id <= lastEventId).length,
    outOfOrder: received.filter((id, i) => id < (received[i - 1] ?? 0)).length,
    refusedButDone: 0,
  };
}

async function readRenames(query: Query, organizationId: number): Promise<Rename[]> {
  const rows = await query(
    `SELECT id::float8 AS id, (payload->'person'->>'user_id')::int AS "userId", payload->'person'->>'full_name' AS name
     FROM event WHERE realm_id = $1 AND type = 'realm_user' AND payload->'person' ? 'full_name' ORDER BY event.id`,
    [organizationId],
  );
  return rows as unknown as Rename[];
}

/** Compares the renames in the log with the responses to the rename requests. */
function brokenOf({ acknowledged, refused }: Renamer, renames: readonly Rename[]): Broken {
  const names = renames.map(({ name }) => name);
  const logged = new Set(names);
  return {
    lost: acknowledged.filter((name) => !logged.has(name)).length,
    repeated: names.length - logged.size,
    outOfOrder: 0,
    refusedButDone: refused.filter((name) => logged.has(name)).length,
  };
}

const misfitsBy = ({ lost, repeated, outOfOrder }: Broken): string[] => [
  ...(lost > 0 ? [`${lost} names were neither in a snapshot nor in a later event`] : []),
  ...(repeated > 0 ? [`${repeated} names were in a snapshot and in a later event, or in two events`] : []),
  ...(outOfOrder > 0 ? [`${outOfOrder} names arrived after later ones`] : []),
];

/** The organization of the trial, with the users who register and the users who are renamed. */
interface Ground {
  readonly organizationId: number;
  readonly owner: Person;
  readonly people: readonly Person[];
  /** Original names, by user id, of all users who are renamed. Users who register are renamed, too. */
  readonly names: ReadonlyMap<number, string>;
}

/** Creates the organization of the trial. The number of channels scales with the number of users. */
async function makeGround(service: DemoService, users: number): Promise<Ground> {
  const scale = users / LARGE.users;
  const [channels, subscriptions] = [LARGE.channels * scale, LARGE.subscriptions * scale];
  const db = await openDatabase(service);
  const { organizationId, owner } = await makeOrganization(
    { db, service },
    { ...LARGE, users, channels, subscriptions },
  );
  const { rows } = await db.query<{ id: number; email: string; full_name: string }>(
    `SELECT id, email, full_name FROM user_account WHERE realm_id = $1 AND role = 400 AND bot_type IS NULL
     ORDER BY id LIMIT $2`,
    [organizationId, CLIENTS + OTHERS],
  );
  const keyed = await giveKeys(db, rows.slice(0, CLIENTS));
  await db.end();
  const people = keyed.map(({ id, basic }): Person => ({ ...owner, role: 'member', userId: id, basic }));
  return { organizationId, owner, people, names: new Map(rows.map(({ id, full_name }) => [id, full_name])) };
}

/** Clients that register in a separate process, and the results of their registrations. */
class Registrants implements AsyncDisposable {
  readonly #worker = new Worker<typeof registrantTasks>(`${import.meta.dirname}/registrants.ts`);
  readonly #port: number;
  readonly #requests: readonly Buffer[];
  readonly #userIds: readonly number[];
  readonly registrations: Registration[] = [];
  readonly snapshots: Snapshot[] = [];

  constructor(port: number, { people, names }: Ground) {
    this.#port = port;
    // Half of the clients request compression. The node compresses in other threads than that of its event loop.
    this.#requests = people.map((person, i) =>
      registerAt(port, person, i % 2 === 0 ? { 'Accept-Encoding': 'gzip' } : {}),
    );
    this.#userIds = [...names.keys()];
  }

  /** Registers all clients concurrently. */
  async register(): Promise<void> {
    const input = { port: this.#port, requests: this.#requests };
    this.registrations.push(...(await this.#worker.ask('register', input)));
  }

  /**
   * Parses the stored responses. Call it after the unaffected organization has been measured, because parsing takes CPU time.
   */
  async read(): Promise<void> {
    this.snapshots.push(...(await this.#worker.ask('read', { userIds: this.#userIds })));
  }

  /** Returns the names that each client has after it has read all events of its queue. */
  async known(url: string, people: readonly Person[]): Promise<FinalNames[]> {
    const clients = people.map((person) => new Client(url, person));
    const known = await Promise.all(this.snapshots.map((one) => readQueue(clients[one.place] as Client, one)));
    for (const client of clients) client.close();
    return known;
  }

  get facts(): Outcome['facts'] {
    const ends = new NamedCounters();
    for (const { end } of this.registrations) ends.add(end);
    const [compressed, plain] = [true, false].map((is) =>
      this.registrations.filter(({ isCompressed }) => isCompressed === is).map(({ bytes }) => bytes),
    ) as [number[], number[]];
    const kilobytes = (bytes: readonly number[]) => `${Math.round(Math.max(0, ...bytes) / 1e3)} kB`;
    // Omits the first round, in which the node has nothing cached.
    const took = this.registrations.slice(this.#requests.length).map((one) => one.took);
    return {
      answers: ends.toString(),
      'slowest registration': ms(Math.max(...took)),
      'size of a reply': `${kilobytes(plain)}; for the ${compressed.length} compressed ones ${kilobytes(compressed)}`,
    };
  }

  /** Returns the violations in the registrations. @param isTimed Whether a registration that timed out is a violation. */
  violations(isTimed: boolean): string[] {
    const failed = this.registrations.filter(({ end }) => end !== '200' && (isTimed || end !== COME_AGAIN));
    return [
      ...(failed.length > 0 ? [`registrations were answered with ${some(failed.map(({ end }) => end))}`] : []),
      ...(this.registrations.some(({ isCompressed }) => isCompressed) ? [] : ['no reply was compressed']),
    ];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#worker[Symbol.asyncDispose]();
  }
}

/**
 * Registers many clients of a large organization concurrently, in several rounds, while users are renamed. Each client must
 * receive the complete state, which must match the event position in the same response. The registrations may slow down another
 * organization on the same node only as much as simple requests (`PlainWork`) that use the same CPU time.
 */
export async function registrationsTrial({
  databaseServer,
  users,
  rounds,
  isTimed,
}: Omit<WatchedTrial, 'seconds'> & { readonly users: number; readonly rounds: number }): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const { url, port } = service.server;
  const ground = await makeGround(service, users);
  const neighbours = await Neighbours.start(url, await makeNeighbour(service.server));
  await using registrants = new Registrants(port, ground);
  await using plain = new PlainWork(
    service.server,
    ground.people.map((person) => plainRequest(service.server, person)),
  );
  const owner = new Client(url, ground.owner);
  const renamer = new Renamer(owner, [...ground.names.keys()]);
  const since = performance.now();
  const renaming = renamer.run();
  // Warms up the JIT compiler.
  await registrants.register();
  await registrants.read();
  const compared: Compared[] = [];
  while (compared.length < rounds) {
    compared.push(await plain.beside(neighbours, () => Promise.all([registrants.register(), sleep(ROUND_MS)])));
    await registrants.read();
  }
  renamer.stop();
  await renaming;
  const known = await registrants.known(url, ground.people);
  for (const one of [owner, neighbours]) one.close();
  const { renames, sent } = await withDatabase(service, async (query) => ({
    renames: await readRenames(query, ground.organizationId),
    sent: await compareSent(query, neighbours.senders),
  }));
  const misfits = addUp(known.map((one) => brokenFor(one, renames, ground.names)));
  const renamed = brokenOf(renamer, renames);
  const fared = faredBeside(compared);
  const fault = `${CLIENTS} concurrent registrations among ${users.toLocaleString('en')} users`;
  return {
    trial: fault,
    facts: {
      ...registrants.facts,
      'CPU of the node per round': `${Math.max(...compared.map(({ taken }) => taken.cpuSeconds)).toFixed(1)} s at most`,
      renames: renamer.acknowledged.length,
      ...neighbourFigures(neighbours, fared),
    },
    violations: [
      ...registrants.violations(isTimed),
      ...(renamer.failures.length > 0 ? [`renames failed: ${some(renamer.failures)}`] : []),
      ...misfitsBy(misfits),
      ...brokenBy(renamed, 'renames'),
      ...brokenBy(sent),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [
      {
        fault,
        ...addUp([misfits, renamed, sent]),
        gap: longestBetween(renamer.acknowledgedAt, since),
        neighbours: fared,
      },
    ],
  };
}
