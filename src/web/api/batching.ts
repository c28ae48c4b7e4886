import type { Sink } from 'graphql-ws';

/** Pause after each batch of events: `times` the duration of the batch, but at most `longestMs`. */
const REST = { times: 3, longestMs: 250 };
/**
 * Pause after each batch while the user types. The browser cannot show a typed character during a batch, so batches get
 * only about one twentieth of the time.
 */
const REST_FOR_WRITER = { times: 20, longestMs: 400 };
/** Time after a keystroke during which the user counts as typing. */
const WRITES_ON_MS = 1_000;
/** Longest time that a batch waits until the browser is idle. An idle browser is not just handling a keystroke. */
const IDLE_WITHIN_MS = 200;

let lastWritten = Number.NEGATIVE_INFINITY;
addEventListener('input', () => (lastWritten = performance.now()), { capture: true, passive: true });

/**
 * Returns a sink that passes its values on in batches, in order. The cache then searches for affected queries once per
 * batch, not once per event. The longer a batch takes, the longer is the pause until the next one.
 */
export function batching<T>(sink: Sink<T>): Sink<T> {
  let waiting: (() => void)[] = [];
  let isDue = false;
  let restUntil = 0;
  const flush = () => {
    isDue = false;
    const due = waiting;
    waiting = [];
    if (due.length === 0) return;
    const began = performance.now();
    for (const hand of due) {
      // An error that one event causes must not prevent the delivery of the other events in the batch.
      try {
        hand();
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
      waiting.push(() => sink.next(value));
      if (isDue) return;
      isDue = true;
      // If no pause is in progress, an event waits only until the browser is idle, and may be alone in its batch.
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
