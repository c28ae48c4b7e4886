import type { AnyVariables, CombinedError, Exchange, Operation, OperationResult } from 'urql';
import { filter, makeSubject, merge, pipe, tap } from 'wonka';
import { createStore } from './store.ts';
import { untilWorthTrying } from './worth-trying.ts';

const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [300, 5_000];
/** Longest pause that is not reported to the user. */
const SHORT_MS = 1_000;
/** Longest random addition to a pause that the service requests, so that queries are not all sent at the same time. */
const SPREAD_MS = 300;

/** Codes of temporary errors: the query can succeed if it is sent again later. */
const FOR_NOW: ReadonlySet<unknown> = new Set(['RATE_LIMIT_HIT', 'REQUEST_TIMEOUT', 'STORAGE_FULL']);

/** Messages to the user about failed queries that are being retried, by operation key. */
export const troubles = createStore<ReadonlyMap<number, string>>(new Map());

/** A failed query, until it succeeds or is no longer needed. */
interface Waiting {
  /** Number of failures so far. */
  readonly failures: number;
  /** Sends the query before its pause ends. */
  readonly wake: () => void;
}

const waiting = new Map<number, Waiting>();

/** Retries a query before its pause ends. @returns False if the query is not paused. */
export function retryNow(key: number): boolean {
  const found = waiting.get(key);
  found?.wake();
  return found !== undefined;
}

function setTrouble(key: number, message: string | undefined): void {
  if (troubles.get().get(key) === message) return;
  const next = new Map(troubles.get());
  if (message === undefined) next.delete(key);
  else next.set(key, message);
  troubles.set(next);
}

function forget(key: number): void {
  waiting.delete(key);
  setTrouble(key, undefined);
}

/**
 * Retries queries until they succeed. After network errors the pauses grow, and end early when the browser is online again.
 * After a rate limit, the query waits for the time that the service names. Mutations are retried by their callers. Queries
 * with `isTriedOnce` in their context are not retried.
 */
export const retryExchange: Exchange =
  ({ forward }) =>
  (operations) => {
    const { source: again, next: send } = makeSubject<Operation>();
    const retryLater = (operation: Operation, retryAfterMs: number, message: string) => {
      const { key } = operation;
      const failures = (waiting.get(key)?.failures ?? 0) + 1;
      const backoffMs = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS);
      const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
      const mine: Waiting = { failures, wake };
      waiting.set(key, mine);
      if (failures > 1 || retryAfterMs > SHORT_MS || !navigator.onLine) setTrouble(key, message);
      const pause =
        retryAfterMs > 0
          ? new Promise<void>((end) => setTimeout(end, retryAfterMs + Math.random() * SPREAD_MS))
          : untilWorthTrying(backoffMs);
      void Promise.race([pause, woken]).then(() => waiting.get(key) === mine && send(operation));
    };
    const isAnswered = (result: OperationResult<unknown, AnyVariables>): boolean => {
      const { operation, error } = result;
      if (operation.kind !== 'query') return true;
      const retryAfterMs = error === undefined ? undefined : retryAfterOf(error);
      if (error === undefined || retryAfterMs === undefined || operation.context['isTriedOnce'] === true) {
        forget(operation.key);
        return true;
      }
      retryLater(operation, retryAfterMs, messageFor(error));
      return false;
    };
    const note = ({ kind, key }: Operation) => {
      const found = waiting.get(key);
      if (kind === 'teardown') forget(key);
      // A component has sent the query again. The new object prevents the end of the pause from sending it once more.
      else if (found !== undefined) waiting.set(key, { ...found });
    };
    return pipe(merge([pipe(operations, tap(note)), again]), forward, filter(isAnswered));
  };

/**
 * Returns the time to wait after an error, in milliseconds: 0 if the service names none, undefined if a retry is useless.
 */
function retryAfterOf({ networkError, graphQLErrors }: CombinedError): number | undefined {
  if (networkError !== undefined) return 0;
  const retryable = graphQLErrors.filter(({ extensions }) => FOR_NOW.has(extensions['code']));
  if (retryable.length === 0) return undefined;
  return 1_000 * Math.max(...retryable.map(({ extensions }) => Number(extensions['retry-after']) || 0));
}

function messageFor({ networkError }: CombinedError): string {
  if (!navigator.onLine) return 'You are offline. Loading continues when the connection is back.';
  if (networkError !== undefined) return 'The service does not respond. Retrying…';
  return 'The service is temporarily unavailable. Retrying…';
}
