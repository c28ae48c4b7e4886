/** Maximum random delay before a retry, in milliseconds, so that pages do not all retry at the same time. */
const SPREAD_MS = 300;

/** Name of the event that ends all waits. */
const WAKE = 'worth-trying';

/** Ends all waits of `untilWorthTrying`, because the user retries. */
export const wake = (): boolean => dispatchEvent(new Event(WAKE));

/** Waits for `waitMs` milliseconds, or until the network is back or the page is shown or hidden, whichever comes first. */
export function untilWorthTrying(waitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const woken = new AbortController();
  const end = () => {
    clearTimeout(timer);
    woken.abort();
    resolve();
  };
  const timer = setTimeout(end, waitMs + Math.random() * SPREAD_MS);
  for (const name of ['online', WAKE]) addEventListener(name, end, woken);
  document.addEventListener('visibilitychange', end, woken);
  return promise;
}
