import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { METRICS, ServerProcess } from '../helpers/process.ts';
import { makeNeighbour, type Person, personOf, startDemo } from './demo.ts';
import { gapOf } from './felt.ts';
import { acknowledgedBy, figuresOf, gather } from './kills.ts';
import { MIB, readMetrics } from './metrics.ts';
import { faredIn, Neighbours, neighbourFigures, type Spell, Stranger } from './neighbours.ts';
import { type Outcome, some } from './outcome.ts';
import { between, seeded } from './random.ts';
import { Client } from './requests.ts';
import { compareWithTruth } from './truth.ts';

const KILL_EVERY_MS = 60_000;
const LOOK_EVERY_MS = 2_000;
/**
 * Longest pause of a writer, in milliseconds. The average pause is half as long: two cores sustain this rate along with all
 * other work.
 */
const PAUSE_MS = 200;
/** Number of client requests between two samples of the metrics. */
const READS = 10;

/** Tables whose number of rows must not grow with the number of changes. */
const STEADY_TABLES = ['event_counter', 'subscription', 'user_account', 'presence', 'message_tally', 'search_progress'];

/**
 * Metrics that must not grow. In the last third of the run, a value may be at most `times` × its value in the middle third +
 * `more`.
 */
const WATCHED = {
  'heap, MiB': { isFloor: true, times: 1.15, more: 4 },
  'resident, MiB': { isFloor: true, times: 1.15, more: 16 },
  handles: { isFloor: true, times: 1, more: 5 },
  'file descriptors': { isFloor: true, times: 1, more: 5 },
  'connections of the database': { isFloor: true, times: 1, more: 2 },
  'windows, MiB': { isFloor: true, times: 1.5, more: 4 },
  // Autovacuum runs once a minute, on tables that have changed enough.
  'tables that do not grow, MiB': { isFloor: false, times: 1.5, more: 1 },
} as const;
type Watched = keyof typeof WATCHED;
type Look = Readonly<Record<Watched, number>>;

/**
 * Runs a long mixed load on two nodes, and kills one of them once a minute. No acknowledged change may be lost, and the memory
 * of the other node must not grow. Clients of another organization send before and during each kill and restart.
 *
 * @param isTimed Whether durations are compared with their limits. On a busy machine, the result is not conclusive.
 */
