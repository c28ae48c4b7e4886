import { AsyncLocalStorage } from 'node:async_hooks';
import { RequestTimeoutError, StorageFullError } from '../platform/errors.ts';
import { hasRecipients } from './audience.ts';
import type { StoredEvent } from './stored.ts';

/** The progress of a request: the changes that it has begun and committed. */
interface Act {
  /** Number of changes in progress. A change can be nested in another. */
  depth: number;
  /** Whether the request has committed any change. */
  hasCommitted: boolean;
  /** Whether the last outermost change was committed completely. Set to false again when another change begins. */
  isMade: boolean;
  /** Id of the last committed event that a client can receive. Null if there is none. */
  position: number | null;
}

const acts = new AsyncLocalStorage<Act>();

/** The result of a function that answers a request: its value, or the error that it threw. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown; readonly isMade: boolean };

/**
 * Runs a function that answers a request, and observes the changes that it commits.
 *
 * @returns Either the value that `run` returned, or the error that it threw. With an error, `isMade` says whether the change
 *   was committed before the error. `position` is the id of the last committed event that a client can receive, or null.
 */
export async function observingChanges<T>(
  run: () => Promise<T>,
): Promise<Outcome<T> & { readonly position: number | null }> {
  const act: Act = { depth: 0, hasCommitted: false, isMade: false, position: null };
  try {
    const value = await acts.run(act, run);
    return { value, position: act.position };
  } catch (error) {
    return { error, isMade: act.isMade, position: act.position };
  }
}

/** Runs a function outside the context of the current request, for work that is not part of the request. */
export const detached = <T>(run: () => T): T => acts.exit(run);

/** Records the id of the last event in `events` that a client can receive, as the position of the current request. */
export function noteCommitted(events: readonly StoredEvent[]): void {
  const position = lastPosition(events);
  if (position !== null) noteCommittedAt(position);
}

/**
 * Records `position` for the current request, unless the request already has a higher position. The event at this position may
 * have been committed by an earlier request.
 */
export function noteCommittedAt(position: number): void {
  const act = acts.getStore();
  if (act !== undefined) act.position = Math.max(position, act.position ?? 0);
}

/**
 * Returns the id of the last event in `events` that a client can receive. Skips events without recipients, which are for the
 * service itself. Clients never receive such an event, so they must not be given its id to wait for.
 *
 * @param events In ascending order of ids.
 * @returns Null if no event has recipients.
 */
export function lastPosition(events: readonly StoredEvent[]): number | null {
  return events.findLast(({ audience }) => hasRecipients(audience))?.id ?? null;
}

/**
 * Runs `change` as one change, which is complete when `change` returns. If the change consists of several transactions, pass a
 * function that runs all of them. Otherwise the change would count as complete after the first transaction.
 *
 * @throws RequestTimeoutError if the database times out after some of the transactions were committed. The message says that
 *   the change is incomplete.
 */
export async function changing<T>(change: () => Promise<T>): Promise<T> {
  const act = acts.getStore();
  if (act === undefined) return change();
  act.depth++;
  act.isMade = false;
  try {
    const result = await change();
    act.hasCommitted = true;
    act.isMade = act.depth === 1;
    return result;
  } catch (error) {
    if (error instanceof RequestTimeoutError && act.hasCommitted) throw partlyDone(error);
    throw error;
  } finally {
    act.depth--;
  }
}

const partlyDone = (error: RequestTimeoutError) =>
  error instanceof StorageFullError
    ? new StorageFullError(
        'The service has no disk space left; the change is incomplete, repeat the request later to complete it',
      )
    : new RequestTimeoutError(
        'The service is unavailable; the change is incomplete, repeat the request to complete it',
      );
