import pg from 'pg';
import { readMetrics } from '../faults/metrics.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { cpuSecondsOf, machineSeconds, mainThreadSecondsOf, proportionalBytesOf, residentBytesOf } from './measure.ts';

/** Interval, in milliseconds, at which the sessions of PostgreSQL are sampled. */
const LOOK_MS = 250;
/** Number of samples of the sessions for each sample of memory and metrics. */
const LOOKS_PER_READ = 12;

/** Resources that the processes use in a part of the day. CPU use is in cores: CPU seconds per second of the part. */
export interface Used {
  /** CPU use of all nodes together. */
  readonly serviceCores: number;
  /** CPU use of the busiest main thread of a node. At most one core, because JavaScript runs only in this thread. */
  readonly mainThread: number;
  /** CPU use of PostgreSQL, with its background processes. */
  readonly databaseCores: number;
  /** CPU use of all processes of the machine. */
  readonly machineCores: number;
  /** Highest resident memory of a node, in bytes. */
  readonly nodeBytes: number;
  /** Highest memory of PostgreSQL's processes together, in bytes. */
  readonly databaseBytes: number;
  /** Average number of database connections in use, of the node that uses most. */
  readonly poolUsed: number;
  /** Average number of database sessions that wait, by what they wait for. */
  readonly waits: Readonly<Record<string, number>>;
}

interface SessionRow {
  readonly pid: number;
  readonly wait: string | null;
}

/**
 * Sessions of the database and background processes of the server. A wait is named only for sessions that execute a statement.
 */
const SESSIONS = `SELECT pid, CASE WHEN state = 'active' AND datname IS NOT NULL THEN wait_event_type || ': ' || wait_event END AS wait
  FROM pg_stat_activity WHERE (datname = current_database() OR datname IS NULL) AND pid <> pg_backend_pid()`;

/**
 * Starts a measurement of the resources of nodes and their database.
 *
 * @returns A function that ends it. It takes the duration of the part of the day in seconds, without the time in which the last
 *   actions were answered: their CPU time counts for the part.
 */
export async function measureResources(
  databaseUrl: string,
  nodes: readonly ServerProcess[],
): Promise<(seconds: number) => Promise<Used>> {
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  const cpu = new Map<number, { readonly first: number; last: number }>();
  const waits = new Map<string, number>();
  const pool = nodes.map((): number[] => []);
  let [looks, nodeBytes, databaseBytes] = [0, 0, 0];
  const pids = nodes.map(({ pid = 0 }) => pid);
  const look = async () => {
    const { rows } = await db.query<SessionRow>(SESSIONS);
    for (const { pid, wait } of rows) {
      const used = cpuSecondsOf(pid);
      // A process that began meanwhile has used all of its time since.
      const known = cpu.get(pid) ?? { first: looks === 0 ? used : 0, last: used };
      if (used >= known.last) known.last = used;
      cpu.set(pid, known);
      if (wait !== null) waits.set(wait, (waits.get(wait) ?? 0) + 1);
    }
    if (looks++ % LOOKS_PER_READ !== 0) return;
    nodeBytes = Math.max(nodeBytes, ...pids.map(residentBytesOf));
    databaseBytes = Math.max(
      databaseBytes,
      rows.reduce((sum, { pid }) => sum + (proportionalBytesOf(pid) || 0), 0),
    );
    for (const [i, { url }] of nodes.entries()) pool[i]?.push((await readMetrics(url)).shown('database_pool_used'));
  };
  await look();
  const before = {
    machine: machineSeconds(),
    all: pids.map(cpuSecondsOf),
    main: pids.map(mainThreadSecondsOf),
  };
  let stopped = false;
  const looking = (async () => {
    while (!stopped) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      await look();
    }
  })();
  return async (seconds) => {
    const grown = (now: readonly number[], then: readonly number[]) =>
      now.map((value, i) => (value - (then[i] ?? 0)) / seconds);
    const serviceCores = grown(pids.map(cpuSecondsOf), before.all).reduce((sum, cores) => sum + cores, 0);
    const mainThread = Math.max(...grown(pids.map(mainThreadSecondsOf), before.main));
    const machineCores = (machineSeconds() - before.machine) / seconds;
    stopped = true;
    await looking;
    await db.end();
    return {
      ...{ serviceCores, mainThread, machineCores, nodeBytes, databaseBytes },
      databaseCores: [...cpu.values()].reduce((sum, { first, last }) => sum + last - first, 0) / seconds,
      poolUsed: Math.max(...pool.map((used) => used.reduce((sum, count) => sum + count, 0) / used.length)),
      waits: Object.fromEntries([...waits].map(([wait, count]) => [wait, count / looks])),
    };
  };
}

/** Sizes of tables with their indexes, in bytes, by name, and the number of events that were logged so far. */
export interface Sizes {
  readonly tables: Readonly<Record<string, number>>;
  readonly database: number;
  readonly events: number;
}

export async function readSizes(db: pg.Client, organizationId: number): Promise<Sizes> {
  const { rows } = await db.query<{ name: string; bytes: string }>(
    `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  const whole = await db.query<{ bytes: string; events: string }>(
    `SELECT pg_database_size(current_database()) AS bytes, (SELECT last_id FROM event_counter WHERE realm_id = $1) AS events`,
    [organizationId],
  );
  return {
    tables: Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)])),
    database: Number(whole.rows[0]?.bytes),
    events: Number(whole.rows[0]?.events),
  };
}
