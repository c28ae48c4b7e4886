import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../helpers/http.ts';

/** Maximum pause after a request without a response, in milliseconds. */
const LONGEST_MS = 2_000;

/**
 * Fetches like `fetch`, and repeats reads until the service accepts them: after the time that it names, or after a growing pause
 * if there is no response. Mutations are not repeated, because they may have been executed.
 */
export const patientFetch: typeof fetch = async (url, options) => {
  const isRead = !/^\s*mutation/.test(JSON.parse(String(options?.body)).query);
  for (let waitMs = 100; ; waitMs = Math.min(2 * waitMs, LONGEST_MS)) {
    const response = await fetch(url, options).catch((error) => {
      if (!isRead || options?.signal?.aborted) throw error;
    });
    const result = await response
      ?.clone()
      .json()
      .catch(() => undefined);
    const seconds = (result?.errors ?? []).map((error: Json) => error.extensions?.retryAfterSeconds ?? 0);
    const requestedMs = 1_000 * Math.max(0, ...seconds);
    if (response !== undefined && (!isRead || requestedMs === 0)) return response;
    await sleep(requestedMs || waitMs, undefined, options?.signal ? { signal: options.signal } : {});
  }
};
