import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import type { Database, Db } from '../platform/db/client.ts';
import type { StoredEvent } from './stored.ts';

/** The parts of a running service that the log and its readers need. */
export interface LogContext {
  readonly config: Config;
  readonly database: Database;
  /** Short for `database.db`. */
  readonly db: Db;
  readonly log: Logger;
  /** Returns the current time. */
  now(): Date;
}

/** The receiver of committed events, which passes them to readers. */
export interface Publisher {
  publish(realmId: number, events: readonly StoredEvent[]): void;
}
