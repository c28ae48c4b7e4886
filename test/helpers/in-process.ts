import { rmSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import type { App } from '../../src/access/context.ts';
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
  /** Default: one that says nothing. */
  readonly log?: Logger;
}

/** A service in the test's own process, on an embedded database of its own: to look at what it does inside. */
export interface InProcess extends AsyncDisposable {
  readonly app: App;
  readonly deliveries: DeliveryWorker;
  readonly mail: MailWorker;
  readonly url: string;
  readonly dataDir: string;
  /** Runs `work` and gives the SQL of every query made meanwhile, by anybody. */
  queriesOf(work: () => Promise<unknown>): Promise<string[]>;
}

const LOOKED_AT_BY_ITSELF = /^\s*SELECT realm_id, last_id FROM event_counter WHERE realm_id = ANY/;

const ofToday = () => new Date();
let clock: () => Date = ofToday;
const shared: { any?: Promise<InProcess>; counting?: Promise<InProcess> } = {};

/**
 * The service that the files of one worker share, one after the other, each with organisations of its own: `await using` it.
 * For files that need no environment, and do not have it do what is due in all organisations.
 *
 * @param options.now Its clock until it is let go of.
 * @param options.counts Whether queries are counted: those who do share another, where nothing looks for work by itself once
 *   the first has counted.
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

/** Starts a service of the test's own, with all its doors: `await using` it. */
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
  const { app, deliveries, mail, counting, close } = running;
  const control = await openControl(app);
  const server = await serve(running, null);
  let heard: string[] | undefined;
  const hear = (query: string) => {
    // The log is compared once a second, for as long as anybody has read it here.
    if (!LOOKED_AT_BY_ITSELF.test(query)) heard?.push(query);
  };
  app.db.$on('query' as never, (({ query }: { query: string }) => hear(query)) as never);
  app.database.onStatement(hear);
  return {
    ...{ app, deliveries, mail, dataDir, url: `http://127.0.0.1:${server.port}` },
    async queriesOf(work) {
      // What looks for work by itself, now and then, is nobody's doing.
      await Promise.all([deliveries.stop(), mail.stop(), counting.stop()]);
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
