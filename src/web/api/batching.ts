import type { Sink } from 'graphql-ws';

/** Pause after each batch of events: `times` multiplied by the duration of the batch, but at most `longestMs` milliseconds. */
const REST = { times: 3, longestMs: 250 };
/**
 * Pause after each batch while the user types. The browser cannot show a typed character during a batch, so batches get
 * only about one twentieth of the time.
 */
const REST_FOR_WRITER = { times: 20, longestMs: 400 };
/** Time in milliseconds after a keystroke during which the user counts as typing. */
const WRITES_ON_MS = 1_000;
/**
 * Maximum time in milliseconds that a batch waits until the browser is idle. A batch that runs in an idle browser delays no
 * keystroke.
 */
const IDLE_WITHIN_MS = 200;

let lastWritten = Number.NEGATIVE_INFINITY;
addEventListener('input', () => (lastWritten = performance.now()), { capture: true, passive: true });

/**
 * Returns a sink that passes the received values to `sink` in batches, in the order of arrival. The cache then searches for
 * affected queries once per batch, not once per event. The pause after a batch is proportional to the duration of the batch.
 */
export function batching<T>(sink: Sink<T>): Sink<T> {
  let waiting: T[] = [];
  let restUntil = 0;
  const flush = () => {
    const due = waiting;
    waiting = [];
    if (due.length === 0) return;
    const began = performance.now();
    for (const value of due) {
      // An error that one event causes must not prevent the delivery of the other events in the batch.
      try {
        sink.next(value);
      } catch (error) {
        reportError(error);
      }
    }
    // React renders the page between the batch and this timer, so the measured time includes the rendering.
    setTimeout(() => {
      const now = performance.now();
      const { times, longestMs } = now - lastWritten < WRITES_ON_MS ? REST_FOR_WRITER : REST;
      restUntil = now + Math.min(times * (now - began), longestMs);
    });
  };
  return {
    next(value) {
      waiting.push(value);
      if (waiting.length > 1) return;
      // Outside of a pause, an event waits only until the browser is idle, and may be the only event of its batch.
      setTimeout(() => whenIdle(flush), Math.max(0, restUntil - performance.now()));
    },
    error(error) {
      flush();
      sink.error(error);
    },
    complete() {
      flush();
      sink.complete();
    },
  };
}

/** Runs a callback when the browser is idle, or immediately if the browser has no idle callbacks. */
function whenIdle(act: () => void): void {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(act, { timeout: IDLE_WITHIN_MS });
  else act();
}
