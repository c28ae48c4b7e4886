import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fillHistory } from '../bench/history.ts';
import { createDatabase } from '../helpers/database.ts';
import type { Environment, ServerProcess } from '../helpers/process.ts';
import { type DemoService, startDemo } from './demo.ts';
import { acknowledgedBy, type Crowd, figuresOf, gather } from './kills.ts';
import { eventually } from './listeners.ts';
import type { Outcome } from './outcome.ts';
import { seeded } from './random.ts';
import { compareWithTruth, withDatabase } from './truth.ts';

const ROOT = join(import.meta.dirname, '../..');
/**
 * Lines of the command's output. When one of them appears, the command is killed: while it creates the tables, copies them, checks
 * them, commits the copy and seals the source, and afterwards.
 */
const PHASES = [
  /^creating/,
  /^channel: /,
  /^event: /,
  /^message: /,
  /^user_topic: /,
  /^checking/,
  /^committing/,
  /^collecting/,
];
/** Phases in which the command can already have sealed the source database, so that no service starts on it. */
const MAY_SEAL = PHASES.slice(-2);
const PATIENCE_MS = 20_000;

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs the command `database copy` until it ends. @param killAt The command is killed when this line of its output appears. */
async function copyTo(url: string, env: Environment, killAt?: RegExp): Promise<Ended> {
  const args = ['--disable-warning=ExperimentalWarning', 'src/cli.ts', 'database', 'copy', '--json', '--to', url];
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text;
      if (killAt !== undefined && output.split('\n').some((line) => killAt.test(line))) child.kill('SIGKILL');
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** Waits until the clients of the crowd have made further changes. @returns Violations. */
async function stillWrites(crowd: Crowd, when: string): Promise<string[]> {
  const before = acknowledgedBy(crowd);
  const goesOn = await eventually(() => acknowledgedBy(crowd) > before + 10, PATIENCE_MS);
  return goesOn ? [] : [`${when}: no change was acknowledged`];
}

/**
 * Starts a service again after the command was killed.
 *
 * @param mayBeSealed Whether the command was in a phase in which it seals the source.
 * @returns False if the source is sealed.
 */
async function restarts(server: ServerProcess, mayBeSealed: boolean): Promise<boolean> {
  try {
    await server.restart();
    return true;
  } catch (error) {
    // The error contains the log of all starts. The log of this start is at the end.
    if (mayBeSealed && String(error).slice(-2_000).includes('was copied to')) return false;
    throw error;
  }
}

/** Inserts messages into the embedded database of a stopped service, from the first user of the demo. */
const fill = (service: DemoService, size: number): Promise<void> =>
  withDatabase(service, async (query) => {
    const db = { query: async (sql: string, values: unknown[] = []) => ({ rows: await query(sql, values) }) };
    await fillHistory(db as never, { organizationId: 1, senderId: 1, size });
  });

/**
 * Copies the data of a service to another database twice: from the embedded database to PostgreSQL, and from there to another
 * database. Clients write and listen before and after each copy. They keep their queues, and no acknowledged change is missing
 * anywhere. The command is killed in every phase, after which the service must be able to use its database as before.
 *
 * @param messages Number of messages that the database contains before the clients write.
 */
export async function copyTrial({
  databaseServer,
  messages,
  seed,
}: {
  databaseServer: string;
  messages: number;
  seed: number;
}): Promise<Outcome> {
  await using own = new AsyncDisposableStack();
  const service = own.use(await startDemo(undefined, { EVENT_QUEUE_WRITE_SECONDS: '0.5', LOG_LEVEL: 'warn' }));
  const { server } = service;
  const makeTarget = async () => own.use(await createDatabase(databaseServer)).url;
  const violations: string[] = [];
  await server.stop();
  await fill(service, messages);
  await server.restart();
  const crowd = await gather(server.url, service, seeded(seed), { pauseMs: 20 });
  const secretKey = () => readFileSync(join(server.dataDir, 'secret-key'), 'utf8').trim();
  let env: Environment = { ...service.env, DATA_DIR: server.dataDir };
  let databaseUrl: string | undefined;
  let [longestMs, kills] = [0, 0];
  for (const from of ['the embedded database', 'PostgreSQL']) {
    violations.push(...(await stillWrites(crowd, from)));
    let target = '';
    for (const phase of PHASES) {
      target = await makeTarget();
      await server.stop();
      const { code, output } = await copyTo(target, env, phase);
      if (code !== null) violations.push(`${from}: the command ended before ${phase}: ${output.slice(-500)}`);
      kills++;
      // Once the source is sealed, the next command with the same target finishes the copy.
      if (!(await restarts(server, MAY_SEAL.includes(phase)))) break;
      violations.push(...(await stillWrites(crowd, `${from}, killed at ${phase}`)));
    }
    const startedAt = performance.now();
    const copied = await copyTo(target, env);
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    if (copied.code !== 0 || !copied.output.includes('"event_queues": "continue"')) {
      violations.push(`${from}: the copy failed: ${copied.output.slice(-1_000)}`);
      break;
    }
    databaseUrl = target;
    env = { ...env, DATABASE_URL: target, SECRET_KEY: secretKey() };
    await server.restart({ DATABASE_URL: target, SECRET_KEY: secretKey(), DEMO: 'off' });
  }
  violations.push(...(await stillWrites(crowd, 'the last copy')));
  await sleep(300);
  await crowd.stopWriting();
  await crowd.stopListening();
  const truth = await compareWithTruth({ ...service, databaseUrl }, crowd.writers, crowd.listeners);
  return {
    trial: 'copies to another database',
    facts: {
      ...{ messages, kills, ...figuresOf(crowd), events: truth.events },
      'longest copy': `${(longestMs / 1000).toFixed(1)} s`,
    },
    violations: [
      ...violations,
      ...crowd.writers.flatMap((writer) => writer.violations.lines),
      ...crowd.listeners.flatMap(({ received }) => received.violations.lines),
      ...truth.violations,
    ],
  };
}
