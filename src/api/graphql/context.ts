import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RequestCtx, signedIn } from '../../access/context.ts';
import type { Budget } from '../../platform/budget.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { GatheredReads } from '../../platform/db/gathered-reads.ts';
import type { Browser } from '../cookies.ts';
import { headersOf } from '../sessions.ts';
import { BatchedLoads, type KeyedLoader, type LoadEach, type RequestedKey } from './keyed-loader.ts';
import type { ReaderBatch } from './reader-batch.ts';

/** The cost of an operation, and its limit. */
export interface Cost {
  readonly requested: number;
  readonly limit: number;
  /** Number of requests that the operation counts as. */
  readonly charged: number;
}

/** The context of resolvers: the request. A new one is created for each operation. */
export interface GraphQLContext extends RequestCtx {
  readonly cost: Cost;
  /** Budget left for the caller; undefined if requests are not limited. */
  readonly budget?: Budget | undefined;
  /** Undefined on a socket, on which no cookie can be set. */
  readonly browser?: Browser;
  /** Reads that are batched with those of other readers, while events are delivered. */
  readonly batch?: ReaderBatch | undefined;
  /** Key under which the operation can be repeated. */
  readonly idempotencyKey?: string | undefined;
}

/** Returns the browser on which a response can set cookies. */
export const browserOf = ({ headers }: IncomingMessage, response: ServerResponse): Browser => ({
  header: headersOf(headers),
  setCookie: (cookie) => void response.appendHeader('set-cookie', cookie),
});

/**
 * Returns a function that creates a value at most once per operation, such as a DataLoader. The loaded values depend on the
 * rights of one viewer at one time, so they must not outlive the operation.
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
 * Returns a loader per operation. While events are delivered, all readers share one loader, so that the number of statements
 * does not grow with the number of readers.
 *
 * @param load Returns the value for each viewer and key, in order. The viewers differ only during a delivery.
 */
export function acrossReaders<K extends number | string, V>(
  load: LoadEach<K, V>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  const make = () => new BatchedLoads<K, V>(load);
  const own = perOperation((ctx) => make().of(signedIn(ctx)));
  return (ctx) => (ctx.batch === undefined ? own(ctx) : ctx.batch.once(make).of(signedIn(ctx)));
}

/**
 * Returns a loader like `acrossReaders`, batched with simultaneous loads of other requests.
 *
 * @param load Returns the value for each viewer and key, in order. Its work must grow with the number of keys, not with
 *   viewers times keys.
 */
export function acrossRequests<K extends number | string, V>(
  load: LoadEach<K, V>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  const reads = new GatheredReads<RequestedKey<K>, V | Error>((_place, wanted) => load(wanted));
  return acrossReaders<K, V>(async (wanted) => {
    const [first] = wanted;
    return first === undefined ? [] : reads.of({ db: first.ctx.app.db, realmId: first.ctx.realmId }, wanted);
  });
}

/**
 * Returns a loader like `acrossRequests`, for values that are the same for all users of an organization.
 *
 * @param read Reads the values of keys, each given once, and returns a function that looks them up.
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
