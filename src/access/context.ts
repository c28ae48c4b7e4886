import type { Logger } from 'pino';
import type { ChangeWork, ReadOnlyWork, RequestTransaction } from '../events/context.ts';
import type { EventHub } from '../events/hub.ts';
import type { QueueRegistry } from '../events/queue-registry.ts';
import type { Organization, User } from '../generated/prisma/client.ts';
import type { AccountLimiter } from '../platform/account-limiter.ts';
import type { Caller } from '../platform/caller.ts';
import type { Config } from '../platform/config.ts';
import type { Connections } from '../platform/connections.ts';
import type { Database, Db, Tx } from '../platform/db/client.ts';
import type { KeyScope } from '../platform/key-scopes.ts';
import type { KeyVault } from '../platform/key-vault.ts';
import type { OutboundBacklog } from '../platform/outbound-backlog.ts';
import type { Phones } from '../platform/push/phones.ts';
import type { RateLimits } from '../platform/rate-limits.ts';
import { UnauthorizedError } from './errors.ts';
import type { KeyedChange } from './keyed-change.ts';
import type { SharedState } from './shared-state.ts';

/** The worker for scheduled deliveries, such as scheduled messages. */
export interface Deliveries {
  /** Notifies the worker that a delivery is due at `at`, which may be earlier than the worker's next run. */
  wake(at: Date): void;
}

/** The transaction of a request with an idempotency key, with a function that runs code outside the transaction. */
export interface IdempotentTransaction extends RequestTransaction {
  /** Runs code outside the transaction, once for each `name`. Called by `runOutsideTransaction`. */
  runOutside<T>(name: string, run: (work: Work) => Promise<T>): Promise<T>;
  /**
   * Registers a callback that completes the response before it is stored. The callback receives the position of the request's
   * last event, or null if the request has no event.
   */
  whenLogged(complete: (position: number | null) => void): void;
}

/** A database snapshot from which a request reads its whole response. */
export interface Snapshot {
  /** Id of the last event of the organization's log in the snapshot. */
  readonly position: number;
  /**
   * Defers an action until all data of the response has been read from the database. The action then runs in the unit of work
   * in which the snapshot was taken.
   */
  afterwards(act: (work: LiveWork) => Promise<unknown>): void;
}

/** A unit of work that reads the latest state, and can make changes and read event queues. */
export interface LiveWork extends ChangeWork {
  readonly app: App;
  /** Database client for reads, and for writes that emit no event. */
  readonly db: Tx;
  /** The worker for scheduled deliveries, such as scheduled messages. */
  readonly deliveries: Deliveries;
  /** The transaction of a request with an idempotency key. If set, `db` is that transaction. */
  readonly transaction?: IdempotentTransaction;
  /**
   * The single change that a request with an idempotency key makes. Set only for operations with `rendersStoredData`: the code
   * must make the change with this object, and the response is rendered from the data that it stores.
   */
  readonly keyedChange?: KeyedChange;
  readonly snapshot?: never;
}

/** A unit of work that can only read from its database client. */
export interface ReadWork extends ReadOnlyWork {
  readonly db: Tx;
  /** The snapshot from which the request is answered, if the request selects a consistent state. `db` then reads from it. */
  readonly snapshot?: Snapshot;
  readonly transaction?: never;
  readonly keyedChange?: never;
}

/** A unit of work: the database client of a request or worker, and everything else that varies between requests. */
export type Work = LiveWork | ReadWork;

/** The parts of the running service that every unit of work can use. */
export interface Runtime {
  readonly config: Config;
  readonly keys: KeyVault;
  readonly rateLimits: RateLimits;
  readonly outboundBacklog: OutboundBacklog;
  /** Cache of parts of the initial state that many viewers share, for clients that register an event queue. */
  readonly sharedState: SharedState;
  /** The open connections to this process, with their limits. */
  readonly connections: Connections;
  /** Limits the number of concurrent requests of each account. */
  readonly accountLimiter: AccountLimiter;
  /** The push services of phones. */
  readonly phones: Phones;
  readonly log: Logger;
  /** Returns the current time. Services use no other clock. */
  now(): Date;
}

/** The running service: one object, made at start and never copied. */
export interface App extends Runtime {
  readonly database: Database;
  /** The client of the database. Requests use the client of their unit of work instead. */
  readonly db: Db;
  readonly hub: EventHub;
  readonly queues: QueueRegistry;
  /** The unit of work of requests without an idempotency key, and of workers: each change is a transaction of its own. */
  readonly work: LiveWork;
}

/** The acting user, read from the database once for each operation and passed down. */
export interface Viewer {
  readonly organization: Organization;
  readonly user: User;
  /** Same as `user.id`. */
  readonly id: number;
  /** One of `ROLES`. */
  readonly role: number;
  /** Name of the client, as the client itself gives it. Cut to 30 characters. */
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
 * An API key with a name has an id, ends at `endsAt` if it expires, and has `scopes` unless it has all.
 */
export type Credential =
  | {
      readonly kind: 'key';
      readonly hash: Uint8Array<ArrayBuffer>;
      readonly id?: number | undefined;
      readonly scopes?: readonly KeyScope[] | undefined;
      readonly endsAt?: Date | undefined;
    }
  | {
      readonly kind: 'session';
      readonly organizationId: number;
      readonly id: number;
      readonly endsAt: Date;
      readonly signedInAt: Date;
      readonly scopes?: undefined;
    };

/** The running service, and the unit of work in which a function reads and makes changes. */
export interface WorkCtx {
  readonly app: Runtime;
  readonly work: Work;
}

/** The unit of work and the organization in which a change is made. */
export interface Scope extends WorkCtx {
  readonly organizationId: number;
  /** The client that causes the change. Undefined if the server or its operator causes it. */
  readonly caller?: Caller | undefined;
  /** Name of the client. Absent if the context has a viewer, who has a client name. */
  readonly clientName?: string | undefined;
  /** True if the server's operator makes the change. */
  readonly isOperator?: boolean | undefined;
  /** Identifier of the identity provider with which a person signs in, for the audit log. */
  readonly identityProvider?: string | undefined;
}

/** The context of a service function: the unit of work, and the acting viewer. */
export interface Ctx extends Scope {
  readonly viewer: Viewer;
  /** The client that waits for the result. Undefined for work that the server or its operator starts. */
  readonly caller?: Caller | undefined;
}

/** The context of a request, whether or not it is signed in. */
export interface RequestCtx extends WorkCtx {
  /** The organization that the host names. Null for the server's own domain without an organization. */
  readonly organization: Organization | null;
  readonly viewer: Viewer | null;
  readonly clientName: string;
  readonly caller?: Caller | undefined;
}

/**
 * Returns the context of a signed-in request.
 *
 * @throws UnauthorizedError if the request carried no credentials.
 */
export function signedIn({ app, work, viewer, caller }: RequestCtx): Ctx {
  if (viewer === null) throw new UnauthorizedError();
  return { app, work, organizationId: viewer.organization.id, viewer, caller };
}
