import { type Context, createContext, Script } from 'node:vm';

/** The function took too long and was interrupted. */
export class OutOfTimeError extends Error {
  override name = 'OutOfTimeError';
}

const script = new Script('run()');
let context: Context | undefined;

/**
 * Runs a function that cannot be stopped otherwise, such as a regular expression, and interrupts it after a time.
 *
 * The setup starts a thread and takes less than a millisecond. An interrupted function runs no `finally` block, so it must not
 * leave an inconsistent state behind.
 *
 * @param milliseconds A positive integer.
 * @throws OutOfTimeError if the time is exceeded.
 */
export function watched<T>(milliseconds: number, run: () => T): T {
  context ??= createContext({});
  context['run'] = run;
  try {
    return script.runInContext(context, { timeout: milliseconds });
  } catch (error) {
    throw isTimeout(error) ? new OutOfTimeError() : error;
  } finally {
    context['run'] = undefined;
  }
}

const isTimeout = (error: unknown) =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
