import { createHash, randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { type DemoService, type Person, personOf, startDemo } from '../faults/demo.ts';
import { Client } from '../faults/requests.ts';
import type { tasks as generatorTasks } from './generator.ts';
import { cpuSecondsOf } from './measure.ts';
import { requestBytes } from './raw-http.ts';
import { Worker } from './workers.ts';
import type { tasks as yardstickTasks } from './yardsticks.ts';

/** Size of the database connection pool of the service and of the yardsticks. It is the service's default. */
export const POOL_SIZE = 10;

/** A user created for the benchmark. */
export interface BenchUser {
  readonly id: number;
  readonly basic: string;
}

/**
 * Environment of a benchmark: the service with its own database, the load generator, and the yardsticks (the compared servers).
 */
export interface Stage extends AsyncDisposable {
  readonly service: DemoService;
  readonly url: string;
  readonly port: number;
  /** Returns the CPU time that the service has used so far, in seconds. */
  cpu(): number;
  readonly databaseUrl: string;
  readonly db: pg.Client;
  readonly owner: Person;
  readonly users: readonly BenchUser[];
  readonly generator: Worker<typeof generatorTasks>;
  readonly yardsticks: Worker<typeof yardstickTasks>;
  /** Whether the benchmark runs fewer and shorter rounds. */
  readonly quick: boolean;
}

/** Starts a service and the worker processes. @param profile Folder for CPU profiles of the service. */
export async function setStage(
  databaseServer: string,
  { quick, profile }: { quick: boolean; profile: string | undefined },
): Promise<Stage> {
  const service = await startDemo(databaseServer, {
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    // Undefined restores the settings of production. Test servers send heartbeats every two seconds.
    EVENT_HEARTBEAT_SECONDS: undefined,
    EVENT_QUEUE_WRITE_SECONDS: undefined,
    REDIS_URL: undefined,
    NODE_OPTIONS: profile === undefined ? undefined : `--cpu-prof --cpu-prof-dir=${profile}`,
  });
  const { server, databaseUrl = '', people } = service;
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  const generator = new Worker<typeof generatorTasks>(`${import.meta.dirname}/generator.ts`);
  const yardsticks = new Worker<typeof yardstickTasks>(`${import.meta.dirname}/yardsticks.ts`);
  const owner = personOf(people, 'owner');
  // From here on, all event ids have seven digits, so that deliveries do not differ in length.
  await db.query('UPDATE event_counter SET last_id = 1000000');
  return {
    ...{ service, url: server.url, port: server.port, databaseUrl, db, owner, generator, yardsticks, quick },
    users: await makeUsers(db, 64),
    cpu: () => cpuSecondsOf(server.pid ?? 0),
    async [Symbol.asyncDispose]() {
      await generator[Symbol.asyncDispose]();
      await yardsticks[Symbol.asyncDispose]();
      await db.end();
      if (profile !== undefined) await server.stop();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Number of additional accounts that no client uses. With so many API keys, PostgreSQL looks up a key through an index. */
const OTHERS = 20_000;

const NEW_MEMBERS = `INSERT INTO user_account (realm_id, email, full_name, avatar_source, settings)
  SELECT realm_id, address.email, address.email, 'J', settings || '{"email_address_visibility": 1}'
  FROM (SELECT * FROM user_account WHERE role = 400 AND bot_type IS NULL ORDER BY id LIMIT 1) AS member,
       unnest($1::text[]) AS address(email)
  RETURNING id, realm_id, email`;

/** Inserts members of the demo organization directly into the database, because signing up is not measured. */
async function makeUsers(db: pg.Client, count: number): Promise<BenchUser[]> {
  await db.query(
    `WITH made AS (${NEW_MEMBERS}) INSERT INTO api_key (user_id, realm_id, hash, sealed, created_at)
     SELECT id, realm_id, sha256(id::text::bytea), 'x', 'epoch' FROM made`,
    [Array.from({ length: OTHERS }, (_, i) => `other${i}@example.com`)],
  );
  const users = await makeAccounts(db, 'bench', count);
  await db.query('VACUUM ANALYZE user_account, api_key');
  return users;
}

/** Creates members of the demo organization with API keys. */
export async function makeAccounts(db: pg.Client, name: string, count: number): Promise<BenchUser[]> {
  const { rows } = await db.query<Account>(NEW_MEMBERS, [
    Array.from({ length: count }, (_, i) => `${name}${i}@example.com`),
  ]);
  return giveKeys(db, rows);
}

interface Account {
  readonly id: number;
  readonly email: string;
}

/**
 * Inserts API keys for accounts that have none. The keys get an old creation time, because a starting node decrypts the newest
 * sealed key and refuses to start if that fails.
 */
export async function giveKeys(db: pg.Client, accounts: readonly Account[]): Promise<BenchUser[]> {
  const keys = accounts.map(() => randomBytes(16).toString('hex'));
  await db.query(
    `INSERT INTO api_key (user_id, realm_id, hash, sealed, created_at)
     SELECT u.id, u.realm_id, k.hash, k.hash, 'epoch'
     FROM unnest($1::int[], $2::bytea[]) AS k(id, hash) JOIN user_account u ON u.id = k.id`,
    [accounts.map(({ id }) => id), keys.map((key) => createHash('sha256').update(key).digest())],
  );
  return accounts.map(({ id, email }, i) => ({
    id,
    basic: `Basic ${Buffer.from(`${email}:${keys[i]}`).toString('base64')}`,
  }));
}

/** The id of an event queue, and the credentials of its owner. */
export interface BenchQueue {
  readonly authorization: string;
  readonly queueId: string;
}

/**
 * Creates event queues, distributed evenly over the users. One queue is registered over REST. The others are copies of its row,
 * each with an id and an owner of its own.
 */
export async function makeQueues(
  { db, url, owner, users }: Pick<Stage, 'db' | 'url' | 'owner' | 'users'>,
  count: number,
): Promise<BenchQueue[]> {
  const client = new Client(url, owner);
  const { queueId } = await client.register();
  client.close();
  return copyQueue(
    db,
    queueId,
    Array.from({ length: count }, (_, i) => users[i % users.length] as BenchUser),
  );
}

/** Creates a queue for each of the users, with the options of an existing queue. Their position is the end of the log. */
export async function copyQueue(db: pg.Client, queueId: string, users: readonly BenchUser[]): Promise<BenchQueue[]> {
  const made = users.map((user) => ({ user, id: randomUUID() }));
  await db.query(
    `INSERT INTO event_queue (id, realm_id, user_id, options, idle_timeout_secs, client_name, start_id, acked_id,
                              scanned_through, created_at, last_active_at, expires_at)
     SELECT v.id, q.realm_id, v.user_id, q.options, q.idle_timeout_secs, q.client_name, c.last_id, c.last_id, c.last_id,
            q.created_at, q.last_active_at, q.expires_at
     FROM event_queue q JOIN event_counter c ON c.realm_id = q.realm_id,
          unnest($2::uuid[], $3::int[]) AS v(id, user_id)
     WHERE q.id = $1`,
    [queueId, made.map(({ id }) => id), made.map(({ user }) => user.id)],
  );
  return made.map(({ user, id }) => ({ authorization: user.basic, queueId: id }));
}

/** A source of requests that each change a channel folder. Each change sends an event to all users of the organization. */
export class FolderTriggers {
  readonly #stage: Stage;
  readonly #folderId: number;
  #count = 0;

  private constructor(stage: Stage, folderId: number) {
    this.#stage = stage;
    this.#folderId = folderId;
  }

  static async make(stage: Stage): Promise<FolderTriggers> {
    const client = new Client(stage.url, stage.owner);
    const name = `Bench ${randomUUID().slice(0, 8)}`;
    const made = await client.ask('POST', '/channel_folders/create', { name, description: '' });
    client.close();
    return new FolderTriggers(stage, made.channel_folder_id);
  }

  take(count: number): Buffer[] {
    const { port, owner } = this.#stage;
    return Array.from({ length: count }, () =>
      requestBytes({
        method: 'PATCH',
        path: `/api/v1/channel_folders/${this.#folderId}`,
        port,
        headers: { Authorization: owner.basic, 'Content-Type': 'application/x-www-form-urlencoded' },
        // The description has a fixed length, so that events do not differ in length.
        body: new URLSearchParams({
          description: `Change number ${String(++this.#count).padStart(6, '0')}`,
        }).toString(),
      }),
    );
  }
}

/** Returns requests that make a yardstick send as many deliveries as the service would send, without a database. */
export function bareTriggers(port: number, count: number): Buffer[] {
  const trigger = requestBytes({ method: 'POST', path: '/', port, body: '' });
  return Array.from({ length: count }, () => trigger);
}
