import { AsyncLocalStorage } from 'node:async_hooks';
import { RequestTimeoutError, StorageFullError } from '../platform/errors.ts';
import { canBeHeard } from './audience.ts';
import type { StoredEvent } from './stored.ts';

/** What a request does, as far as it has come. */
interface Act {
  /** Changes begun and not ended, one within the other. */
  depth: number;
  /** Whether something was committed. */
  hasCommitted: boolean;
  /** Whether what was begun last, as a whole, was committed. */
  isMade: boolean;
  /** Of the last event that was committed; null where there is none that anybody can hear. */
  position: number | null;
}

const acts = new AsyncLocalStorage<Act>();

/** What something came to that answers a request. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown; readonly isMade: boolean };

/**
 * Runs something that answers a request, and says whether it failed only after it had done what it was to do, and where the
 * log tells of it.
 *
 * @returns What `run` returns; or, thrown by it, an error, and whether the change was made before. And the position of the
 *   last event of its changes, as far as they are committed.
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

/** Does what has a time of its own, and is no part of the request that sets it going. */
export const apart = <T>(run: () => T): T => acts.exit(run);

/** Takes note of events of the request's changes, which are committed. */
export function noteCommitted(events: readonly StoredEvent[]): void {
  const act = acts.getStore();
  const position = lastPosition(events);
  if (act !== undefined && position !== null) act.position = Math.max(position, act.position ?? 0);
}

/**
 * Where the last of some events stands that somebody can hear: those for the service itself reach no client, which would
 * wait for them in vain.
 *
 * @param events In order.
 * @returns Null where there is none.
 */
export function lastPosition(events: readonly StoredEvent[]): number | null {
  return events.findLast(({ audience }) => canBeHeard(audience))?.id ?? null;
}

/**
 * Marks what `change` does as one change, that is made when it returns. What consists of several transactions is marked as
 * a whole: after some of them it is not made.
 *
 * @throws RequestTimeoutError when the database gave out in the middle: it says that a part is done.
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
    ? new StorageFullError('The service has no room left; a part is done, and the same request later does the rest')
    : new RequestTimeoutError('The service is busy; a part is done, and the same request again does the rest');
