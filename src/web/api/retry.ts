import { OFFLINE_HEADER } from '../base/offline.ts';
import { createStore } from '../base/store.ts';
import { untilWorthTrying } from '../base/worth-trying.ts';
import { isFromStore } from './offline.ts';

const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [300, 5_000];
/**
 * Maximum pause, in milliseconds, that the service can request without a message to the user. For a longer pause, a message is
 * shown.
 */
const SHORT_MS = 1_000;
/** Maximum random time, in milliseconds, that is added to a requested pause, so that queries are not all sent at once. */
const SPREAD_MS = 300;

/** Message to the user while a query is being retried. */
export const trouble = createStore<string | undefined>(undefined);

/** Returns the pause that the service requests, in milliseconds. Undefined if the request cannot succeed later. */
export function retryAfterMs(errors: readonly { readonly extensions?: object }[]): number | undefined {
  const seconds = errors.map(({ extensions }) => (extensions as { retryAfterSeconds?: number })?.retryAfterSeconds);
  const requested = seconds.filter((one) => one !== undefined);
  return requested.length === 0 ? undefined : 1_000 * Math.max(...requested);
}

/**
 * Fetches like `fetch`, but repeats a query until the service executes it. Before each attempt it waits as long as the service
 * requested. If the service did not respond, it waits longer each time, or until the browser is online again. Mutations are
 * repeated by their callers.
 */
export const patientFetch: typeof fetch = async (url, options) => {
  if (typeof options?.body !== 'string' || options.body.includes('"query":"mutation')) {
    const response = await fetch(url, options);
    if (response.headers.has(OFFLINE_HEADER)) isFromStore.set(true);
    return response;
  }
  for (let failures = 1; ; failures++) {
    const response = await fetch(url, options).catch((error) => {
      if (options.signal?.aborted) throw error;
    });
    if (response?.headers.has(OFFLINE_HEADER) === true) isFromStore.set(true);
    const result = await response
      ?.clone()
      .json()
      .catch(() => {});
    const requestedMs = retryAfterMs(result?.errors ?? []);
    if (failures > 1) trouble.set(undefined);
    if (response !== undefined && result !== undefined && requestedMs === undefined) return response;
    if (failures > 1 || !navigator.onLine || (requestedMs ?? 0) > SHORT_MS) trouble.set(messageFor(requestedMs));
    if (requestedMs === undefined)
      await untilWorthTrying(Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS));
    else await new Promise((resolve) => setTimeout(resolve, requestedMs + Math.random() * SPREAD_MS));
  }
};

function messageFor(requestedMs: number | undefined): string {
  if (!navigator.onLine) return 'You are offline. Loading continues when the connection is back.';
  return `The service ${requestedMs === undefined ? 'does not respond' : 'is temporarily unavailable'}. Retrying…`;
}
