import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RequestCtx, signedIn } from '../../../access/context.ts';
import type { Budget } from '../../../platform/budget.ts';
import { BatchedReads } from '../../../platform/db/batched-reads.ts';
import type { SqlClient } from '../../../platform/db/client.ts';
import type { Browser } from '../../cookies.ts';
import { headersOf } from '../../sessions.ts';
import { BatchedLoads, type KeyedLoader, type LoadEach, type RequestedKey } from './keyed-loader.ts';
import type { ReaderBatch } from './reader-batch.ts';

/** The cost of an operation (`requested`), and the maximum cost of an operation (`limit`). */
export interface Cost {
  readonly requested: number;
  readonly limit: number;
  /** Number of requests that the operation counts as. */
  readonly charged: number;
}

/** The context that all resolvers of one operation receive. Each operation has its own context. */
export interface GraphQLContext extends RequestCtx {
  readonly cost: Cost;
  /** Budget of requests left for the caller; undefined if requests are not limited. */
  readonly budget?: Budget | undefined;
  /**
   * The browser for which the response can set cookies. Undefined for an operation on a WebSocket, which has no response
   * headers.
   */
  readonly browser?: Browser;
  /**
   * The batch of database reads for all users who receive events in the same turn of the event loop. Undefined unless the
   * operation is executed for an event.
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
 * the same value. The values depend on the rights of one viewer at one time, so they must not be used after the operation.
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
 * Returns a function that creates one loader per operation. During the delivery of events, the loads for all recipients are
 * batched. The number of SQL statements then does not grow with the number of recipients.
 *
 * @param load Returns the value for each pair of viewer and key, in order. There is more than one viewer only during the
 *   delivery of events.
 */
export function acrossReaders<K extends number | string, V>(
  load: LoadEach<K, V>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  const make = () => new BatchedLoads<K, V>(load);
  const own = perOperation((ctx) => make().of(signedIn(ctx)));
  return (ctx) => (ctx.batch === undefined ? own(ctx) : ctx.batch.once(make).of(signedIn(ctx)));
}

/**
 * Returns a function that creates one loader per operation. Its loads are batched with the loads of concurrent requests of the
 * same organization, and of all recipients of an event.
 *
 * @param load Returns the value for each pair of viewer and key, in order.
 * @param isOfViewer Whether the value depends on the viewer, so that `load` reads one row for each pair of viewer and key. If
 *   false, `load` reads one row for each distinct key. The number of rows determines when a batch is full.
 */
export function acrossRequests<K extends number | string, V>(
  load: LoadEach<K, V>,
  isOfViewer = true,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  const reads = new BatchedReads<RequestedKey<K>, V | Error>(
    (_place, wanted) => load(wanted),
    () => 1,
    isOfViewer ? undefined : ({ key }) => key,
  );
  return acrossReaders<K, V>(async (wanted) => {
    const [first] = wanted;
    return first === undefined
      ? []
      : reads.of({ db: first.ctx.work.db, organizationId: first.ctx.organizationId }, wanted);
  });
}

/**
 * Returns a function that creates one loader per operation, for values that depend on the organization, but not on the viewer.
 * Its loads are batched with the loads of concurrent requests of the same organization, and of all recipients of an event.
 *
 * @param read Reads the values of distinct keys, and returns a function that returns the value of a key.
 */
export function forAllViewers<K extends number | string, V>(
  read: (db: SqlClient, organizationId: number, keys: readonly K[]) => Promise<(key: K) => V | Error>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  return acrossRequests<K, V>(async (wanted) => {
    const [first] = wanted;
    if (first === undefined) return [];
    const found = await read(first.ctx.work.db, first.ctx.organizationId, [...new Set(wanted.map(({ key }) => key))]);
    return wanted.map(({ key }) => found(key));
  }, false);
}
