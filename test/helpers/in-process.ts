import { rmSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import type { App } from '../../src/access/context.ts';
import type { RetentionWorker } from '../../src/messages/retention/worker.ts';
import type { DeliveryWorker } from '../../src/messages/scheduled/worker.ts';
import { readConfig } from '../../src/platform/config.ts';
import type { MailWorker } from '../../src/platform/mail/worker.ts';
import { openControl } from '../../src/server/operator/control.ts';
import { serve } from '../../src/server/serve.ts';
import { startApp } from '../../src/server/start.ts';
import { newDataDir } from './data-dir.ts';

export interface InProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => Date;
  /** Default: a silent logger. */
  readonly log?: Logger;
}

/** A service in the process of the test, on its own embedded database, for tests that inspect internals. */
export interface InProcess extends AsyncDisposable {
  readonly app: App;
  readonly deliveries: DeliveryWorker;
  readonly mail: MailWorker;
  readonly retention: RetentionWorker;
  readonly url: string;
  readonly dataDir: string;
  /** Runs `work` and returns the SQL of every query made meanwhile. */
  queriesOf(work: () => Promise<unknown>): Promise<string[]>;
}

const LOOKED_AT_BY_ITSELF = /^\s*SELECT realm_id, last_id FROM event_counter WHERE realm_id = ANY/;

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
  log = pino({ level: 'silent' }),
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
    ...unlimited,
    ...env,
    DATA_DIR: dataDir,
  });
  const running = await startApp(config, { log, ...(now !== undefined && { now }) });
  const { app, deliveries, mail, counting, indexing, retention, close } = running;
  const control = await openControl(app);
  const server = await serve(running, null);
  let heard: string[] | undefined;
  const hear = (query: string) => {
    // Omits the query that the log reader of this process runs once a second.
    if (!LOOKED_AT_BY_ITSELF.test(query)) heard?.push(query);
  };
  app.db.$on('query' as never, (({ query }: { query: string }) => hear(query)) as never);
  app.database.onStatement(hear);
  return {
    ...{ app, deliveries, mail, retention, dataDir, url: `http://127.0.0.1:${server.port}` },
    async queriesOf(work) {
      // Background workers would add queries of their own.
      await Promise.all([deliveries.stop(), mail.stop(), counting.stop(), indexing.stop(), retention.stop()]);
      heard = [];
      await work();
      const queries = heard;
      heard = undefined;
      return queries;
    },
    async [Symbol.asyncDispose]() {
      control.close();
      await server.close();
      await close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
