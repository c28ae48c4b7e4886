import { rmSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import type { App } from '../../src/access/context.ts';
import type { LinkPreviewWorker } from '../../src/messages/link-previews/worker.ts';
import type { PushWorker } from '../../src/messages/notifications/push-worker.ts';
import type { RetentionWorker } from '../../src/messages/retention/worker.ts';
import type { DeliveryWorker } from '../../src/messages/scheduled/worker.ts';
import { readConfig } from '../../src/platform/config.ts';
import type { MailWorker } from '../../src/platform/mail/worker.ts';
import { openControl } from '../../src/server/operator/control.ts';
import { serve } from '../../src/server/serve.ts';
import { startApp } from '../../src/server/start.ts';
import { newDataDir } from './data-dir.ts';
import { closeIdleConnections } from './http.ts';
import { NO_MAIL_SERVER } from './process.ts';

export interface InProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => Date;
  /** Logger of the service. Default: unexpected errors are written to the output of the tests. */
  readonly log?: Logger;
}

/** A service in the process of the test, on its own embedded database, for tests that inspect internals. */
export interface InProcess extends AsyncDisposable {
  readonly app: App;
  readonly deliveries: DeliveryWorker;
  readonly mail: MailWorker;
  readonly previewing: LinkPreviewWorker;
  readonly pushing: PushWorker;
  readonly retention: RetentionWorker;
  readonly url: string;
  readonly dataDir: string;
  /** Runs `work` and returns the SQL of every query made meanwhile. */
  queriesOf(work: () => Promise<unknown>): Promise<string[]>;
  /** Runs `work` and returns the number of table rows and index entries that the database read meanwhile, by table. */
  rowsReadBy(work: () => Promise<unknown>): Promise<ReadonlyMap<string, number>>;
}

const LOOKED_AT_BY_ITSELF = /^\s*SELECT realm_id, last_id FROM event_counter WHERE realm_id = ANY/;

/** Tables that the log reader of this process reads once a second. */
const OF_THE_LOG: ReadonlySet<string> = new Set(['event_counter', 'log_epoch']);

/** Returns the number of table rows and index entries that the database has read since its start, by table. */
async function rowsRead({ db }: App): Promise<ReadonlyMap<string, number>> {
  // Otherwise PostgreSQL updates these numbers at most once a second.
  await db.$queryRaw`SELECT 1 FROM pg_stat_force_next_flush()`;
  const rows = await db.$queryRaw<{ name: string; rows: bigint }[]>`
    SELECT t.relname::text AS name, (COALESCE(t.seq_tup_read, 0) + COALESCE(sum(i.idx_tup_read), 0))::bigint AS rows
    FROM pg_stat_user_tables t LEFT JOIN pg_stat_user_indexes i ON i.relid = t.relid GROUP BY t.relid, t.relname, t.seq_tup_read`;
  return new Map(rows.map(({ name, rows: read }) => [name, Number(read)]));
}

const ofToday = () => new Date();
let clock: () => Date = ofToday;
const shared: { any?: Promise<InProcess>; counting?: Promise<InProcess> } = {};

/**
 * Returns the service that the test files of one worker use one after another, each with its own organizations: `await using`
 * it. Only for files that set no environment variables and do not run background work of all organizations.
 *
 * @param options.now Clock of the service until disposal.
 * @param options.counts Whether queries are counted. Files that count share a separate service, whose background workers stop
 * at the first count.
 */
export async function shareInProcess({
  now = ofToday,
  counts = false,
}: Pick<InProcessOptions, 'now'> & { readonly counts?: boolean } = {}): Promise<InProcess> {
  const kind = counts ? 'counting' : 'any';
  shared[kind] ??= startInProcess({ now: () => clock() });
  clock = now;
  return {
    ...(await shared[kind]),
    async [Symbol.asyncDispose]() {
      clock = ofToday;
    },
  };
}

/** Starts a service for one test, with both APIs: `await using` it. */
export async function startInProcess({
  env = {},
  now,
  log = pino({ level: 'error' }, pino.destination({ fd: 2, sync: true })),
}: InProcessOptions = {}): Promise<InProcess> {
  const dataDir = newDataDir();
  const unlimited = {
    ...{ RATE_LIMIT_PER_USER: 'off', RATE_LIMIT_PER_IP: 'off' },
    ...{ SOCKETS_PER_USER: 'off', SOCKETS_PER_IP: 'off', CONNECTIONS_PER_IP: 'off' },
  };
  const config = readConfig({
    PORT: '0',
    DEMO: 'off',
    GUARD_TRANSACTIONS: 'on',
    PASSWORD_HASH_COST: '1024',
    CHECK_REPLIES: 'on',
    SMTP_URL: NO_MAIL_SERVER,
    ...unlimited,
    ...env,
    DATA_DIR: dataDir,
  });
  const running = await startApp(config, { log, ...(now !== undefined && { now }) });
  const {
    app,
    deliveries,
    mail,
    counting,
    indexing,
    retention,
    deciding,
    pushing,
    missedMail,
    digesting,
    previewing,
    sweeping,
    endUpkeep,
    close,
  } = running;
  const control = await openControl(app);
  const server = await serve(running, null);
  const url = `http://127.0.0.1:${server.port}`;
  let recorded: string[] | undefined;
  const record = (query: string) => {
    // Omits the query that the log reader of this process runs once a second.
    if (!LOOKED_AT_BY_ITSELF.test(query)) recorded?.push(query);
  };
  app.db.$on('query' as never, (({ query }: { query: string }) => record(query)) as never);
  app.database.onStatement(record);
  // Background workers would add queries of their own.
  const stopWorkers = () =>
    Promise.all([
      ...[
        deliveries,
        mail,
        counting,
        indexing,
        retention,
        deciding,
        pushing,
        missedMail,
        digesting,
        previewing,
        sweeping,
      ].map((worker) => worker.stop()),
      endUpkeep(),
    ]);
  return {
    ...{ app, deliveries, mail, previewing, pushing, retention, dataDir, url },
    async rowsReadBy(work) {
      await stopWorkers();
      const before = await rowsRead(app);
      await work();
      const after = await rowsRead(app);
      const read = [...after].map(([table, rows]) => [table, rows - (before.get(table) ?? 0)] as const);
      return new Map(read.filter(([table, rows]) => rows > 0 && !OF_THE_LOG.has(table)));
    },
    async queriesOf(work) {
      await stopWorkers();
      recorded = [];
      await work();
      const queries = recorded;
      recorded = undefined;
      return queries;
    },
    async [Symbol.asyncDispose]() {
      control.close();
      closeIdleConnections(url);
      await server.close();
      await close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
