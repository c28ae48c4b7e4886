import type { Logger } from 'pino';
import type { App } from '../access/context.ts';
import { SharedState } from '../access/shared-state.ts';
import { auditLogWorker } from '../administration/audit-log/retention.ts';
import { renameInBots } from '../administration/bots/defaults.ts';
import { erasureWorker } from '../administration/organization-lifecycle/worker.ts';
import { whenAccessChanged, whenChanged, whenLeft, whenRenamed, whenSubscribed } from '../channels/hooks.ts';
import { openBus } from '../events/bus.ts';
import type { LogContext } from '../events/context.ts';
import { type EpochState, settleEpoch } from '../events/epoch.ts';
import { EventHub } from '../events/hub.ts';
import { QueueRegistry } from '../events/queue-registry.ts';
import { startSweeping } from '../events/retention.ts';
import { attachmentWorker } from '../messages/attachments/worker.ts';
import { notifySubscribed, postChannelNotices } from '../messages/channel-notices.ts';
import { currentDigest } from '../messages/digests/digest.ts';
import { digestWorker } from '../messages/digests/rounds.ts';
import { readToTheEnd, readWhatIsLeft } from '../messages/flags/channel-marks.ts';
import { countWorker } from '../messages/flags/count-worker.ts';
import { removeUnreadableStars } from '../messages/flags/unreadable-stars.ts';
import { LinkPreviewWorker } from '../messages/link-previews/worker.ts';
import { indexWorker } from '../messages/narrow/index-worker.ts';
import { decisionWorker } from '../messages/notifications/decision-worker.ts';
import { currentMissedMail, emailWorker } from '../messages/notifications/email-worker.ts';
import { PushWorker } from '../messages/notifications/push-worker.ts';
import { RetentionWorker } from '../messages/retention/worker.ts';
import { DeliveryWorker } from '../messages/scheduled/worker.ts';
import { signAvatarsWith } from '../people/avatar-signature.ts';
import { AccountLimiter } from '../platform/account-limiter.ts';
import type { Config } from '../platform/config.ts';
import { Connections } from '../platform/connections.ts';
import { openDatabase } from '../platform/db/client.ts';
import { isDiskFull } from '../platform/db/errors.ts';
import { migrate, requireMigrated } from '../platform/db/migrate.ts';
import { requireRights, requireUsableSettings } from '../platform/db/rights.ts';
import { requireUnsealed } from '../platform/db/seal.ts';
import { requireSessions } from '../platform/db/sessions.ts';
import { startUpkeep } from '../platform/db/upkeep.ts';
import type { KeyVault } from '../platform/key-vault.ts';
import { openLog } from '../platform/log.ts';
import { MailWorker } from '../platform/mail/worker.ts';
import { observeDatabaseError } from '../platform/metrics.ts';
import { OutboundBacklog } from '../platform/outbound-backlog.ts';
import type { PeriodicWorker } from '../platform/periodic-worker.ts';
import { Phones } from '../platform/push/phones.ts';
import { RateLimits } from '../platform/rate-limits.ts';
import { openVault, resealWorker } from './secret-key.ts';

/** A service that is running, but does not listen yet. */
export interface Running {
  readonly app: App;
  /** Worker that sends scheduled messages. It must be started. */
  readonly deliveries: DeliveryWorker;
  /** Worker that sends queued emails. It must be started. */
  readonly mail: MailWorker;
  /** Worker that counts messages. It must be started. */
  readonly counting: PeriodicWorker;
  /** Worker that indexes messages for searches. It must be started. */
  readonly indexing: PeriodicWorker;
  /** Worker that deletes messages after their retention period. It must be started. */
  readonly retention: RetentionWorker;
  /** Worker that deletes uploaded files without links to them. It must be started. */
  readonly attachments: PeriodicWorker;
  /** Worker that decides notifications. It must be started. */
  readonly deciding: PeriodicWorker;
  /** Worker that writes emails about missed messages. It must be started. */
  readonly missedMail: PeriodicWorker;
  /** Worker that queues digest emails. It must be started. */
  readonly digesting: PeriodicWorker;
  /** Worker that sends push notifications. It must be started. */
  readonly pushing: PushWorker;
  /** Worker that reads linked web pages. It must be started. */
  readonly previewing: LinkPreviewWorker;
  /** Worker that deletes old entries of the audit log. It must be started. */
  readonly auditing: PeriodicWorker;
  /** Worker that prunes the event log. It is already started. */
  readonly sweeping: { stop(): Promise<void> };
  /** Stops the maintenance of tables, which runs for the embedded database. */
  readonly endUpkeep: () => Promise<void>;
  /** Names of the migrations that were applied at this start, oldest first. */
  readonly migrated: readonly string[];
  /** Ends all event streams, stores their positions, stops the workers and closes the database. */
  close(): Promise<void>;
}

/** Options of `startApp`, for tests and commands. */
export interface Overrides {
  readonly now?: () => Date;
  readonly log?: Logger;
  /** Whether to accept a SECRET_KEY that did not seal the API keys, so that a command can replace the keys. */
  readonly isNewSecretKey?: boolean;
  /**
   * If true, the database is not migrated, and the start fails if its migrations differ from the migrations of this version.
   */
  readonly changesNoTables?: boolean;
}

