import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Json } from '../helpers/http.ts';
import { personOf, startDemo } from './demo.ts';
import { gapOf } from './felt.ts';
import { acknowledgedBy, type Crowd, figuresOf, gather } from './kills.ts';
import { eventually } from './listeners.ts';
import { NamedCounters, type Outcome } from './outcome.ts';
import { between, type Random, seeded } from './random.ts';
import { Client, type ClientReply } from './requests.ts';
import { compareWithTruth } from './truth.ts';

/** Longest accepted time until the service works again after it has lost all database connections, in milliseconds. */
const RECOVERY_MS = 5_000;
const READERS = 4;

/**
 * Makes PostgreSQL repeatedly end all connections of the service, under load. Acknowledged changes must persist, every request
 * must be answered, and the service must recover by itself.
 */
export async function lossTrial({
  databaseServer,
  losses,
  seed,
}: {
  databaseServer: string;
  losses: number;
  seed: number;
}): Promise<Outcome> {
  const random = seeded(seed);
  await using service = await startDemo(databaseServer, { EVENT_QUEUE_WRITE_SECONDS: '0.5', LOG_LEVEL: 'fatal' });
  const { server, databaseUrl, people } = service;
  const crowd = await gather(server.url, service, random);
  const reading = new Readers(server.url, personOf(people, 'member'));
  const since = performance.now();
  const { ended, recoveries } = await endConnections(databaseUrl, crowd, { losses, random });
  await sleep(300);
  await crowd.stopWriting();
  await reading.stop();
  await crowd.stopListening();
  const violations: string[] = server.pid === undefined ? ['the server has ended'] : [];
  const slow = recoveries.filter((ms) => ms > RECOVERY_MS);
  if (slow.length > 0) violations.push(`recovery took ${slow.map((ms) => `${Math.round(ms)} ms`).join(', ')}`);
  const truth = await compareWithTruth(service, crowd.writers, crowd.listeners);
  return {
    trial: 'PostgreSQL ends all connections',
    facts: {
      losses,
      'connections ended': ended,
      ...figuresOf(crowd),
      events: truth.events,
      'writes refused': crowd.writers.reduce((sum, { refused }) => sum + refused.length, 0),
      reads: reading.ends.toString(),
      'longest recovery': `${Math.round(Math.max(...recoveries))} ms`,
    },
    violations: [
      ...violations,
      ...reading.violations.lines,
      ...crowd.writers.flatMap((writer) => writer.violations.lines),
      ...truth.violations,
    ],
    felt: [
      {
        fault: 'PostgreSQL ends all connections',
        ...truth.broken,
        gap: gapOf(crowd, since),
        neighbours: { why: 'all organizations share the connections' },
      },
    ],
  };
}

/**
 * Repeatedly ends the database connections of the service, each time after it has recovered.
 *
 * @returns Number of connections that ended, and the durations of the recoveries in milliseconds.
 */
async function endConnections(
  databaseUrl: string | undefined,
  crowd: Crowd,
  { losses, random }: { losses: number; random: Random },
): Promise<{ ended: number; recoveries: number[] }> {
  const operator = new pg.Client({ connectionString: databaseUrl });
  await operator.connect();
  let ended = 0;
  const recoveries: number[] = [];
  for (let i = 0; i < losses; i++) {
    await sleep(between(random, 200, 1_000));
    const { rowCount } = await operator.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    ended += rowCount ?? 0;
    recoveries.push(await recovery(crowd));
  }
  await operator.end();
  return { ended, recoveries };
}

/**
 * Waits until the next change is acknowledged. @returns Duration of the wait in milliseconds, at most about four times
 * `RECOVERY_MS`.
 */
async function recovery(crowd: Crowd): Promise<number> {
  const [startedAt, before] = [performance.now(), acknowledgedBy(crowd)];
  await eventually(() => acknowledgedBy(crowd) > before, 4 * RECOVERY_MS);
  return performance.now() - startedAt;
}

/** Clients that only read, over REST and GraphQL. */
class Readers {
  readonly ends = new NamedCounters();
  readonly violations = new NamedCounters();
  readonly #running: Promise<unknown>;
  #stopped = false;

  constructor(url: string, person: ReturnType<typeof personOf>) {
    this.#running = Promise.all(Array.from({ length: READERS }, (_, i) => this.#read(new Client(url, person), i)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #read(client: Client, turn: number): Promise<void> {
    for (let i = turn; !this.#stopped; i++) {
      try {
        const answer =
          i % 2 === 0
            ? await client.rest('GET', '/users/me')
            : await client.graphql('{ viewer { databaseId } drafts(first: 1) { edges { cursor } } }');
        this.ends.add(String(answer.status));
        if (!isRead(answer)) this.violations.add(`a read: answer ${answer.status} ${JSON.stringify(answer.body)}`);
      } catch (error) {
        this.violations.add(`a read: ${error}`);
      }
      await sleep(5);
    }
    client.close();
  }
}

/** Returns whether the service answered with the data, or with the error that it is temporarily unavailable. */
function isRead({ status, body }: ClientReply): boolean {
  const codes = [body?.code, ...((body?.errors ?? []) as Json[]).map((error) => error.extensions?.code)];
  return (status === 200 || status === 503) && codes.every((code) => code === undefined || code === 'REQUEST_TIMEOUT');
}
