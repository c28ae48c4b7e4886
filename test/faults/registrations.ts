import { setTimeout as sleep } from 'node:timers/promises';
import { LARGE, makeOrganisation, registerAt } from '../bench/registration.ts';
import { giveKeys } from '../bench/stage.ts';
import { Worker } from '../bench/workers.ts';
import { type DemoService, makeNeighbour, type Person, startDemo } from './demo.ts';
import { addUp, type Broken, longestBetween } from './felt.ts';
import { brokenBy, compareSent, ms, Neighbours, toldOf, type WatchedTrial } from './neighbours.ts';
import { type Outcome, some, Tally } from './outcome.ts';
import { type Compared, faredBeside, PlainWork, plainRequest } from './plain-work.ts';
import type { Registration, tasks as registrantTasks, Snapshot } from './registrants.ts';
import { Client } from './requests.ts';
import { openDatabase, type Query, withDatabase } from './truth.ts';

/** How many register at once. */
const CLIENTS = 20;
/** How many besides them are renamed. */
const OTHERS = 5;
const RENAME_EVERY_MS = 200;
/** What whoever waited too long is told. */
const COME_AGAIN = '503 REQUEST_TIMEOUT';
/** The least that a round is watched. */
const ROUND_MS = 5_000;

/** Somebody got another name, as the log has it. */
interface Rename {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
}

/** Renames some people in turn, at a steady pace. */
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

/** What a client that registered knows of names in the end. */
interface Known extends Snapshot {
  /** The events of renames that it was told of afterwards, as they came. */
  readonly told: readonly number[];
}

/** Reads a queue to its end. */
async function readQueue(client: Client, snapshot: Snapshot): Promise<Known> {
  const told: number[] = [];
  for (let at = snapshot.lastEventId; ; ) {
    const params = { queue_id: snapshot.queueId, last_event_id: at, dont_block: true };
    const { status, body } = await client.rest('GET', '/events', params);
    if (status !== 200) throw new Error(`A queue has ended: ${JSON.stringify(body)}`);
    if (body.events.length === 0) return { ...snapshot, told };
    for (const { id, type, person } of body.events) {
      if (type === 'realm_user' && person.full_name !== undefined) told.push(id);
    }
    at = body.events.at(-1).id;
  }
}

/** What is wrong with what one client knows, after all that happened. */
function brokenFor(
  { lastEventId, names, told }: Known,
  renames: readonly Rename[],
  first: ReadonlyMap<number, string>,
) {
  const known = new Set(told);
  const due = renames.filter(({ id }) => id > lastEventId);
  const state = new Map(first);
  for (const { id, userId, name } of renames) if (id <= lastEventId) state.set(userId, name);
  const wrong = [...state].filter(([userId, name]) => names.get(userId) !== name).map(([userId]) => userId);
  // A name that is still to be told came with the state already: whoever registered has it twice.
  const early = wrong.filter((userId) => due.some((one) => one.userId === userId && one.name === names.get(userId)));
  return {
    lost: wrong.length - early.length + due.filter(({ id }) => !known.has(id)).length,
    repeated: early.length + told.length - known.size + told.filter((id) => id <= lastEventId).length,
    outOfOrder: told.filter((id, i) => id < (told[i - 1] ?? 0)).length,
    refusedButDone: 0,
  };
}

async function readRenames(query: Query, realmId: number): Promise<Rename[]> {
  const rows = await query(
    `SELECT id::float8 AS id, (payload->'person'->>'user_id')::int AS "userId", payload->'person'->>'full_name' AS name
     FROM event WHERE realm_id = $1 AND type = 'realm_user' AND payload->'person' ? 'full_name' ORDER BY event.id`,
    [realmId],
  );
  return rows as unknown as Rename[];
}

/** What became of the renames themselves. */
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
  ...(lost > 0 ? [`${lost} names were neither in a snapshot nor told after it`] : []),
  ...(repeated > 0 ? [`${repeated} names were in a snapshot and told after it, or told twice`] : []),
  ...(outOfOrder > 0 ? [`${outOfOrder} names were told after later ones`] : []),
];

/** Who registers, whose names change, and what is asked as them. */
interface Ground {
  readonly realmId: number;
  readonly owner: Person;
  readonly people: readonly Person[];
  /** Of those who are renamed, they themselves among them: how they are called at first. */
  readonly names: ReadonlyMap<number, string>;
}

