import type { Sink } from 'graphql-ws';

/** After a burst the page rests so many times as long as that took, but not for longer. */
const REST = { times: 3, longestMs: 250 };
/** While somebody writes: a key that is pressed amid a burst is drawn after it, so bursts are to be one in twenty. */
const REST_FOR_WRITER = { times: 20, longestMs: 400 };
/** So long after a key somebody writes on. */
const WRITES_ON_MS = 1_000;
/** So long a burst waits for a moment in which nothing else is to be done: between two keys, not before one. */
const IDLE_WITHIN_MS = 200;

let lastWritten = Number.NEGATIVE_INFINITY;
addEventListener('input', () => (lastWritten = performance.now()), { capture: true, passive: true });

/**
 * Hands on what comes in bursts together, in its order: after each burst, and not after each event, the cache looks
 * through what is shown. The more there is to look through, the fewer bursts.
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
      // What one event breaks is not to cost those that came with it.
      try {
        hand();
      } catch (error) {
        reportError(error);
      }
    }
    // What is shown is drawn after that, and before the next timer.
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
      // Where the page has rested, a first event is not kept waiting: one alone is a burst of one.
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

/** Not every browser tells when it is idle. */
function whenIdle(act: () => void): void {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(act, { timeout: IDLE_WITHIN_MS });
  else act();
}
