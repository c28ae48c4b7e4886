import { cpSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../helpers/control.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { type Environment, ServerProcess } from '../helpers/process.ts';
import { Cluster } from './cluster.ts';
import { type DemoService, type Person, personOf, startDemo } from './demo.ts';
import { figuresOf, gather } from './kills.ts';
import { eventually } from './listeners.ts';
import type { Outcome } from './outcome.ts';
import { seeded } from './random.ts';
import { Client } from './requests.ts';
import { compareWithTruth, withDatabase } from './truth.ts';

const BEGINS = 'new event log epoch';
/**
 * `FEW`: number of events before a back-up, and again between the back-up and the restore. `MORE`: number after the restore.
 */
const [FEW, MORE] = [3, 6];
/** Longest accepted time until a running node detects the restore, in milliseconds. */
const NOTICE_MS = 15_000;
/** Duration of writing before a promotion, and again after it, in milliseconds. */
const WRITING_MS = 3_000;

const begunBy = (server: ServerProcess): number => server.log().split(BEGINS).length - 1;

/** A client that has received events before the restore of a back-up, and reconnects after the restore. */
class Returning {
  readonly #person: Person;
  #url: string;
  /** Ids of two queues. The back-up contains `known`. `later` was created after the back-up. */
  #queues: { readonly known: string; later: string } = { known: '', later: '' };
  #position = -1;

  constructor(url: string, person: Person) {
    this.#url = url;
    this.#person = person;
  }

  async beforeBackUp(): Promise<void> {
    this.#queues = { known: (await this.#asking((client) => client.register())).queueId, later: '' };
    await this.#write(FEW);
  }

  async afterBackUp(): Promise<void> {
    this.#queues.later = (await this.#asking((client) => client.register())).queueId;
    await this.#write(FEW);
    const { events } = await this.#asking((client) =>
      client.ask('GET', '/events', { queue_id: this.#queues.known, last_event_id: -1, dont_block: true }),
    );
    this.#position = events.at(-1).id;
  }

  /**
   * Returns the violations in the answers after a restore.
   *
   * @param url Current address of the service.
   */
  async afterRestore(what: string, url = this.#url): Promise<string[]> {
    this.#url = url;
    // Writes more events than the restore has lost. If a node continued from the restored counter, it would now reuse ids that
    // this client has received.
    await this.#write(MORE);
    const { known, later } = this.#queues;
    const faults: string[] = [];
    for (const [queueId, reason] of [
      [known, 'restored'],
      [later, 'unknown'],
    ] as const) {
      for (const told of await this.#answers(queueId)) {
        const isRight = told.code === 'BAD_EVENT_QUEUE_ID' && told.reason === reason;
        if (!isRight) faults.push(`${what}: a queue was answered with ${JSON.stringify(told)}, not ${reason}`);
      }
    }
    const anew = await this.#asking((client) => client.register());
    if (anew.startId <= this.#position)
      faults.push(`${what}: the log continued at ${anew.startId}, after ${this.#position}`);
    await this.#write(1);
    const { events } = await this.#asking((client) =>
      client.ask('GET', '/events', { queue_id: anew.queueId, last_event_id: anew.startId, dont_block: true }),
    );
    if (events.length === 0) faults.push(`${what}: a new queue received no event`);
    return faults;
  }

  /** Reads a queue over REST and GraphQL. @returns The error code and reason of each answer. */
  async #answers(queueId: string): Promise<{ code?: unknown; reason?: unknown }[]> {
    return this.#asking(async (client) => {
      const rest = await client.rest('GET', '/events', {
        queue_id: queueId,
        last_event_id: this.#position,
        dont_block: true,
      });
      const graphql = await client.graphql(
        'query ($q: String!, $p: LongId) { events(queueId: $q, after: $p) { hasMore } }',
        {
          q: queueId,
          p: this.#position,
        },
      );
      return [rest.body ?? {}, graphql.body?.errors?.[0]?.extensions ?? {}].map(({ code, reason }) => ({
        code,
        reason,
      }));
    });
  }

  #write(count: number): Promise<void> {
    return this.#asking(async (client) => {
      for (let i = 0; i < count; i++) {
        await client.ask('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: `draft ${i}` }] });
      }
    });
  }

  async #asking<T>(ask: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client(this.#url, this.#person);
    try {
      return await ask(client);
    } finally {
      client.close();
    }
  }
}

