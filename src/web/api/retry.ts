import { type CombinedError, type Exchange, makeOperation, type Operation } from 'urql';
import { filter, fromPromise, makeSubject, map, merge, mergeMap, pipe, take, takeUntil, tap } from 'wonka';
import { createStore } from '../base/store.ts';
import { untilWorthTrying } from '../base/worth-trying.ts';

const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [300, 5_000];
/** Maximum pause, in milliseconds, that the service can request without a message to the user. */
const SHORT_MS = 1_000;
/** Maximum random time, in milliseconds, that is added to a requested pause, so that queries are not all sent at once. */
const SPREAD_MS = 300;

/** Codes of temporary errors: the query can succeed if it is sent again later. */
export const TEMPORARY: readonly unknown[] = ['RATE_LIMIT_HIT', 'REQUEST_TIMEOUT', 'STORAGE_FULL'];

/** Returns whether the service responded with a temporary error. */
export const isTemporary = ({ graphQLErrors }: CombinedError): boolean =>
  graphQLErrors.some(({ extensions }) => TEMPORARY.includes(extensions['code']));

/** Messages to the user about failed queries that are being retried, by operation key. */
export const troubles = createStore<ReadonlyMap<number, string>>(new Map());

function setTrouble(key: number, message?: string): void {
  const next = new Map(troubles.get());
  if (message === undefined ? next.delete(key) : next.get(key) !== message && next.set(key, message))
    troubles.set(next);
}

const { source: wishes, next: retryNow } = makeSubject<number>();

/** Ends the pause before the next retry of a query. Its parameter is the operation key. */
export { retryNow };

/**
 * Retries queries until they succeed. After network errors, the pauses grow, and end early when the browser is online again.
 * After a rate limit, the query waits at least for the time that the service requests, which `@urql/exchange-retry` cannot.
 * Mutations are retried by their callers. Queries with `isTriedOnce` in their context are not retried.
 */
export const retryExchange: Exchange =
  ({ forward }) =>
  (operations) => {
    const { source: failed, next: fail } = makeSubject<{ operation: Operation; pause: Promise<void> }>();
    const retries = mergeMap(({ operation, pause }: { operation: Operation; pause: Promise<void> }) => {
      // If a component has sent the query again, or no longer needs it, the retry is canceled.
      const isSame = ({ key }: Operation) => key === operation.key;
      const wish = filter((key: number) => key === operation.key)(wishes);
      const isOver = merge<unknown>([fromPromise(pause), wish]);
      return pipe(
        isOver,
        take(1),
        map(() => operation),
        takeUntil(filter(isSame)(operations)),
      );
    })(failed);
    const sent = tap(({ kind, key }: Operation) => kind === 'teardown' && setTrouble(key))(operations);
    return pipe(
      merge([sent, retries]),
      forward,
      filter(({ operation, error }) => {
        const { kind, key, context } = operation;
        const retryAfterMs = kind !== 'query' || context['isTriedOnce'] ? undefined : error && retryAfterOf(error);
        if (error === undefined || retryAfterMs === undefined) {
          setTrouble(key);
          return true;
        }
        const failures = Number(context['failures'] ?? 0) + 1;
        if (failures > 1 || retryAfterMs > SHORT_MS || !navigator.onLine) setTrouble(key, messageFor(error));
        const requestedMs = retryAfterMs + Math.random() * SPREAD_MS;
        const pause =
          retryAfterMs > 0
            ? new Promise<void>((end) => setTimeout(end, requestedMs))
            : untilWorthTrying(Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS));
        fail({ operation: makeOperation(kind, operation, { ...context, failures }), pause });
        return false;
      }),
    );
  };

/** Returns the pause in milliseconds that the service requests, 0 if it requests none. Undefined if a retry is useless. */
function retryAfterOf({ networkError, graphQLErrors }: CombinedError): number | undefined {
  if (networkError !== undefined) return 0;
  const temporary = graphQLErrors.filter(({ extensions }) => TEMPORARY.includes(extensions['code']));
  const seconds = temporary.map(({ extensions }) => Number(extensions['retryAfterSeconds']) || 0);
  return seconds.length === 0 ? undefined : 1_000 * Math.max(...seconds);
}

function messageFor({ networkError }: CombinedError): string {
  if (!navigator.onLine) return 'You are offline. Loading continues when the connection is back.';
  return networkError !== undefined
    ? 'The service does not respond. Retrying…'
    : 'The service is temporarily unavailable. Retrying…';
}
