import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `attempt` until it succeeds, and returns its result.
 *
 * @param waitMs Returns the milliseconds until the next attempt, from the last error and the number of attempts. If it returns
 *   undefined, `retry` throws the last error. If `waitMs` itself throws an error, `retry` throws that error.
 * @param signal If the signal is aborted, the remaining attempts follow each other without pauses.
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  waitMs: (error: unknown, attempts: number) => number | undefined,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      const ms = waitMs(error, attempts);
      if (ms === undefined) throw error;
      await sleep(ms, undefined, signal && { signal }).catch(() => {});
    }
  }
}
