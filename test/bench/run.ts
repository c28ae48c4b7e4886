// npm run bench [-- --only=a,c] [--quick] [--profile=folder]: measures the service, and compares each value with that of a
// yardstick in the same run. A yardstick is a server that the service is compared with.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { measureBacklog } from './backlog.ts';
import { measureDifferent, measureFanOut, measureLargeFanOut } from './fan-out.ts';
import { measureFirstScreen } from './first-screen.ts';
import { measureHistory } from './history.ts';
import { measureLatency, measureMemory } from './idle.ts';
import { measureListGrowth } from './list-growth.ts';
import { measureCounts } from './live-counts.ts';
import { measureLongPolls } from './long-polls.ts';
import { measureMarkdown } from './markdown.ts';
import { measurePeerReads } from './peer-reads.ts';
import { HOW_TO_INSTALL, hasPeers } from './peers.ts';
import { measureReaders } from './readers.ts';
import { measureReads } from './reads.ts';
import { measureLargeRegistration, measureRegistration } from './registration.ts';
import { printJson, printTable, type Row } from './report.ts';
import { measureSearches } from './searches.ts';
import { measureSends } from './send-rates.ts';
import { measureSubscribers } from './sends.ts';
import { POOL_SIZE, type Stage, setStage } from './stage.ts';

/** All benchmarks in the order in which they run. Each has its own service, load generator and yardsticks. */
const BENCHMARKS: Readonly<Record<string, (stage: Stage) => Promise<Row[]>>> = {
  a: measureFanOut,
  b: measureLongPolls,
  c: measureReads,
  d: measureMemory,
  e: measureLatency,
  f: measureSends,
  g: measureSubscribers,
  h: measureHistory,
  i: measureMarkdown,
  j: measureRegistration,
  k: measureReaders,
  l: measureFirstScreen,
  m: measurePeerReads,
  n: measureBacklog,
  o: measureLargeRegistration,
  p: measureLargeFanOut,
  q: measureDifferent,
  r: measureSearches,
  s: measureCounts,
  t: measureListGrowth,
};

/** Benchmarks that need packages which are not dependencies of the service. */
const WITH_PEERS = ['m'];

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
});
const wanted = options.only?.split(',') ?? Object.keys(BENCHMARKS);
const databaseServer = process.env['DATABASE_URL_FOR_TESTS'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';

async function environmentOf({ db }: Stage): Promise<Record<string, string | number>> {
  const setting = async (name: string) => {
    const { rows } = await db.query<Record<string, string>>(`SHOW ${name}`);
    return rows[0]?.[name] ?? '';
  };
  return {
    node: process.version,
    cores: cpus().length,
    postgresql: await setting('server_version'),
    synchronous_commit: await setting('synchronous_commit'),
    fsync: await setting('fsync'),
    pool: `${POOL_SIZE} connections, for service and yardstick`,
    processes: 'service, yardstick and load generator each in a separate process, all on this machine',
  };
}

async function main(): Promise<void> {
  const startedAt = performance.now();
  const rows: Row[] = [];
  let environment: Record<string, string | number> = {};
  for (const [id, measure] of Object.entries(BENCHMARKS)) {
    if (!wanted.includes(id)) continue;
    if (WITH_PEERS.includes(id) && !hasPeers()) {
      console.log(`${id} skipped: its peers are not installed. Install: ${HOW_TO_INSTALL}`);
      continue;
    }
    await using stage = await setStage(databaseServer, { quick: options.quick, profile: options.profile });
    if (rows.length === 0) {
      environment = await environmentOf(stage);
      printEnvironment(environment);
    }
    rows.push(...(await measure(stage)));
  }
  printTable(rows);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  printJson({ ...environment, quick: options.quick, seconds }, rows);
}

function printEnvironment(environment: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(environment)) console.log(`${name}: ${value}`);
  if (environment['synchronous_commit'] !== 'on') console.log('NOT durable: commits cost less than in production');
  console.log();
}

await main();
