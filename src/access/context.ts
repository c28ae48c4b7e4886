import type { Logger } from 'pino';
import type { EventHub } from '../events/hub.ts';
import type { RequestTransaction } from '../events/log.ts';
import type { QueueRegistry } from '../events/queue-registry.ts';
import type { Realm, User } from '../generated/prisma/client.ts';
import type { AccountShares } from '../platform/account-shares.ts';
import type { Caller } from '../platform/caller.ts';
import type { Config } from '../platform/config.ts';
import type { Connections } from '../platform/connections.ts';
import type { Database, Db } from '../platform/db/client.ts';
import type { KeyVault } from '../platform/key-vault.ts';
import type { RateLimits } from '../platform/rate-limits.ts';
import type { Unread } from '../platform/unread.ts';
import { UnauthorizedError } from './errors.ts';
import type { ReplyFirst } from './reply-first.ts';
import type { SharedState } from './shared-state.ts';

/** Sends what is to be sent later. */
export interface Deliveries {
  /** Says that something is to be sent at a time, which may be earlier than all that was known of. */
  wake(at: Date): void;
}

/** The transaction of a request that is to have its effect once, and the way out of it. */
export interface IdempotentTransaction extends RequestTransaction {
  /** What `runOutsideTransaction` does in such a request. */
  runOutside<T>(name: string, work: (app: App) => Promise<T>): Promise<T>;
  /**
   * Has `tell` complete the reply with the position of the request's last event, null where there is none, before the
   * reply is kept.
   */
  whenLogged(tell: (position: number | null) => void): void;
}

/** A moment at which a request reads all it answers with. */
export interface Snapshot {
  /** The log's last id then. */
  readonly position: number;
  /** Leaves for later what is to be done when all is read: with the app as it is otherwise. */
  afterwards(act: (app: App) => Promise<unknown>): void;
}

/** One running service: everything a request needs that is not the request's own. */
export interface App {
  readonly config: Config;
  readonly database: Database;
  /** Short for `database.db`: reads, and writes that emit no event. */
  readonly db: Db;
  readonly hub: EventHub;
  readonly queues: QueueRegistry;
  readonly keys: KeyVault;
  /** Sends what is to be sent later. */
  readonly deliveries: Deliveries;
  readonly rateLimits: RateLimits;
  readonly unread: Unread;
  /** What is kept of the state for the next who registers. */
  readonly sharedState: SharedState;
  /** Who may open connections to this process. */
  readonly connections: Connections;
  /** How much of this process each account may have. */
  readonly shares: AccountShares;
  readonly log: Logger;
  /** The one transaction a request is made in that is to have its effect once; `db` is that transaction then. */
  readonly transaction?: IdempotentTransaction;
  /** The one change of a request that is answered before it is made, and is to have its effect once. */
  readonly replyFirst?: ReplyFirst;
  /** The moment a request is answered from, where it asked for one; `db` reads there, and nothing can be changed. */
  readonly snapshot?: Snapshot;
  /** The time: the only clock services read. */
  now(): Date;
}

/** Who acts, read from the database once for each operation and handed down. */
export interface Viewer {
  readonly realm: Realm;
  readonly user: User;
  /** Short for `user.id`. */
  readonly id: number;
  /** One of `ROLES`. */
  readonly role: number;
  /** The client's own name for itself, at most 30 characters. */
  readonly clientName: string;
  /** What they signed in with; null for the server's operator. */
  readonly credential: Credential | null;
}

/** A key, of which this is the SHA-256; or a session, of this number, which ends then unless it is made longer. */
export type Credential =
  | { readonly kind: 'key'; readonly hash: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'session'; readonly realmId: number; readonly id: number; readonly endsAt: Date };

/** What a change needs: where it happens. */
export interface Scope {
  readonly app: App;
  readonly realmId: number;
}

/** What a service function is given: the app, and who acts. */
export interface Ctx extends Scope {
  readonly viewer: Viewer;
  /** Who waits for it; undefined for what the server, or its operator, does of their own accord. */
  readonly caller?: Caller | undefined;
}

/** What a request carries before, and whether or not, it is signed in. */
export interface RequestCtx {
  readonly app: App;
  /** The organisation its host names; null for the server's own domain without one. */
  readonly realm: Realm | null;
  readonly viewer: Viewer | null;
  readonly clientName: string;
  readonly caller?: Caller | undefined;
}

/**
 * The context of a signed-in request.
 *
 * @throws UnauthorizedError when the request carried no credentials.
 */
export function signedIn({ app, viewer, caller }: RequestCtx): Ctx {
  if (viewer === null) throw new UnauthorizedError();
  return { app, realmId: viewer.realm.id, viewer, caller };
}