export async function soakTrial({
  databaseServer,
  minutes,
  seed,
  isTimed = false,
}: {
  databaseServer: string;
  minutes: number;
  seed: number;
  isTimed?: boolean;
}): Promise<Outcome> {
  const random = seeded(seed);
  await using service = await startDemo(databaseServer, { ...METRICS.env, EVENT_QUEUE_WRITE_SECONDS: '0.5' });
  await using mortal = await ServerProcess.start({ env: service.env });
  const { server, databaseUrl } = service;
  const crowds = [await gather(server.url, service, random, { pauseMs: PAUSE_MS })];
  crowds.push(
    await gather(mortal.url, service, random, { besides: crowds[0]?.writers.length ?? 0, pauseMs: PAUSE_MS }),
  );
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  const member = personOf(service.people, 'member');
  const reader = new Client(server.url, member);
  const refusedReads: string[] = [];

  const neighbours = await Neighbours.start(server.url, await makeNeighbour(server));
  await using stranger = await Stranger.start(databaseServer);
  const [beside, meanwhile]: [Spell[], Spell[]] = [[], []];
  const since = performance.now();

  const looks: Look[] = [];
  let kills = 0;
  const endsAt = performance.now() + minutes * 60_000;
  let killsAt = performance.now() + KILL_EVERY_MS;
  while (performance.now() < endsAt) {
    for (let i = 0; i < READS; i++)
      await readSome(reader, member, i).catch((error) => refusedReads.push(String(error)));
    await sleep(between(random, 0, LOOK_EVERY_MS));
    looks.push(await look(server.url, db));
    if (performance.now() < killsAt) continue;
    killsAt += KILL_EVERY_MS;
    beside.push(await neighbours.during(stranger.fall()));
    meanwhile.push(await neighbours.during(mortal.kill9().then(() => mortal.restart())));
    kills++;
  }
  reader.close();
  neighbours.close();
  await db.end();
  await Promise.all(crowds.map((crowd) => crowd.stopWriting()));
  await Promise.all(crowds.map((crowd) => crowd.stopListening()));
  const [writers, listeners] = [crowds.flatMap((one) => one.writers), crowds.flatMap((one) => one.listeners)];
  const { events, violations, broken } = await compareWithTruth(service, writers, listeners);
  const { facts: grown, violations: growth } = compareThirds(looks);
  const crowd = { ...crowds[0], writers, listeners } as (typeof crowds)[number];
  const fared = faredIn(beside, meanwhile);
  return {
    trial: `${minutes} minutes of mixed load, a kill a minute`,
    facts: {
      ...{ kills, ...figuresOf(crowd), events, looks: looks.length },
      'changes per second': (acknowledgedBy(crowd) / (minutes * 60)).toFixed(0),
      ...grown,
      ...neighbourFigures(neighbours, fared),
    },
    violations: [
      ...writers.flatMap((writer) => writer.violations.lines),
      ...(refusedReads.length > 0 ? [`failed reads: ${some(refusedReads)}`] : []),
      ...violations,
      ...growth,
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [{ fault: 'a node killed once a minute', ...broken, gap: gapOf({ writers }, since), neighbours: fared }],
  };
}

/**
 * Makes one of the usual requests of clients, depending on `turn`: reads lists or messages, registers and deletes a queue,
 * updates the presence, or sends a message.
 */
async function readSome(client: Client, { userId }: Person, turn: number): Promise<void> {
  if (turn % 5 === 0) {
    const { queueId } = await client.register();
    await client.ask('DELETE', `/events?queue_id=${queueId}`);
  } else if (turn % 5 === 1) {
    await client.graphql('{ viewer { id } subscriptions(first: 50) { nodes { id unreadCount channel { name } } } }');
  } else if (turn % 5 === 2) {
    await client.ask('GET', '/messages', { anchor: 'newest', num_before: 50, num_after: 0 });
  } else if (turn % 5 === 3) {
    const ping = { status: 'active', ping_only: false, new_user_input: true };
    await client.ask('POST', '/users/me/presence', ping);
  } else {
    // Sends a direct message, because `compareWithTruth` does not compute the recipients of channel messages.
    const message = { type: 'direct', to: [userId], content: `turn ${turn}` };
    await client.ask('POST', '/messages', message);
  }
}

async function look(url: string, db: pg.Client): Promise<Look> {
  const { shown, summed } = await readMetrics(url);
  const { rows } = await db.query<{ connections: number; bytes: string }>(
    `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()) AS connections,
            (SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest($1::text[]) AS t) AS bytes`,
    [STEADY_TABLES],
  );
  return {
    'heap, MiB': shown('nodejs_heap_size_used_bytes') / MIB,
    'resident, MiB': shown('process_resident_memory_bytes') / MIB,
    handles: summed('nodejs_active_handles'),
    'file descriptors': shown('process_open_fds'),
    'connections of the database': rows[0]?.connections ?? Number.NaN,
    'windows, MiB': shown('event_windows_bytes') / MIB,
    'tables that do not grow, MiB': Number(rows[0]?.bytes ?? Number.NaN) / MIB,
  };
}

/**
 * Compares the last third of the samples with the middle third. The first third is ignored, because caches fill up and code is
 * compiled.
 */
function compareThirds(looks: readonly Look[]): { facts: Record<string, string>; violations: string[] } {
  const third = Math.floor(looks.length / 3);
  const [middle, last] = [looks.slice(third, 2 * third), looks.slice(2 * third)];
  const facts: Record<string, string> = {};
  const violations: string[] = [];
  for (const [name, { isFloor, times, more }] of Object.entries(WATCHED)) {
    // The heap grows between two garbage collections, so its minimum is the memory in use.
    const of = (part: readonly Look[]) => {
      const values = part.map((one) => one[name as Watched]);
      return isFloor ? Math.min(...values) : Math.max(...values);
    };
    const [before, after] = [of(middle), of(last)];
    facts[name] = `${before.toFixed(1)}, then ${after.toFixed(1)}`;
    if (!(after <= before * times + more))
      violations.push(`${name} grew from ${before.toFixed(1)} to ${after.toFixed(1)}`);
  }
  return { facts, violations };
}
