import type { Sink } from 'graphql-ws';

/** Pause after a batch: a multiple of the time that the batch took, but at most `longestMs`. */
const REST = { times: 3, longestMs: 250 };
/**
 * Pause after a batch while the user types. A key pressed during a batch is drawn only after it, so batches get one
 * twentieth of the time.
 */
const REST_FOR_WRITER = { times: 20, longestMs: 400 };
/** Time after a keystroke during which the user counts as typing. */
const WRITES_ON_MS = 1_000;
/** Longest wait for an idle callback, so that a batch runs between two keystrokes and not just before one. */
const IDLE_WITHIN_MS = 200;

let lastWritten = Number.NEGATIVE_INFINITY;
addEventListener('input', () => (lastWritten = performance.now()), { capture: true, passive: true });

/**
 * Delivers values in batches and in their order. The cache then searches for affected queries once per batch, not once per
 * event. The longer a batch takes, the fewer batches run.
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
      // An error caused by one event must not prevent the delivery of the others.
      try {
        hand();
      } catch (error) {
        reportError(error);
      }
    }
    // The page is rendered after the batch and before the next timer: the measured time includes it.
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
      // After the pause, an event is not delayed: a batch can consist of one event.
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
