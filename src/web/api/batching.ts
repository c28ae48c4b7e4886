import type { Sink } from 'graphql-ws';

/** Long enough for a burst to be one, and shorter than anybody notices. */
const WAIT_MS = 16;

/**
 * Hands on what comes in bursts together, in its order: after each burst, and not after each event, the cache looks
 * through what is shown.
 */
export function batching<T>(sink: Sink<T>): Sink<T> {
  let waiting: (() => void)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const due = waiting;
    waiting = [];
    for (const hand of due) hand();
  };
  return {
    next(value) {
      waiting.push(() => sink.next(value));
      // A first event is not kept waiting: one alone is a burst of one.
      timer ??= setTimeout(flush, waiting.length === 1 ? 0 : WAIT_MS);
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
