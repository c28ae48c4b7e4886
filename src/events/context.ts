import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import type { Database, Db } from '../platform/db/client.ts';
import type { StoredEvent } from './stored.ts';

/** What the log and its readers need of a running service. */
export interface LogContext {
  readonly config: Config;
  readonly database: Database;
  /** Short for `database.db`. */
  readonly db: Db;
  readonly log: Logger;
  /** The time. */
  now(): Date;
}

/** Hands on events that are committed. */
export interface Publisher {
  publish(realmId: number, events: readonly StoredEvent[]): void;
}
