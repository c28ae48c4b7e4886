import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RequestCtx, signedIn } from '../../access/context.ts';
import type { Budget } from '../../platform/budget.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { GatheredReads } from '../../platform/db/gathered-reads.ts';
import type { Browser } from '../cookies.ts';
import { headersOf } from '../sessions.ts';
import { BatchedLoads, type KeyedLoader, type LoadEach, type Wanted } from './keyed-loader.ts';
import type { ReaderBatch } from './reader-batch.ts';

/** What a document costs to answer, and the most it may. */
export interface Cost {
  readonly requested: number;
  readonly limit: number;
  /** How many requests the operation counts as. */
  readonly charged: number;
}

/** What a resolver is given: the request, made anew for each operation. */
export interface GraphQLContext extends RequestCtx {
  readonly cost: Cost;
  /** What is left of the caller's budget; undefined where nothing is counted. */
  readonly budget?: Budget | undefined;
  /** Undefined on a socket, which can be given no cookie. */
  readonly browser?: Browser;
  /** What is read together with others, where what is resolved is delivered to many. */
  readonly batch?: ReaderBatch | undefined;
  /** Under which the operation may be repeated. */
  readonly idempotencyKey?: string | undefined;
}

/** Whom the reply may give a cookie. */
export const browserOf = ({ headers }: IncomingMessage, response: ServerResponse): Browser => ({
  header: headersOf(headers),
  setCookie: (cookie) => void response.appendHeader('set-cookie', cookie),
});

/**
 * Makes something at most once for each operation, such as a DataLoader. What it loads is cached with the rights of one
 * viewer at one time, so it must not outlive the operation.
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
 * A loader for each operation; where something is delivered to many, one for all of them, which is what keeps the number of
 * statements from growing with theirs.
 *
 * @param load What each of the viewers gets, in order: the viewers differ only in a delivery.
 */
export function acrossReaders<K extends number | string, V>(
  load: LoadEach<K, V>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  const make = () => new BatchedLoads<K, V>(load);
  const own = perOperation((ctx) => make().of(signedIn(ctx)));
  return (ctx) => (ctx.batch === undefined ? own(ctx) : ctx.batch.once(make).of(signedIn(ctx)));
}

/**
 * The same, with whoever asks for it at the same time, in whatever request.
 *
 * @param load What each of the viewers gets, in order: as much work as there are keys, not viewers times keys.
 */
export function acrossRequests<K extends number | string, V>(
  load: LoadEach<K, V>,
): (ctx: GraphQLContext) => KeyedLoader<K, V> {
  const reads = new GatheredReads<Wanted<K>, V | Error>((_place, wanted) => load(wanted));
  return acrossReaders<K, V>(async (wanted) => {
    const [first] = wanted;
    return first === undefined ? [] : reads.of({ db: first.ctx.app.db, realmId: first.ctx.realmId }, wanted);
  });
}

/**
 * The same of what everybody in an organisation is given alike.
 *
 * @param read What each of the keys leads to, each of them given once.
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