/**
 * A procedure that backs up the database, lets `returning` write, and restores the database. @returns Violations, one sentence
 * each.
 */
type Way = (returning: Returning) => Promise<string[]>;

/**
 * Returns the procedures that restore PostgreSQL, by description. Each procedure starts with the cluster in the state in which
 * the previous one left it.
 */
const waysOn = (cluster: Cluster, { server, env, databaseUrl = '' }: DemoService): Readonly<Record<string, Way>> => {
  const began = async (what: string, before: number, count: number): Promise<string[]> => {
    const begun = begunBy(server) - before;
    return begun === count ? [] : [`${what}: ${begun} epochs began instead of ${count}`];
  };
  const dump = async (): Promise<string> => {
    const file = cluster.path('dump');
    await cluster.program('pg_dump', ['-Fc', '-f', file, databaseUrl]);
    return file;
  };
  return {
    async 'pg_restore --clean into the same database'(returning) {
      const file = await dump();
      await returning.afterBackUp();
      const before = begunBy(server);
      await server.stop();
      await cluster.program('pg_restore', ['--clean', '--if-exists', '-d', databaseUrl, file]);
      await server.restart();
      return [...(await began('--clean', before, 1)), ...(await returning.afterRestore('--clean'))];
    },
    async 'pg_restore into another database'(returning) {
      const file = await dump();
      await returning.afterBackUp();
      await server.stop();
      const other = new URL(databaseUrl);
      other.pathname = `${other.pathname}_other`;
      await cluster.program('createdb', ['--maintenance-db', cluster.url, other.pathname.slice(1)]);
      await cluster.program('pg_restore', ['-d', other.href, file]);
      const elsewhere: Environment = { ...env, DATABASE_URL: other.href };
      try {
        await using there = await ServerProcess.start({ env: elsewhere });
        const faults = await returning.afterRestore('another database', there.url);
        return begunBy(there) === 1 ? faults : [...faults, `another database: ${begunBy(there)} epochs began`];
      } finally {
        await server.restart();
      }
    },
    async 'a base back-up under a running node'(returning) {
      const copy = await cluster.backUp();
      await returning.afterBackUp();
      const before = begunBy(server);
      await cluster.changeTo(copy);
      if (!(await eventually(() => begunBy(server) > before, NOTICE_MS))) return ['a base back-up: not noticed'];
      return [...(await began('a base back-up', before, 1)), ...(await returning.afterRestore('a base back-up'))];
    },
    async 'a base back-up without a running node, reported by the operator'(returning) {
      const copy = await cluster.backUp();
      await returning.afterBackUp();
      const before = begunBy(server);
      await server.stop();
      await cluster.changeTo(copy);
      await server.restart();
      await runCommand(server.dataDir, 'log new-epoch', {});
      return [...(await began('the operator', before, 1)), ...(await returning.afterRestore('the operator'))];
    },
    async 'a point in time without a running node'(returning) {
      const copy = await cluster.backUp();
      await returning.afterBackUp();
      const before = begunBy(server);
      await server.stop();
      await cluster.changeTo(copy, 'point in time');
      await server.restart();
      return [...(await began('a point in time', before, 1)), ...(await returning.afterRestore('a point in time'))];
    },
    async 'a point in time under a running node'(returning) {
      const copy = await cluster.backUp();
      await returning.afterBackUp();
      const before = begunBy(server);
      await cluster.changeTo(copy, 'point in time');
      if (!(await eventually(() => begunBy(server) > before, NOTICE_MS))) return ['a point in time: not noticed'];
      return [...(await began('a point in time', before, 1)), ...(await returning.afterRestore('a point in time'))];
    },
  };
};

