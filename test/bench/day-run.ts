import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { print } from 'graphql';
import pg from 'pg';
import { RegisterDocument } from '../../src/web/generated/graphql.ts';
import { startDemo } from '../faults/demo.ts';
import { seeded } from '../faults/random.ts';
import { Client } from '../faults/requests.ts';
import type { Json } from '../helpers/http.ts';
import { METRICS, ServerProcess } from '../helpers/process.ts';
import { type ClientKind, type PersonInput, REGISTRATION } from './day-clients.ts';
import { assumed, type Plan, planOrganization, signInRate } from './day-model.ts';
import { type DayOrganization, fillDayOrganization } from './day-organization.ts';
import type { PartFigures, tasks as peopleTasks } from './day-people.ts';
import { measureResources, readSizes, type Sizes, type Used } from './day-resources.ts';
import { type BenchUser, copyQueue, POOL_SIZE } from './stage.ts';
import { Worker } from './workers.ts';

/** What is simulated. Durations are in seconds. */
export interface DayOptions {
  readonly databaseServer: string;
  readonly people: number;
  /** Numbers of nodes, one after the other. */
  readonly nodes: readonly number[];
  /** Maximum ratio of the speed of the simulated day to real time. */
  readonly speed: number;
  /** Whether the speed is halved while the machine is overloaded. */
  readonly lowersSpeed: boolean;
  readonly morningSeconds: number;
  readonly warmUpSeconds: number;
  readonly workSeconds: number;
  readonly seed: number;
}

/** A part of the day: what people did, and what it took. */
export interface DayPart {
  readonly figures: PartFigures;
  readonly used: Used;
  /**
   * Share of the machine's CPU time that service, PostgreSQL and load generator used (`busy`), and that all processes used
   * (`machine`).
   */
  readonly busy: number;
  readonly machine: number;
}

/** Results of a number of people on a number of nodes. */
export interface DayResult {
  readonly people: number;
  readonly online: number;
  readonly nodes: number;
  /** Speeds of the morning and of the busiest hour. */
  readonly morningSpeed: number;
  readonly speed: number;
  /** Speeds that were tried before, at which the machine was overloaded. */
  readonly tooFast: readonly number[];
  /** The part in which all people are connected, but nobody acts. */
  readonly idle: DayPart;
  readonly morning: DayPart;
  readonly work: DayPart;
  readonly before: Sizes;
  readonly after: Sizes;
}

/** Share of the machine's cores above which the service, PostgreSQL and the load generator overload it. */
const OVERLOADED = 0.85;
/** Maximum delay, in seconds: the machine is overloaded if more actions are unanswered at the end than begin in this time. */
const MOST_LATE = 0.5;
/** Time in which background jobs count and index the last messages, in milliseconds. */
const SETTLING_MS = 4_000;
/** Number of ids of the log that are left free before each simulated day, for events of the time before. */
const FREE_IDS = 1_000_000;
const CORES = availableParallelism();
/** Time without a reader after which the queue of a phone ends, in seconds: the interface's value "mobile". */
const PHONE_IDLE_SECONDS = 43_200;

/**
 * Simulates a working day on one number of nodes after another, with the same database. The morning and the busiest hour are
 * measured. Other hours have fewer actions of the same kinds.
 */
export async function* simulateDays(options: DayOptions): AsyncGenerator<DayResult> {
  const { databaseServer, people: count, seed } = options;
  await using own = new AsyncDisposableStack();
  const service = own.use(
    await startDemo(databaseServer, {
      ...METRICS.env,
      DATABASE_POOL_SIZE: String(POOL_SIZE),
      // All people connect from one address, as behind a proxy. One address can use half of the connections of a node.
      ...{ TRUST_PROXY: '1', MAX_SOCKETS: '40000' },
      // Undefined restores the settings of production. Test servers send heartbeats every two seconds.
      ...{ EVENT_HEARTBEAT_SECONDS: undefined, EVENT_QUEUE_WRITE_SECONDS: undefined, REDIS_URL: undefined },
    }),
  );
  const { databaseUrl = '', server } = service;
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  own.defer(() => db.end());
  const plan = planOrganization(count, seed);
  const organization = await fillDayOrganization(db, server.dataDir, plan, seed);
  const servers = [server];
  for (const wanted of options.nodes) {
    while (servers.length < wanted) servers.push(own.use(await ServerProcess.start({ env: service.env })));
    // A new process, so that its memory does not contain what earlier measurements left.
    await server.restart();
    const nodes = servers.slice(0, wanted);
    yield await simulateDay({ ...options, db, databaseUrl, plan, organization, nodes });
  }
}