/**
 * Starts the service without listening: opens the database, migrates it unless `changesNoTables` is set, and starts the
 * background tasks.
 *
 * @throws DataDirectoryInUseError if another process has the embedded database open.
 * @throws PooledDatabaseError, StandbyError if DATABASE_URL leads to a connection pooler or a standby server.
 * @throws UnusableSchemaError, UnusableDatabaseError if the schema or the database itself cannot be used.
 * @throws NoRightsError if the database role cannot write to the tables.
 * @throws SealedDatabaseError if the data of the database was copied to another one.
 * @throws IncompatibleDatabaseError if this version cannot use the database.
 * @throws OutdatedDatabaseError if the database is older and `changesNoTables` is set.
 * @throws ConfigError if DATA_DIR/secret-key contains no key.
 * @throws WrongSecretKeyError if another key sealed the API keys in the database.
 */
export async function startApp(config: Config, overrides: Overrides = {}): Promise<Running> {
  const database = await openDatabase(config);
  const { now = () => new Date(), log = openLog(config.logLevel) } = overrides;
  // The parts of the app that the event log, its queues and the email worker use.
  const base = { config, database, db: database.db, log, now };
  try {
    // This query is the first one, because the ORM has the best error message if the database cannot be reached or refuses the
    // connection.
    await database.db.$queryRaw`SELECT 1`;
    if (config.databaseUrl !== undefined) {
      await requireSessions(config.databaseUrl);
      await requireUsableSettings(database);
    }
    await requireUnsealed(database);
    if (overrides.changesNoTables === true) await requireMigrated(database);
    const migrated = overrides.changesNoTables === true ? [] : await migrate(config, database);
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
  whenChanged(postChannelNotices);
  whenSubscribed(notifySubscribed);
  whenLeft(READ_WHAT_WAS_LEFT);
  whenAccessChanged(removeUnreadableStars);
  database.onError((err) => {
    observeDatabaseError(err);
    if (!isDiskFull(err)) return;
    database.diskSpace.noteLack();
    log.error({ err }, 'disk of the database is full');
  });
  database.diskSpace.onMade(() => log.warn('disk of the database has free space again'));
  database.onSlow((ms, statement) => log.warn({ ms, statement }, 'slow statement'));
  signAvatarsWith(keys);
  const bus = openBus(config, log);
  const app: App = {
    ...base,
    hub: new EventHub(base, bus, epoch),
    queues: new QueueRegistry(base),
    keys,
    rateLimits: new RateLimits(config, log),
    outboundBacklog: new OutboundBacklog(),
    sharedState: new SharedState(),
    connections: new Connections(config),
    accountLimiter: new AccountLimiter(),
    phones: new Phones(config, base.now),
    work: {
      db: base.db,
      deliveries: { wake: (at) => deliveries.wake(at) },
      get app() {
        return app;
      },
    },
  };
  const deliveries = new DeliveryWorker(app);
  const mail = new MailWorker(base, (claimed) =>
    claimed.digestSince === null ? currentMissedMail(app, claimed) : currentDigest(app, claimed),
  );
  const counting = countWorker(base);
  const indexing = indexWorker(base);
  const retention = new RetentionWorker(app);
  const attachments = attachmentWorker(app);
  const auditing = auditLogWorker(base);
  const pushing = new PushWorker(app);
  const missedMail = emailWorker(app);
  const digesting = digestWorker(app);
  const deciding = decisionWorker(app, () => void pushing.deliverDue());
  const previewing = new LinkPreviewWorker(app);
  const resealing = resealWorker(app);
  const erasing = erasureWorker(app);
  app.hub.start({
    onEffect(_organizationId, effect) {
      if (effect.kind === 'revoked') app.queues.revokeReaders(effect.userId, effect.credentials);
    },
    onCutOff: () => app.queues.cutOff(),
    onAway: (organizationIds) => app.queues.leave(organizationIds),
    onEpoch: () => app.queues.endEpoch(),
  });
  app.queues.start();
  const sweeping = startSweeping(app);
  const endUpkeep = startUpkeep(database, log);
  erasing.start();
  if (config.previousSecretKey !== undefined) resealing.start();
  return {
    app,
    deliveries,
    mail,
    counting,
    indexing,
    retention,
    attachments,
    deciding,
    pushing,
    missedMail,
    digesting,
    previewing,
    auditing,
    sweeping,
    endUpkeep,
    async close() {
      void sweeping.stop();
      await endUpkeep();
      await Promise.all([
        deliveries.stop(),
        mail.stop(),
        counting.stop(),
        indexing.stop(),
        retention.stop(),
        attachments.stop(),
        deciding.stop(),
        pushing.stop(),
        missedMail.stop(),
        digesting.stop(),
        previewing.stop(),
        auditing.stop(),
        resealing.stop(),
        erasing.stop(),
      ]);
      await app.queues.stop();
      app.hub.stop();
      app.rateLimits.close();
      app.accountLimiter.close();
      app.phones.close();
      await bus.close();
      await database.close();
    },
  };
}

/**
 * Callbacks that mark the messages of a channel as read when a user leaves the channel. `before` runs within the change,
 * `atTheEnd` when the event of the change has an id.
 */
const READ_WHAT_WAS_LEFT = { before: readWhatIsLeft, atTheEnd: readToTheEnd };
