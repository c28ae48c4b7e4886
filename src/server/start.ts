import type { Logger } from 'pino';
import type { App } from '../access/context.ts';
import { SharedState } from '../access/shared-state.ts';
import { renameInBots } from '../administration/bots/defaults.ts';
import { whenLeft, whenRenamed } from '../channels/hooks.ts';
import { openBus } from '../events/bus.ts';
import type { LogContext } from '../events/context.ts';
import { type EpochState, settleEpoch } from '../events/epoch.ts';
import { EventHub } from '../events/hub.ts';
import { QueueRegistry } from '../events/queue-registry.ts';
import { startSweeping } from '../events/retention.ts';
import { readToTheEnd, readWhatIsLeft } from '../messages/flags/channel-marks.ts';
import { CountWorker } from '../messages/flags/count-worker.ts';
import { DeliveryWorker } from '../messages/scheduled/worker.ts';
import { AccountShares } from '../platform/account-shares.ts';
import type { Config } from '../platform/config.ts';
import { Connections } from '../platform/connections.ts';
import { openDatabase } from '../platform/db/client.ts';
import { isDiskFull } from '../platform/db/errors.ts';
import { migrate } from '../platform/db/migrate.ts';
import { requireRights } from '../platform/db/rights.ts';
import { requireSessions } from '../platform/db/sessions.ts';
import { startUpkeep } from '../platform/db/upkeep.ts';
import type { KeyVault } from '../platform/key-vault.ts';
import { openLog } from '../platform/log.ts';
import { MailWorker } from '../platform/mail/worker.ts';
import { observeDatabaseError } from '../platform/metrics.ts';
import { RateLimits } from '../platform/rate-limits.ts';
import { Unread } from '../platform/unread.ts';
import { openVault } from './secret-key.ts';

/** A service that runs, and does not listen yet. */
export interface Running {
  readonly app: App;
  /** Sends what is to be sent later, once it is started. */
  readonly deliveries: DeliveryWorker;
  /** Sends what is queued as mail, once it is started. */
  readonly mail: MailWorker;
  /** Counts messages, once it is started. */
  readonly counting: CountWorker;
  /** The migrations applied at this start, oldest first. */
  readonly migrated: readonly string[];
  /** Ends all streams, writes their positions and closes the database. */
  close(): Promise<void>;
}

/** What tests put in the place of the usual. */
export interface Overrides {
  readonly now?: () => Date;
  readonly log?: Logger;
  /** Whether SECRET_KEY may be another than the one the database was sealed with: to seal it anew. */
  readonly isNewSecretKey?: boolean;
}

/**
 * Puts the service together: opens the database, brings it up to date, and starts what runs in the background.
 *
 * @throws DataDirectoryInUseError when another process has the embedded database open.
 * @throws PooledDatabaseError, StandbyError when DATABASE_URL leads to no database that the service can use.
 * @throws NoRightsError when the database's role may not write to the tables.
 * @throws IncompatibleDatabaseError when the database is not one this version can use.
 * @throws ConfigError when DATA_DIR/secret-key holds no key.
 * @throws WrongSecretKeyError when the database was sealed with another.
 */
export async function startApp(config: Config, overrides: Overrides = {}): Promise<Running> {
  const database = await openDatabase(config);
  const { now = () => new Date(), log = openLog(config.logLevel) } = overrides;
  // What the log, its queues and the mail need: they know no more of the service.
  const base = { config, database, db: database.db, log, now };
  try {
    // Of one that cannot be reached, or refuses us, the ORM says so best.
    await database.db.$queryRaw`SELECT 1`;
    if (config.databaseUrl !== undefined) await requireSessions(config.databaseUrl);
    const migrated = await migrate(config, database);
    if (config.databaseUrl !== undefined) await requireRights(database);
    const keys = await openVault(config, database.db, overrides.isNewSecretKey === true);
    const epoch = await settleEpoch(base);
    return { ...compose(base, keys, epoch), migrated };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function compose(base: LogContext, keys: KeyVault, epoch: EpochState): Omit<Running, 'migrated'> {
  const { config, database, log } = base;
  whenRenamed(renameInBots);
  whenLeft(READ_WHAT_WAS_LEFT);
  database.onError((err) => {
    observeDatabaseError(err);
    if (!isDiskFull(err)) return;
    database.room.noteLack();
    log.error({ err }, "the database's disk is full: make room there");
  });
  database.room.onMade(() => log.warn("there is room on the database's disk again"));
  database.onSlow((ms, statement) => log.warn({ ms, statement }, 'a statement took long'));
  const bus = openBus(config, log);
  const app: App = {
    ...base,
    hub: new EventHub(base, bus, epoch),
    queues: new QueueRegistry(base),
    keys,
    rateLimits: new RateLimits(config, log),
    unread: new Unread(),
    sharedState: new SharedState(),
    connections: new Connections(config),
    shares: new AccountShares(),
    deliveries: { wake: (at) => deliveries.wake(at) },
  };
  const deliveries = new DeliveryWorker(app);
  const mail = new MailWorker(base);
  const counting = new CountWorker(base);
  app.hub.start({
    onEffect(_realmId, effect) {
      if (effect.kind === 'revoked') app.queues.revokeReaders(effect.userId, effect.credentials);
    },
    onCutOff: () => app.queues.cutOff(),
    onEpoch: () => app.queues.endEpoch(),
  });
  app.queues.start();
  const sweeping = startSweeping(app);
  const endUpkeep = startUpkeep(database, log);
  return {
    app,
    deliveries,
    mail,
    counting,
    async close() {
      sweeping.stop();
      await endUpkeep();
      await Promise.all([deliveries.stop(), mail.stop(), counting.stop()]);
      await app.queues.stop();
      app.hub.stop();
      app.rateLimits.close();
      app.shares.close();
      await bus.close();
      await database.close();
    },
  };
}

/** What was left is read. */
const READ_WHAT_WAS_LEFT = { before: readWhatIsLeft, atTheEnd: readToTheEnd };