interface Ground extends Omit<DayOptions, 'nodes'> {
  readonly db: pg.Client;
  readonly databaseUrl: string;
  readonly plan: Plan;
  readonly organization: DayOrganization;
  readonly nodes: readonly ServerProcess[];
}

async function simulateDay(ground: Ground): Promise<DayResult> {
  const { db, databaseUrl, plan, organization, nodes, people: count, seed, workSeconds, morningSeconds } = ground;
  const { organizationId, subdomain, channelIds, password } = organization;
  await db.query('UPDATE event_counter SET last_id = last_id + $2 WHERE realm_id = $1', [organizationId, FREE_IDS]);
  await db.query('DELETE FROM event_queue WHERE realm_id = $1', [organizationId]);
  const start = await readSizes(db, organizationId);
  const { people, signingIn, online, phoneQueueIds } = await choosePeople(ground);
  await using generator = new Worker<typeof peopleTasks>(`${import.meta.dirname}/day-people.ts`);
  const { rows } = await db.query<{ last: string }>(
    'SELECT last_id AS last FROM presence_counter WHERE realm_id = $1',
    [organizationId],
  );
  await generator.ask('prepare', {
    ...{ plan, people, channelIds, password, seed, presenceVersion: Number(rows[0]?.last) },
    host: `${subdomain}.localhost:${nodes[0]?.port}`,
  });
  await generator.ask('connect', undefined);
  await comeOnline(ground, people);
  await db.query('VACUUM ANALYZE event_queue, presence');
  const measure = async (act: () => Promise<PartFigures>): Promise<DayPart> => {
    const end = await measureResources(databaseUrl, nodes);
    const figures = await act();
    const used = await end(figures.seconds);
    const own = used.serviceCores + used.databaseCores + figures.cpuSeconds / figures.seconds;
    return { figures, used, busy: own / CORES, machine: used.machineCores / CORES };
  };
  const idle = await measure(() => generator.ask('rest', { seconds: ground.warmUpSeconds }));
  const morning = await measure(() => generator.ask('signIns', { indexes: signingIn, seconds: morningSeconds }));
  let { speed } = ground;
  const tooFast: number[] = [];
  for (;;) {
    const { events: from } = await readSizes(db, organizationId);
    const seconds = ground.warmUpSeconds;
    const tried = await measure(() => generator.ask('work', { seconds, speed, without: ['phone'] }));
    if (!isOverloaded(tried) || !ground.lowersSpeed || tooFast.length === MOST_TRIES) {
      await repeatEvents(ground, { phoneQueueIds, from, end: start.events, seconds: seconds * speed });
      break;
    }
    tooFast.push(speed);
    speed /= 2;
  }
  const before = await readSizes(db, organizationId);
  const work = await measure(() => generator.ask('work', { seconds: workSeconds, speed, without: [] }));
  await sleep(SETTLING_MS);
  const after = await readSizes(db, organizationId);
  await generator.ask('close', undefined);
  return {
    ...{ people: count, online, nodes: nodes.length, morningSpeed: ground.speed, speed, tooFast },
    ...{ idle, morning, work, before, after },
  };
}

/** Maximum number of times that the speed is halved. */
const MOST_TRIES = 4;

/** Returns whether the machine could not do the work of a part of the day in time. */
export const isOverloaded = ({ busy, figures: { planned, backlog, seconds } }: DayPart): boolean =>
  busy > OVERLOADED || backlog > Math.max(5, (MOST_LATE * planned) / seconds);

