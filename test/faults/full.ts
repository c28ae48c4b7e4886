import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../helpers/database.ts';
import { PrivatePostgres } from '../helpers/private-postgres.ts';
import { ServerProcess } from '../helpers/process.ts';
import { SmallDisk } from '../helpers/small-disk.ts';
import { personOf, startDemo } from './demo.ts';
import { gapOf } from './felt.ts';
import { acknowledgedBy, figuresOf, gather } from './kills.ts';
import { eventually } from './listeners.ts';
import { NamedCounters, type Outcome } from './outcome.ts';
import { seeded } from './random.ts';
import { Client } from './requests.ts';
import { compareWithTruth } from './truth.ts';

/** Size of the disk, in megabytes. An empty database takes 40 MB, and the embedded database reserves 32 MB of free space. */
const DISK_MEGABYTES = 192;
/**
 * Longest accepted time until the service reports a full disk, and until it recovers after space is freed. In milliseconds. The
 * service checks the disk space every 5 s.
 */
const PATIENCE_MS = 20_000;
/** Interval at which the service stores the read positions of event queues, in milliseconds. */
const QUEUE_WRITE_MS = 500;
const LACK = 'not ready: disk space of the database';
const SNIPPET = { title: 'of the full disk', content: 'c'.repeat(1_000) };

/**
 * Fills up the disk of the database repeatedly while clients write and listen. Changes must be refused with the correct code,
 * reads must be answered, and acknowledged changes must persist. The service must report the full disk as the cause, and
 * recover by itself when space is freed.
 */
export async function fullTrial({
  on,
  fills,
  seed,
}: {
  on: 'embedded' | 'postgresql';
  fills: number;
  seed: number;
}): Promise<Outcome> {
  await using own = new AsyncDisposableStack();
  const folder = () =>
    own.adopt(mkdtempSync(join(tmpdir(), 'chat-test-')), (path) => rmSync(path, { recursive: true, force: true }));
  const dataDir = folder();
  // PostgreSQL runs as another user, who cannot access the data directory.
  const place = on === 'embedded' ? join(dataDir, 'postgres') : folder();
  const disk = own.use(new SmallDisk(place, DISK_MEGABYTES));
  const postgres = on === 'postgresql' ? own.use(await PrivatePostgres.start(place)) : undefined;
  const service = own.use(
    await startDemo(postgres?.url, { EVENT_QUEUE_WRITE_SECONDS: String(QUEUE_WRITE_MS / 1000) }, dataDir),
  );
  const { server } = service;
  const crowd = await gather(server.url, service, seeded(seed));
  const [refused, violations] = [new NamedCounters(), new NamedCounters()];
  const client = new Client(server.url, personOf(service.people, 'member'));
  const hold = async (promise: string, isKept: () => Promise<boolean>) => {
    if (!(await until(isKept))) violations.add(promise);
  };
  const since = performance.now();
  for (let i = 0; i < fills; i++) {
    const before = acknowledgedBy(crowd);
    await eventually(() => acknowledgedBy(crowd) > before + 20, PATIENCE_MS);
    disk.fill();
    await hold('a change was not refused as STORAGE_FULL', async () => {
      const { status, body } = await client.send({ method: 'POST', path: '/api/v1/saved_snippets', params: SNIPPET });
      refused.add(`${status} ${body?.code ?? body?.result}`);
      return status === 507 && body?.code === 'STORAGE_FULL' && body['retry-after'] === 30;
    });
    await hold('/readyz does not report the cause', async () => (await readiness(server.url)).includes(LACK));
    // Waits longer than a node assumes, without a check, that it still holds a queue. Long polls must be answered nevertheless.
    await sleep(3 * QUEUE_WRITE_MS);
    await hold('reads fail', async () => (await client.rest('GET', '/users/me')).status === 200);
    disk.makeRoom();
    const full = acknowledgedBy(crowd);
    await hold('no change succeeds when there is disk space', async () => acknowledgedBy(crowd) > full + 20);
    await hold('not ready when there is disk space', async () => (await readiness(server.url)) === 'ready\n');
  }
  await crowd.stopWriting();
  const gap = gapOf(crowd, since);
  await crowd.stopListening();
  const said = server
    .log()
    .split('\n')
    .filter((line) => line.includes('disk of the database is full'));
  if (said.length === 0) violations.add('the server log does not mention the full disk');
  // The server logs a full disk at most once a minute, and the disk is full for less than a minute each time.
  if (said.length > fills) violations.add(`the server log mentions the full disk ${said.length} times`);
  await server.stop();
  const truth = await compareWithTruth(service, crowd.writers, crowd.listeners);
  // With PostgreSQL, the tested service could start and answer reads while the disk is full. The next server has to create its
  // tables in an empty database, which a full disk prevents.
  const empty = postgres && own.use(await createDatabase(postgres.url));
  disk.fill();
  const starting = empty === undefined ? server.restart() : startOn(empty.url);
  const ending = await starting.then(
    () => 'it started',
    (error: Error) => error.message.trim().split('\n').at(-1) ?? '',
  );
  if (!/^The disk of .+\. Free some disk space.*\.$/.test(ending)) violations.add(`a start on a full disk: ${ending}`);
  disk.makeRoom();
  await server.restart();
  client.close();
  const trial = `a full disk under ${on === 'embedded' ? 'the embedded database' : 'PostgreSQL'}`;
  return {
    trial,
    facts: {
      fills,
      ...figuresOf(crowd),
      events: truth.events,
      'writes refused': crowd.writers.reduce((sum, writer) => sum + writer.refused.length, 0),
      asked: refused.toString(),
      'lines in the log': said.length,
      'a start reports': ending,
    },
    violations: [
      ...violations.lines,
      ...crowd.writers.flatMap((writer) => writer.violations.lines),
      ...truth.violations,
    ],
    felt: [{ fault: trial, ...truth.broken, gap, neighbours: { why: 'all organizations share the disk' } }],
  };
}

async function startOn(databaseUrl: string): Promise<void> {
  const env = { DATABASE_URL: databaseUrl, SECRET_KEY: 's'.repeat(40) };
  await (await ServerProcess.start({ env }))[Symbol.asyncDispose]();
}

const readiness = async (url: string): Promise<string> => (await fetch(`${url}/readyz`)).text();

async function until(isSo: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) return false;
    await sleep(100);
  }
  return true;
}
