import type { Logger } from 'pino';
import type { EventHub } from '../events/hub.ts';
import type { RequestTransaction } from '../events/log.ts';
import type { QueueRegistry } from '../events/queue-registry.ts';
import type { Realm, User } from '../generated/prisma/client.ts';
import type { AccountLimiter } from '../platform/account-limiter.ts';
import type { Caller } from '../platform/caller.ts';
import type { Config } from '../platform/config.ts';
import type { Connections } from '../platform/connections.ts';
import type { Database, Db } from '../platform/db/client.ts';
import type { KeyVault } from '../platform/key-vault.ts';
import type { OutboundBacklog } from '../platform/outbound-backlog.ts';
import type { RateLimits } from '../platform/rate-limits.ts';
import { UnauthorizedError } from './errors.ts';
import type { KeyedChange } from './keyed-change.ts';
import type { SharedState } from './shared-state.ts';

/** The worker for scheduled deliveries, such as scheduled messages. */
export interface Deliveries {
  /** Notifies the worker that a delivery is due at `at`, which may be earlier than the worker's next run. */
  wake(at: Date): void;
}

/** The transaction of a request with an idempotency key, with a way to run work outside of it. */
export interface IdempotentTransaction extends RequestTransaction {
  /** Runs work outside the transaction. Called by `runOutsideTransaction`. */
  runOutside<T>(name: string, work: (app: App) => Promise<T>): Promise<T>;
  /**
   * Registers a callback that completes the response before it is stored. It receives the position of the request's last event,
   * or null if there is none.
   */
  whenLogged(tell: (position: number | null) => void): void;
}

/** A database snapshot from which a request reads its whole response. */
export interface Snapshot {
  /** Id of the last event in the snapshot. */
  readonly position: number;
  /** Defers work until all data of the response has been read from the database. It then runs with the regular app. */
  afterwards(act: (app: App) => Promise<unknown>): void;
}

/** The running service: everything that its requests share. */
export interface App {
  readonly config: Config;
  readonly database: Database;
  /** Same as `database.db`: for reads, and for writes that emit no event. */
  readonly db: Db;
  readonly hub: EventHub;
  readonly queues: QueueRegistry;
  readonly keys: KeyVault;
  /** The worker for scheduled deliveries. */
  readonly deliveries: Deliveries;
  readonly rateLimits: RateLimits;
  readonly outboundBacklog: OutboundBacklog;
  /** Cache of parts of the initial state that many viewers share, for clients that register an event queue. */
  readonly sharedState: SharedState;
  /** The limits of connections to this process. */
  readonly connections: Connections;
  /** The limits of concurrent requests per account. */
  readonly accountLimiter: AccountLimiter;
  readonly log: Logger;
  /** The transaction of a request with an idempotency key. If set, `db` is that transaction. */
  readonly transaction?: IdempotentTransaction;
  /** The change of a request with an idempotency key. Set if its response is rendered from the facts of the change. */
  readonly keyedChange?: KeyedChange;
  /**
   * The snapshot from which the request is answered, if the request selects a consistent state. `db` then reads from it, and
   * nothing can be changed.
   */
  readonly snapshot?: Snapshot;
  /** Returns the current time. Services use no other clock. */
  now(): Date;
}

/** The acting user, read from the database once for each operation and passed down. */
export interface Viewer {
  readonly realm: Realm;
  readonly user: User;
  /** Same as `user.id`. */
  readonly id: number;
  /** One of `ROLES`. */
  readonly role: number;
  /** The client's own name, at most 30 characters. */
  readonly clientName: string;
  /** The credential that the viewer signed in with. Null for the server's operator. */
  readonly credential: Credential | null;
}

/**
 * Returns the account that is charged for a viewer's usage: requests, sockets, outbound backlog, and concurrent requests. A
 * bot's usage is charged to its owner. Otherwise an owner could multiply the limits with 200 bots.
 */
export const chargedAccountOf = ({ id, user }: Pick<Viewer, 'id' | 'user'>): number => user.botOwnerId ?? id;

/**
 * The credential of a viewer: an API key, by its SHA-256, or a session, by its id. A session ends at `endsAt` unless extended.
 */
export type Credential =
  | { readonly kind: 'key'; readonly hash: Uint8Array<ArrayBuffer> }
  | {
      readonly kind: 'session';
      readonly realmId: number;
      readonly id: number;
      readonly endsAt: Date;
      readonly signedInAt: Date;
    };

/** The service and the organization in which a change is made. */
export interface Scope {
  readonly app: App;
  readonly realmId: number;
}

/** The context of a service function: the app, and the acting viewer. */
export interface Ctx extends Scope {
  readonly viewer: Viewer;
  /** The client that waits for the result. Undefined for work that the server or its operator starts. */
  readonly caller?: Caller | undefined;
}

/** The context of a request, whether or not it is signed in. */
export interface RequestCtx {
  readonly app: App;
  /** The organization that the host names. Null for the server's own domain without an organization. */
  readonly realm: Realm | null;
  readonly viewer: Viewer | null;
  readonly clientName: string;
  readonly caller?: Caller | undefined;
}

/**
 * Returns the context of a signed-in request.
 *
 * @throws UnauthorizedError if the request carried no credentials.
 */
export function signedIn({ app, viewer, caller }: RequestCtx): Ctx {
  if (viewer === null) throw new UnauthorizedError();
  return { app, realmId: viewer.realm.id, viewer, caller };
}