/** Draws who is online, with which clients and at which node, and who signs in in the morning. Creates the queues of the others. */
async function choosePeople({ db, plan, organization, nodes, seed, speed, morningSeconds }: Ground) {
  const random = seeded(seed);
  const online = plan.people.flatMap((_, index) => (random() < assumed('online') ? [index] : []));
  const signers = Math.round(signInRate(plan.people.length) * speed * morningSeconds);
  const signingIn = online.slice(-Math.min(Math.max(1, signers), Math.floor(online.length / 2)));
  const present = new Set(online.slice(0, -signingIn.length));
  const kinds = plan.people.map((): ClientKind => {
    const drawn = random();
    return drawn < assumed('pages') ? 'page' : drawn < assumed('pages') + assumed('polls') ? 'poll' : 'stream';
  });
  const withPhone = plan.people.flatMap((_, index) => (random() < assumed('phones') ? [index] : []));
  const templates = await makeTemplates(organization, nodes);
  const queuesOf = async (template: string, indexes: readonly number[]) => {
    const queues = await copyQueue(
      db,
      template,
      indexes.map((index) => organization.people[index] as BenchUser),
    );
    return indexes.map((index, i) => [index, queues[i]?.queueId] as const);
  };
  const ofKind = (isPoll: boolean) => [...present].filter((index) => (kinds[index] === 'poll') === isPoll);
  const queues = new Map([
    ...(await queuesOf(templates.page, ofKind(false))),
    ...(await queuesOf(templates.poll, ofKind(true))),
  ]);
  const phones = new Map(await queuesOf(templates.phone, withPhone));
  const people = organization.people.map(
    ({ id, basic }, index): PersonInput => ({
      ...{ id, basic, email: organization.emails[index] ?? '', kind: kinds[index] ?? 'page' },
      port: nodes[index % nodes.length]?.port ?? 0,
      queueId: queues.get(index),
      phoneQueueId: phones.get(index),
    }),
  );
  return { people, signingIn, online: online.length, phoneQueueIds: [...phones.values()].map(String) };
}

/** Makes all people online who have a queue, as if they had reported their presence a minute ago. */
async function comeOnline({ db, organization: { organizationId } }: Ground, people: readonly PersonInput[]) {
  const present = people.filter(({ queueId }) => queueId !== undefined).map(({ id }) => id);
  await db.query(
    `UPDATE presence SET active_at = now() - interval '1 minute', idle_at = now() - interval '1 minute'
     WHERE realm_id = $1 AND user_id = ANY($2::int[])`,
    [organizationId, present],
  );
}

/** Registers a queue for each kind of client, as the client does. @returns Their ids. */
async function makeTemplates({ people, subdomain }: DayOrganization, [node]: readonly ServerProcess[]) {
  const [owner] = people;
  if (owner === undefined || node === undefined) throw new Error('There are no people or no nodes');
  const client = new Client(node.url, { role: 'owner', userId: owner.id, basic: owner.basic, subdomain });
  try {
    const { body } = await client.graphql(print(RegisterDocument), { input: { idleTimeoutSeconds: 12 * 60 * 60 } });
    const page: string = (body as Json).data.registerEventQueue.queueId;
    const poll = await client.register(REGISTRATION);
    const phone = await client.register({ ...REGISTRATION, idle_queue_timeout: PHONE_IDLE_SECONDS });
    return { page, poll: poll.queueId, phone: phone.queueId };
  } finally {
    client.close();
  }
}

interface RepeatedEvents {
  readonly phoneQueueIds: readonly string[];
  readonly from: number;
  readonly end: number;
  readonly seconds: number;
}

/**
 * Inserts copies of the events after `from` into the log before the position `end`, and moves the queues of phones back to the
 * beginning of these copies. The phones have then missed as many events as while people do not look at them.
 *
 * @param seconds Simulated time in which the events after `from` were logged, in seconds.
 */
async function repeatEvents(
  { db, organization: { organizationId } }: Ground,
  { phoneQueueIds, from, end, seconds }: RepeatedEvents,
): Promise<void> {
  const { events: to } = await readSizes(db, organizationId);
  const width = Math.max(1, to - from);
  const betweenLooks = (9 * 60 * 60) / assumed('phoneVisits');
  const times = Math.min(Math.ceil(betweenLooks / seconds), Math.floor(FREE_IDS / width) - 1);
  await db.query(
    `INSERT INTO event (realm_id, id, type, op, payload, max_role, channel_ids, user_ids, except_user_ids, public_channel_id,
                        width, created_at)
     SELECT realm_id, $4::bigint - $5::bigint * n + id - $2::bigint, type, op, payload, max_role, channel_ids, user_ids,
            except_user_ids, public_channel_id, width, now() - n * interval '1 second'
     FROM event, generate_series(1, $6::int) AS n
     WHERE realm_id = $1 AND id > $2 AND id <= $3 AND NOT ephemeral AND type <> 'internal'`,
    [organizationId, from, to, end, width, times],
  );
  await db.query(
    `UPDATE event_queue SET start_id = $2, acked_id = $2, scanned_through = $2
     WHERE realm_id = $1 AND id = ANY($3::uuid[])`,
    [organizationId, end - width * times, phoneQueueIds],
  );
}
