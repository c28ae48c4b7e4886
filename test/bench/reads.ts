import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './measure.ts';
import { requestBytes } from './raw-http.ts';
import type { Row } from './report.ts';
import { POOL_SIZE, type Stage } from './stage.ts';
import { withoutSignatures } from './unsigned.ts';

const CONNECTIONS = 32;

/** Selects the fields of GET /users/me, except for the owner of a bot, because all viewers are human users. */
export const QUERY = `{ viewer { databaseId deliveryEmail email fullName joinedAt isActive role isBot botType timezone avatarUrl
  avatarVersion isImportedStub } }`;

/**
 * The compared servers. `by hand` is a hand-written server. `by hand together` is one that looks up the API keys of concurrent
 * requests with one query.
 */
type Who = 'service' | 'by hand' | 'by hand together';

interface Side {
  readonly who: Who;
  readonly door: 'REST' | 'GraphQL';
  readonly port: number;
  readonly requests: readonly Buffer[];
  readonly cpu: () => Promise<number>;
}

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly sample: { readonly head: string; readonly body: string };
  readonly generatorShare: number;
  readonly serverShare: number;
}

interface Measured {
  readonly rounds: Round[];
  readonly reads: string;
}

/**
 * Measures reads of the authenticated user over REST and GraphQL, compared with a hand-written server. Rows "c" of the report.
 */
export async function measureReads(stage: Stage): Promise<Row[]> {
  const { quick } = stage;
  const sides = await makeSides(stage);
  const measured = new Map<string, Measured>();
  for (const side of sides) measured.set(keyOf(side), { rounds: [], reads: await countReads(stage, side) });
  const [warmUp, rounds, seconds] = quick ? [1, 3, 1] : [1, 6, 1.2];
  for (let i = 0; i < warmUp + rounds; i++) {
    for (const side of sides) {
      const round = await runRound(stage, side, seconds);
      if (i >= warmUp) measured.get(keyOf(side))?.rounds.push(round);
    }
  }
  const of = (who: Who, door: Side['door']) => measured.get(keyOf({ who, door })) as Measured;
  const names = { REST: 'GET /api/v1/users/me', GraphQL: 'the same object over GraphQL' };
  const marks = { REST: 0.4, GraphQL: 0.25 };
  return (['REST', 'GraphQL'] as const).flatMap((door) => [
    { ...rowOf(names[door], of('service', door), of('by hand', door)), mark: marks[door] },
    rowOf(`${names[door]}, yardstick with batched lookups`, of('service', door), of('by hand together', door)),
  ]);
}

const keyOf = ({ who, door }: Pick<Side, 'who' | 'door'>) => `${who} ${door}`;

async function makeSides(stage: Stage): Promise<Side[]> {
  const { yardsticks, port, databaseUrl } = stage;
  const byHand = (together: boolean) => yardsticks.ask('reads', { databaseUrl, poolSize: POOL_SIZE, together });
  const cpuByHand = () => yardsticks.ask('cpu', undefined);
  const servers = [
    { who: 'by hand' as const, port: await byHand(false), cpu: cpuByHand },
    { who: 'service' as const, port, cpu: async () => stage.cpu() },
    { who: 'by hand together' as const, port: await byHand(true), cpu: cpuByHand },
  ];
  return servers.flatMap((server) => [
    { ...server, door: 'REST' as const, requests: restRequests(stage, server.port) },
    { ...server, door: 'GraphQL' as const, requests: graphqlRequests(stage, server.port) },
  ]);
}

function restRequests({ users }: Stage, port: number): Buffer[] {
  return users
    .slice(0, CONNECTIONS)
    .map(({ basic }) =>
      requestBytes({ method: 'GET', path: '/api/v1/users/me', port, headers: { Authorization: basic } }),
    );
}

function graphqlRequests({ users }: Stage, port: number): Buffer[] {
  const body = JSON.stringify({ query: QUERY });
  return users.slice(0, CONNECTIONS).map(({ basic }) =>
    requestBytes({
      method: 'POST',
      path: '/graphql',
      port,
      headers: { Authorization: basic, 'Content-Type': 'application/json', Accept: 'application/json' },
      body,
    }),
  );
}

async function runRound({ generator }: Stage, { port, requests, cpu }: Side, seconds: number): Promise<Round> {
  const before = await cpu();
  const load = await generator.ask('load', { port, requests, seconds });
  const serverCpu = (await cpu()) - before;
  return {
    perSecond: load.perSecond,
    ...load.took,
    sample: load.sample,
    generatorShare: load.cpuSeconds / load.seconds,
    serverShare: serverCpu / load.seconds,
  };
}

/**
 * Returns the number of transactions and API key lookups per request as text. PostgreSQL counts them in a separate measurement.
 */
async function countReads({ db, generator }: Stage, { port, requests }: Side): Promise<string> {
  await reportStatistics(db);
  const before = await readStatistics(db);
  const { answers } = await generator.ask('load', { port, requests, seconds: 0.4 });
  await reportStatistics(db);
  const after = await readStatistics(db);
  const each = (name: keyof typeof after) => ((after[name] - before[name]) / answers).toFixed(2);
  return `${each('transactions')} transactions, ${each('keyReads')} key lookups`;
}

/**
 * Ends all other connections, because PostgreSQL updates the statistics of a connection when it ends, or after ten idle
 * seconds.
 */
async function reportStatistics(db: Stage['db']): Promise<void> {
  const others = 'datname = current_database() AND pid <> pg_backend_pid()';
  await db.query(`SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE ${others}`);
  await sleep(300);
}

async function readStatistics(db: Stage['db']): Promise<{ transactions: number; keyReads: number }> {
  const { rows } = await db.query<{ transactions: string; reads: string }>(
    `SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS transactions,
            (SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE relname = 'api_key') AS reads`,
  );
  return { transactions: Number(rows[0]?.transactions), keyReads: Number(rows[0]?.reads) };
}

function rowOf(what: string, byService: Measured, byHand: Measured): Row {
  const [service, yardstick] = [byService.rounds, byHand.rounds];
  const middle = (side: Round[], name: 'p50' | 'p99') => median(side.map((round) => round[name])).toFixed(2);
  const share = (side: Round[], name: 'generatorShare' | 'serverShare') =>
    `${Math.round(median(side.map((round) => round[name])) * 100)} %`;
  const both = (say: (side: Round[]) => string) => `service ${say(service)}; yardstick ${say(yardstick)}`;
  const bodies = [service, yardstick].map(([round]) => withoutSignatures(round?.sample.body ?? '')) as [string, string];
  return {
    id: 'c',
    what,
    unit: '/s',
    unequal: bodies[0] === bodies[1] ? undefined : 'unequal bodies',
    service: service.map(({ perSecond }) => perSecond),
    yardstick: yardstick.map(({ perSecond }) => perSecond),
    facts: {
      body: bodies[0],
      ...(bodies[0] !== bodies[1] && { 'body of the yardstick': bodies[1] }),
      'bytes of the body': `service ${bodies[0].length}, yardstick ${bodies[1].length}`,
      'bytes of the head': both(([round]) => String(round?.sample.head.length)),
      latency: both((side) => `p50 ${middle(side, 'p50')} ms, p99 ${middle(side, 'p99')} ms`),
      'reads per request': `service ${byService.reads}; yardstick ${byHand.reads}`,
      'CPU of one core': both(
        (side) => `server ${share(side, 'serverShare')}, generator ${share(side, 'generatorShare')}`,
      ),
    },
  };
}
