import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { ServerProcess } from '../helpers/process.ts';
import { makeNeighbour, personOf, startDemo } from './demo.ts';
import { eventually } from './listeners.ts';
import {
  brokenBy,
  compareSent,
  endsOf,
  faredIn,
  ms,
  Neighbours,
  neighbourFigures,
  SequentialSender,
  type WatchedTrial,
} from './neighbours.ts';
import { type Outcome, some } from './outcome.ts';
import { openDatabase, withDatabase } from './truth.ts';

/** Longest accepted time without a write to an organization after a node was paused that was changing it. In milliseconds. */
const RECOVERY_MS = 8_000;
/** Timeout for the attempts to pause a node in the middle of a change, in milliseconds. */
const HUNT_MS = 60_000;
const SENDERS = 30;

/**
 * Returns whether the paused node holds the lock on an event counter: one of its transactions has incremented a counter and is
 * idle.
 */
async function holdsCounter(database: pg.Client): Promise<boolean> {
  const { rows } = await database.query(`
    SELECT 1 FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
    WHERE a.datname = current_database() AND a.state = 'idle in transaction'
      AND l.relation = 'event_counter'::regclass AND l.mode = 'RowExclusiveLock'`);
  return rows.length > 0;
}

/**
 * Pauses the node while it changes the organization. Repeats this until the paused node holds the lock on the event counter.
 * @returns A function that resumes the node.
 */
async function pauseInChange(
  server: ServerProcess,
  senders: readonly SequentialSender[],
  database: pg.Client,
): Promise<() => void> {
  const { pid } = server;
  if (pid === undefined) throw new Error('The node does not run');
  let isOver = false;
  const changing = senders.map(async (sender) => {
    const id = await sender.send();
    while (!isOver && id !== undefined) await sender.edit(id);
  });
  const deadline = performance.now() + HUNT_MS;
  while (performance.now() < deadline) {
    await sleep(20 + Math.random() * 20);
    process.kill(pid, 'SIGSTOP');
    // PostgreSQL executes the statements that the node had already sent.
    await sleep(40);
    if (await holdsCounter(database)) {
      isOver = true;
      return () => void process.kill(pid, 'SIGCONT');
    }
    process.kill(pid, 'SIGCONT');
  }
  isOver = true;
  await Promise.all(changing);
  throw new Error('The node was never caught in the middle of a change');
}

/**
 * Pauses a node while it holds the lock on an organization's event counter. The other node must soon be able to write to the
 * organization, and other organizations must not be affected. When it is resumed, the paused node must refuse the change that
 * it was making, and then work.
 */
export async function pausedNodeTrial({ databaseServer, seconds, isTimed }: WatchedTrial): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  await using other = await ServerProcess.start({ env: service.env });
  const person = personOf(service.people, 'owner');
  const neighbours = await Neighbours.start(other.url, await makeNeighbour(other));
  const [here, there]: [SequentialSender[], SequentialSender[]] = [[], []];
  while (here.length < 6) here.push(await SequentialSender.start(service.server.url, person));
  while (there.length < 10) there.push(await SequentialSender.start(other.url, person));
  const usual = await neighbours.during(sleep(seconds * 1_000));

  const database = await openDatabase(service);
  const goOn = await pauseInChange(service.server, here, database);
  await database.end();
  const pausedAt = performance.now();
  let recovered = Number.POSITIVE_INFINITY;
  const isWritten = () => there.some(({ done }) => done > 0);
  const writing = there.map((sender) => sender.until(isWritten, { pauseMs: 50 }));
  const stuck = await neighbours.during(eventually(isWritten, 2 * RECOVERY_MS));
  const fared = faredIn([usual], [stuck]);
  if (isWritten()) recovered = performance.now() - pausedAt;
  goOn();
  await Promise.all(writing);
  // Waits for the answers to the requests that the paused node had not answered.
  await eventually(() => here.every(({ took, done }) => took.length > done), 1_000);
  const again = await here[0]?.send();
  for (const sender of [...here, ...there, neighbours]) sender.close();
  const ends = endsOf(here);
  const failures = [...here, ...there].flatMap((sender) => sender.failures);
  const broken = await withDatabase(service, (query) => compareSent(query, [...here, ...there, ...neighbours.senders]));
  return {
    trial: 'a node paused in the middle of a change',
    facts: {
      'written again after': ms(recovered),
      ...neighbourFigures(neighbours, fared),
      'requests to the paused node': ends.toString(),
    },
    violations: [
      ...(recovered > RECOVERY_MS ? [`the other node could not write for ${ms(recovered)}`] : []),
      ...(failures.length > 0 ? [`requests failed: ${some(failures)}`] : []),
      ...(again === undefined ? ['the paused node did not recover'] : []),
      ...brokenBy(broken),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [{ fault: 'a node paused in the middle of a change', ...broken, gap: recovered, neighbours: fared }],
  };
}

/**
 * Locks an organization's event counter while many requests to send wait for it. They must get a retryable error. The node must
 * stay ready, and another organization at the node must not be affected.
 */
export async function heldCounterTrial({ databaseServer, seconds, isTimed }: WatchedTrial): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const { url } = service.server;
  const person = personOf(service.people, 'owner');
  const neighbours = await Neighbours.start(url, await makeNeighbour(service.server));
  const senders: SequentialSender[] = [];
  while (senders.length < SENDERS) senders.push(await SequentialSender.start(url, person));
  const usual = await neighbours.during(sleep(seconds * 1_000));

  const database = await openDatabase(service);
  await database.query('BEGIN');
  await database.query(`SELECT 1 FROM event_counter c JOIN realm r ON r.id = c.realm_id
                        WHERE r.subdomain NOT LIKE 'n%' ORDER BY r.id FOR NO KEY UPDATE OF c`);
  let isHeld = true;
  const sending = senders.map((sender) => sender.until(() => !isHeld, { pauseMs: 50 }));
  const stuck = await neighbours.during(sleep(seconds * 1_000));
  const fared = faredIn([usual], [stuck]);
  isHeld = false;
  const sentMeanwhile = senders.reduce((sum, { done }) => sum + done, 0);
  await database.query('ROLLBACK');
  await database.end();
  await Promise.all(sending);
  const again = await senders[0]?.send();
  for (const sender of [...senders, neighbours]) sender.close();
  const ends = endsOf(senders);
  const failures = senders.flatMap((sender) => sender.failures);
  const broken = await withDatabase(service, (query) => compareSent(query, [...senders, ...neighbours.senders]));
  return {
    trial: `${SENDERS} senders wait for one counter`,
    facts: {
      ...neighbourFigures(neighbours, fared),
      'sends that waited': ends.toString(),
    },
    violations: [
      ...(sentMeanwhile > 0 ? ['the counter was not locked: the trial tested nothing'] : []),
      ...(failures.length > 0 ? [`waiting requests failed: ${some(failures)}`] : []),
      ...(again === undefined ? ['sending failed after the counter was unlocked'] : []),
      ...brokenBy(broken),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [{ fault: 'an event counter locked', ...broken, gap: 'as long as it is locked', neighbours: fared }],
  };
}
