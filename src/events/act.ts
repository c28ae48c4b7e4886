import { AsyncLocalStorage } from 'node:async_hooks';
import { RequestTimeoutError } from '../platform/errors.ts';

/** What a request does, as far as it has come. */
interface Act {
  /** Changes begun and not ended, one within the other. */
  depth: number;
  /** Whether something was committed. */
  hasCommitted: boolean;
  /** Whether what was begun last, as a whole, was committed. */
  isMade: boolean;
}

const acts = new AsyncLocalStorage<Act>();

/**
 * Runs something that answers a request, and says whether it failed only after it had done what it was to do.
 *
 * @returns What `run` returns; or, thrown by it, an error, and whether the change was made before.
 */
export async function observingChanges<T>(
  run: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown; readonly isMade: boolean }> {
  const act: Act = { depth: 0, hasCommitted: false, isMade: false };
  try {
    return { value: await acts.run(act, run) };
  } catch (error) {
    return { error, isMade: act.isMade };
  }
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
    if (error instanceof RequestTimeoutError && act.hasCommitted) throw partlyDone();
    throw error;
  } finally {
    act.depth--;
  }
}

const partlyDone = () =>
  new RequestTimeoutError('The service is busy; a part is done, and the same request again does the rest');