/** Makes the organisation, a tenth of it where it has a tenth of the people. */
async function makeGround(service: DemoService, users: number): Promise<Ground> {
  const scale = users / LARGE.users;
  const [channels, subscriptions] = [LARGE.channels * scale, LARGE.subscriptions * scale];
  const db = await openDatabase(service);
  const { realmId, owner } = await makeOrganisation({ db, service }, { ...LARGE, users, channels, subscriptions });
  const { rows } = await db.query<{ id: number; email: string; full_name: string }>(
    `SELECT id, email, full_name FROM user_account WHERE realm_id = $1 AND role = 400 AND bot_type IS NULL
     ORDER BY id LIMIT $2`,
    [realmId, CLIENTS + OTHERS],
  );
  const keyed = await giveKeys(db, rows.slice(0, CLIENTS));
  await db.end();
  const people = keyed.map(({ id, basic }): Person => ({ ...owner, role: 'member', userId: id, basic }));
  return { realmId, owner, people, names: new Map(rows.map(({ id, full_name }) => [id, full_name])) };
}

/** Clients in a process of their own that register, and what they were told. */
class Registrants implements AsyncDisposable {
  readonly #worker = new Worker<typeof registrantTasks>(`${import.meta.dirname}/registrants.ts`);
  readonly #port: number;
  readonly #requests: readonly Buffer[];
  readonly #userIds: readonly number[];
  readonly registrations: Registration[] = [];
  readonly snapshots: Snapshot[] = [];

  constructor(port: number, { people, names }: Ground) {
    this.#port = port;
    // Half of them take it compressed, which is done beside the event loop.
    this.#requests = people.map((person, i) =>
      registerAt(port, person, i % 2 === 0 ? { 'Accept-Encoding': 'gzip' } : {}),
    );
    this.#userIds = [...names.keys()];
  }

  /** All at once. */
  async register(): Promise<void> {
    const input = { port: this.#port, requests: this.#requests };
    this.registrations.push(...(await this.#worker.ask('register', input)));
  }

  /** Reads what they were told, for which no time is left while others are watched. */
  async read(): Promise<void> {
    this.snapshots.push(...(await this.#worker.ask('read', { userIds: this.#userIds })));
  }

  /** What they know in the end, when they have read their queues. */
  async known(url: string, people: readonly Person[]): Promise<Known[]> {
    const clients = people.map((person) => new Client(url, person));
    const known = await Promise.all(this.snapshots.map((one) => readQueue(clients[one.place] as Client, one)));
    for (const client of clients) client.close();
    return known;
  }

  get facts(): Outcome['facts'] {
    const ends = new Tally();
    for (const { end } of this.registrations) ends.add(end);
    const [compressed, plain] = [true, false].map((is) =>
      this.registrations.filter(({ isCompressed }) => isCompressed === is).map(({ bytes }) => bytes),
    ) as [number[], number[]];
    const kilobytes = (bytes: readonly number[]) => `${Math.round(Math.max(0, ...bytes) / 1e3)} kB`;
    // But for the first round, in which all is new.
    const took = this.registrations.slice(this.#requests.length).map((one) => one.took);
    return {
      answers: ends.toString(),
      'the slowest': ms(Math.max(...took)),
      'a reply': `${kilobytes(plain)}, or compressed, as ${compressed.length} were, ${kilobytes(compressed)}`,
    };
  }

  /** @param isTimed Whether it counts that somebody waited so long that they are told to come again. */
  violations(isTimed: boolean): string[] {
    const failed = this.registrations.filter(({ end }) => end !== '200' && (isTimed || end !== COME_AGAIN));
    return [
      ...(failed.length > 0 ? [`registrations were answered ${some(failed.map(({ end }) => end))}`] : []),
      ...(this.registrations.some(({ isCompressed }) => isCompressed) ? [] : ['nothing was compressed']),
    ];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#worker[Symbol.asyncDispose]();
  }
}

/**
 * Many clients of a large organisation register at once, round after round, while people are renamed: all are told the whole
 * state, what they are told fits the position that they are told with it, and another organisation at the same node notices
 * as much as of plain requests that take as long.
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
  // What has not run yet is slow the first times.
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
    renames: await readRenames(query, ground.realmId),
    sent: await compareSent(query, neighbours.senders),
  }));
  const misfits = addUp(known.map((one) => brokenFor(one, renames, ground.names)));
  const renamed = brokenOf(renamer, renames);
  const fared = faredBeside(compared);
  const fault = `${CLIENTS} at once register among ${users.toLocaleString('en')}`;
  return {
    trial: fault,
    facts: {
      ...registrants.facts,
      'CPU of the node for a round': `${Math.max(...compared.map(({ taken }) => taken.cpuSeconds)).toFixed(1)} s at the most`,
      renames: renamer.acknowledged.length,
      ...toldOf(neighbours, fared),
    },
    violations: [
      ...registrants.violations(isTimed),
      ...(renamer.failures.length > 0 ? [`renames were told ${some(renamer.failures)}`] : []),
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
