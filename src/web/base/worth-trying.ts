/** Maximum random delay before a retry, in milliseconds, so that pages do not all retry at the same time. */
const SPREAD_MS = 300;

/** Waits for `waitMs` milliseconds, or until the network is back or the page is shown or hidden, whichever comes first. */
export function untilWorthTrying(waitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const woken = new AbortController();
  const wake = () => {
    clearTimeout(timer);
    woken.abort();
    resolve();
  };
  const timer = setTimeout(wake, waitMs + Math.random() * SPREAD_MS);
  addEventListener('online', wake, woken);
  document.addEventListener('visibilitychange', wake, woken);
  return promise;
}
