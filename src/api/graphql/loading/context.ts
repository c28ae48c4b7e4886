import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RequestCtx, signedIn } from '../../../access/context.ts';
import type { Budget } from '../../../platform/budget.ts';
import { BatchedReads } from '../../../platform/db/batched-reads.ts';
import type { SqlClient } from '../../../platform/db/client.ts';
import type { Browser } from '../../cookies.ts';
import { headersOf } from '../../sessions.ts';
import { BatchedLoads, type KeyedLoader, type LoadEach, type RequestedKey } from './keyed-loader.ts';
import type { ReaderBatch } from './reader-batch.ts';

/** The cost of an operation, and its limit. */
export interface Cost {
  readonly requested: number;
  readonly limit: number;
  /** Number of requests that the operation counts as. */
  readonly charged: number;
}

/** The context that all resolvers of one operation receive. A new one is created for each operation. */
export interface GraphQLContext extends RequestCtx {
  readonly cost: Cost;
  /** Budget left for the caller; undefined if requests are not limited. */
  readonly budget?: Budget | undefined;
  /**
   * The browser for which the response can set cookies. Undefined for an operation on a WebSocket, which has no response
   * headers.
   */
  readonly browser?: Browser;
  /**
   * Batches the reads of all readers to whom one batch of events is delivered. Undefined unless the operation is executed for
   * an event.
   */
  readonly batch?: ReaderBatch | undefined;
  /** The idempotency key that the client sent; undefined if it sent none. */
  readonly idempotencyKey?: string | undefined;
}

/** Returns an object that reads the headers of a request, and sets cookies in its response. */
export const browserOf = ({ headers }: IncomingMessage, response: ServerResponse): Browser => ({
  header: headersOf(headers),
  setCookie: (cookie) => void response.appendHeader('set-cookie', cookie),
});

/**
 * Returns a function that creates a value, such as a DataLoader, once per operation. Later calls in the same operation return
 * the same value. The loaded values depend on the rights of one viewer at one time, so they must not outlive the operation.
 */
export function perOperation<T>(make: (ctx: GraphQLContext) => T): (ctx: GraphQLContext) => T {
  const made = new WeakMap<GraphQLContext, { readonly value: T }>();
  return (ctx) => {
    const known = made.get(ctx) ?? { value: make(ctx) };
    made.set(ctx, known);
    return known.value;
  };
}

/**
 * Returns a function that creates one loader per operation. While events are delivered, all readers of the events share one
 * loader, so that the number of SQL statements does not grow with the number of readers.
 *
 * @param load Returns the value for each viewer and key, in order. The viewers differ only while events are delivered.
 */
export function acrossReaders<K extends number | string, V>(
  load: LoadEach<K, V>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  const make = () => new BatchedLoads<K, V>(load);
  const own = perOperation((ctx) => make().of(signedIn(ctx)));
  return (ctx) => (ctx.batch === undefined ? own(ctx) : ctx.batch.once(make).of(signedIn(ctx)));
}

/**
 * Returns a function like `acrossReaders`. Its loads are also batched with loads of concurrent requests.
 *
 * @param load Returns the value for each viewer and key, in order. Its cost must grow with the number of keys, not with viewers
 *   times keys.
 */
export function acrossRequests<K extends number | string, V>(
  load: LoadEach<K, V>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  const reads = new BatchedReads<RequestedKey<K>, V | Error>((_place, wanted) => load(wanted));
  return acrossReaders<K, V>(async (wanted) => {
    const [first] = wanted;
    return first === undefined ? [] : reads.of({ db: first.ctx.app.db, realmId: first.ctx.realmId }, wanted);
  });
}

/**
 * Returns a function like `acrossRequests`, for values that do not depend on the user, only on the organization.
 *
 * @param read Reads the values of keys, which contain no duplicates, and returns a function that looks up the value of a key.
 */
export function forEverybody<K extends number | string, V>(
  read: (db: SqlClient, realmId: number, keys: readonly K[]) => Promise<(key: K) => V | Error>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  return acrossRequests<K, V>(async (wanted) => {
    const [first] = wanted;
    if (first === undefined) return [];
    const found = await read(first.ctx.app.db, first.ctx.realmId, [...new Set(wanted.map(({ key }) => key))]);
    return wanted.map(({ key }) => found(key));
  });
}
