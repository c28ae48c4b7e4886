import { AsyncLocalStorage } from 'node:async_hooks';
import { RequestTimeoutError, StorageFullError } from '../platform/errors.ts';
import { hasRecipients } from './audience.ts';
import type { StoredEvent } from './stored.ts';

/** The progress of a request: the changes that it has begun and committed. */
interface Act {
  /** Number of nested changes in progress. */
  depth: number;
  /** Whether any change was committed. */
  hasCommitted: boolean;
  /** Whether the last outermost change was committed as a whole. False again once another change begins. */
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
 * @returns The value that `run` returned; or the error that it threw, with `isMade`: whether the change was committed before
 *   the error. `position` is the id of the last committed event that a client can receive, or null.
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

/** Records the position of the current request: the id of the last of these committed events that a client can receive. */
export function noteCommitted(events: readonly StoredEvent[]): void {
  const position = lastPosition(events);
  if (position !== null) noteCommittedAt(position);
}

/** Records the position of the current request, whose events may have been committed by an earlier request. */
export function noteCommittedAt(position: number): void {
  const act = acts.getStore();
  if (act !== undefined) act.position = Math.max(position, act.position ?? 0);
}

/**
 * Returns the id of the last event that a client can receive. Skips events for the service itself, which no client receives: a
 * client would wait for them in vain.
 *
 * @param events In ascending order of ids.
 * @returns Null if no event has recipients.
 */
export function lastPosition(events: readonly StoredEvent[]): number | null {
  return events.findLast(({ audience }) => hasRecipients(audience))?.id ?? null;
}

/**
 * Marks `change` as one change, which is complete when it returns. If a change consists of several transactions, wrap all of
 * them: it is not complete after some of them.
 *
 * @throws RequestTimeoutError if the database times out after a part was committed. The message says that a part is done.
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