/** Restores an embedded database from a copy of its data directory. @returns Violations, one sentence each. */
async function restoreCopy(): Promise<string[]> {
  await using service = await startDemo(undefined);
  const { server } = service;
  const returning = new Returning(server.url, personOf(service.people, 'member'));
  await returning.beforeBackUp();
  await server.stop();
  const copy = newDataDir();
  try {
    rmSync(copy, { recursive: true });
    cpSync(server.dataDir, copy, { recursive: true });
    await server.restart();
    await returning.afterBackUp();
    const before = begunBy(server);
    await server.stop();
    for (const place of ['postgres', 'secret-key']) {
      rmSync(`${server.dataDir}/${place}`, { recursive: true });
      cpSync(`${copy}/${place}`, `${server.dataDir}/${place}`, { recursive: true });
    }
    await server.restart();
    const begun = begunBy(server) - before;
    const faults = await returning.afterRestore('a copy');
    return begun === 1 ? faults : [...faults, `a copy: ${begun} epochs began instead of 1`];
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/**
 * Replaces the database server with its standby while clients write and listen. Event ids must continue without a gap, and no
 * event may be lost.
 */
async function promote(cluster: Cluster, seed: number): Promise<Pick<Outcome, 'facts' | 'violations'>> {
  await using service = await startDemo(cluster.url, { EVENT_QUEUE_WRITE_SECONDS: '0.5', LOG_LEVEL: 'warn' });
  const takeOver = await cluster.follow();
  const crowd = await gather(service.server.url, service, seeded(seed));
  await sleep(WRITING_MS);
  await takeOver();
  await sleep(WRITING_MS);
  await crowd.stopWriting();
  await crowd.stopListening();
  const { violations } = await compareWithTruth(service, crowd.writers, crowd.listeners);
  const [place] = await withDatabase(service, (query) =>
    query('SELECT e.timeline AS noted, p.timeline FROM log_epoch e, log_place() p', []),
  );
  const begun = begunBy(service.server);
  return {
    facts: { 'timeline after the promotion': String(place?.['timeline']), ...figuresOf(crowd) },
    violations: [
      ...(begun === 0 ? [] : [`a promotion: ${begun} epochs began`]),
      ...(place?.['noted'] === place?.['timeline'] ? [] : [`a promotion: ${JSON.stringify(place)} was not recorded`]),
      ...crowd.writers.flatMap((writer) => writer.violations.lines),
      ...violations,
    ],
  };
}

/**
 * Restores the database from a back-up by several procedures. A client that reconnects with an old queue must get an error
 * because the queue is lost. No event id may be reused. Then promotes a standby, which must not affect clients or lose events.
 */
export async function restoreTrial({ seed }: { seed: number }): Promise<Outcome> {
  const violations: string[] = [];
  const facts: Record<string, number | string> = {};
  const note = async (way: string, restore: () => Promise<string[]>) => {
    const faults = await restore().catch((error: unknown) => [`${way}: ${error}`]);
    facts[way] = faults.length === 0 ? 'detected' : 'NOT detected';
    violations.push(...faults);
  };
  await using cluster = await Cluster.start();
  {
    await using service = await startDemo(cluster.url, { LOG_LEVEL: 'warn' });
    for (const [way, restore] of Object.entries(waysOn(cluster, service))) {
      await note(way, async () => {
        const returning = new Returning(service.server.url, personOf(service.people, 'member'));
        await returning.beforeBackUp();
        return restore(returning);
      });
    }
  }
  await note('a copy of an embedded database', restoreCopy);
  const promoted = await promote(cluster, seed);
  return {
    trial: 'restores from back-ups, and a promotion',
    facts: { ...facts, ...promoted.facts },
    violations: [...violations, ...promoted.violations],
  };
}
