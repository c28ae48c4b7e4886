import { type Context, createContext, Script } from 'node:vm';

/** Error for a function that took too long and was interrupted. */
export class OutOfTimeError extends Error {
  override name = 'OutOfTimeError';
}

const script = new Script('run()');
let context: Context | undefined;

/**
 * Runs a function, and interrupts it if it exceeds a time limit. Also interrupts code that cannot be stopped otherwise, such as
 * a regular expression.
 *
 * The setup starts a thread and takes less than a millisecond. An interrupted function runs no `finally` block, so it must not
 * leave inconsistent state behind.
 *
 * @param milliseconds Time limit: a positive integer.
 * @throws OutOfTimeError if the time limit is exceeded.
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
