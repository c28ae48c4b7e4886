import { destination, type Logger, pino } from 'pino';
import type { App } from '../access/context.ts';
import { openBus } from '../events/bus.ts';
import { EventHub } from '../events/hub.ts';
import { QueueRegistry } from '../events/queues.ts';
import { startSweeping } from '../events/retention.ts';
import { DeliveryWorker } from '../messages/scheduled/worker.ts';
import { AccountShares } from '../platform/account-shares.ts';
import type { Config } from '../platform/config.ts';
import { type Database, openDatabase } from '../platform/db/client.ts';
import { migrate } from '../platform/db/migrate.ts';
import { KeyVault, loadSecretKey } from '../platform/key-vault.ts';
import { MailWorker } from '../platform/mail/worker.ts';
import { RateLimits } from '../platform/rate-limits.ts';
import { Unread } from '../platform/unread.ts';

/** A service that runs, without its doors. */
export interface Running {
  readonly app: App;
  /** The migrations applied at this start, oldest first. */
  readonly migrated: readonly string[];
  /** Ends all streams, writes their positions and closes the database. */
  close(): Promise<void>;
}

/** What tests put in the place of the usual. */
export interface Overrides {
  readonly now?: () => Date;
  readonly log?: Logger;
}

/**
 * Puts the service together: opens the database, brings it up to date, and starts what runs in the background.
 *
 * @throws DataDirectoryInUseError when another process has the embedded database open.
 * @throws IncompatibleDatabaseError when the database is not one this version can use.
 * @throws ConfigError when DATA_DIR/secret-key holds no key.
 */
export async function startApp(config: Config, overrides: Overrides = {}): Promise<Running> {
  const database = await openDatabase(config);
  try {
    const migrated = await migrate(config, database);
    return { ...compose(config, database, overrides), migrated };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function compose(
  config: Config,
  database: Database,
  { now = () => new Date(), log = logTo(config) }: Overrides,
): Omit<Running, 'migrated'> {
  const bus = openBus(config, log);
  const app: App & { hub: EventHub; queues: QueueRegistry; deliveries: DeliveryWorker; mail: MailWorker } = {
    config,
    database,
    db: database.db,
    keys: new KeyVault(loadSecretKey(config)),
    rateLimits: new RateLimits(config, log),
    unread: new Unread(),
    shares: new AccountShares(),
    log,
    now,
    // These hold the app and the app holds them.
    hub: undefined as unknown as EventHub,
    queues: undefined as unknown as QueueRegistry,
    deliveries: undefined as unknown as DeliveryWorker,
    mail: undefined as unknown as MailWorker,
  };
  app.hub = new EventHub(app, bus);
  app.queues = new QueueRegistry(app);
  app.deliveries = new DeliveryWorker(app);
  app.mail = new MailWorker(app);
  app.hub.start((_realmId, effect) => {
    if (effect.kind === 'revoked') app.queues.revokeReaders(effect.userId);
  });
  app.queues.start();
  const sweeping = startSweeping(app);
  return {
    app,
    async close() {
      sweeping.stop();
      await Promise.all([app.deliveries.stop(), app.mail.stop()]);
      await app.queues.stop();
      app.hub.stop();
      app.rateLimits.close();
      app.shares.close();
      await bus.close();
      await database.close();
    },
  };
}

/** To standard error: standard output is for people, and for the command line's answers. */
const logTo = ({ logLevel }: Config): Logger => pino({ level: logLevel }, destination({ dest: 2, sync: true }));
