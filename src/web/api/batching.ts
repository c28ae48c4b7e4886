import type { Sink } from 'graphql-ws';

/**
 * Minimum time in milliseconds between two batches: in general, and while the user types. The second is longer, because the
 * browser cannot draw typed characters during a batch.
 */
const [APART_MS, APART_FOR_WRITER_MS] = [150, 400];
/** Time in milliseconds after a keystroke during which the user counts as typing. */
const WRITES_ON_MS = 1_000;
/**
 * Maximum time in milliseconds that a batch waits until the browser is idle. In an idle browser, a batch delays no keystroke.
 */
const IDLE_WITHIN_MS = 200;

let lastWritten = Number.NEGATIVE_INFINITY;
addEventListener('input', () => (lastWritten = performance.now()), { capture: true, passive: true });

/**
 * Returns a sink that passes the received values to `sink` in batches, in the order of arrival. The cache then searches for
 * affected queries once per batch, not once per event.
 */
export function batching<T>(sink: Sink<T>): Sink<T> {
  let waiting: T[] = [];
  let last = Number.NEGATIVE_INFINITY;
  const flush = () => {
    const due = waiting;
    waiting = [];
    last = performance.now();
    for (const value of due) sink.next(value);
  };
  // Some browsers have no idle callbacks.
  const whenIdle = () => globalThis.requestIdleCallback?.(flush, { timeout: IDLE_WITHIN_MS }) ?? flush();
  return {
    next(value) {
      if (waiting.push(value) > 1) return;
      const apartMs = performance.now() - lastWritten < WRITES_ON_MS ? APART_FOR_WRITER_MS : APART_MS;
      setTimeout(whenIdle, Math.max(0, last + apartMs - performance.now()));
    },
    error(reason) {
      flush();
      sink.error(reason);
    },
    complete() {
      flush();
      sink.complete();
    },
  };
}
