import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `attempt` until it succeeds.
 *
 * @param waitMs Returns the milliseconds until the next attempt, from the last error and the number of attempts. If it
 *   returns undefined, that error is thrown. It can also throw another error.
 * @param signal Ends the pauses, not the attempts.
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
