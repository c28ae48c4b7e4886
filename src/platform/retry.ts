import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Makes attempts until one succeeds.
 *
 * @param waitMs Told what an attempt failed with, and how many there were: how long to wait before the next one.
 *   Undefined when there is to be none: then that failure is thrown. It may throw another one itself.
 * @param signal Ends the waiting, not the attempts.
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
