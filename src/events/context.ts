import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import type { Database, Db, Tx } from '../platform/db/client.ts';
import { ValidationError } from '../platform/errors.ts';
import type { StoredEvent } from './stored.ts';

/** The parts of a running service that the event log and its readers need. */
export interface LogContext {
  readonly config: Config;
  readonly database: Database;
  /** The client of `database`. */
  readonly db: Db;
  readonly log: Logger;
  /** Returns the current time. */
  now(): Date;
}

/** The receiver of committed events, which passes them to readers. */
export interface Publisher {
  publish(organizationId: number, events: readonly StoredEvent[]): void;
}

/** Events that a transaction has added to the log of an organization. The transaction is not committed yet. */
export interface Logged {
  readonly organizationId: number;
  readonly events: readonly StoredEvent[];
}

/** The transaction of a request with an idempotency key. All changes of the request are part of it. */
export interface RequestTransaction {
  readonly tx: Tx;
  /**
   * Functions that each log the events of one change of the request, in the order of the changes. The list has no function for
   * a change whose events are already logged.
   */
  readonly unlogged: (() => Promise<Logged>)[];
  /** Records events that must be published to readers after the commit. */
  published(organizationId: number, events: readonly StoredEvent[]): void;
}

/** A unit of work that can make changes and read event queues. */
export interface ChangeWork {
  /** The running service. */
  readonly app: LogContext & { readonly hub: Publisher };
  /** The transaction of the request that the changes are part of, if the request has an idempotency key. */
  readonly transaction?: RequestTransaction;
}

/** A unit of work that can read from its database client, and can do nothing else. */
export interface ReadOnlyWork {
  readonly app?: never;
}

/**
 * Returns the unit of work if it can make changes and read event queues.
 *
 * @throws ValidationError if it can only read, because it reads a database snapshot or delivers events.
 */
export function requireLive<W extends ChangeWork | ReadOnlyWork>(work: W): Extract<W, ChangeWork> {
  if (work.app === undefined) {
    throw new ValidationError('This field is not part of the snapshot: select it in a separate operation');
  }
  return work as Extract<W, ChangeWork>;
}
