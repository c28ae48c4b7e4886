/** Callbacks that resume paused long work, oldest first. */
const resting: (() => void)[] = [];

function goOn(): void {
  resting.shift()?.();
  if (resting.length > 0) setImmediate(goOn);
}

/**
 * Yields to the event loop before long work continues. Each iteration of the event loop resumes only one paused task, so many
 * long tasks delay other work no more than one task does.
 */
export function yieldToEventLoop(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (resting.push(resolve) === 1) setImmediate(goOn);
  return promise;
}

/** Time slice of long work: about the duration of a short request. */
const PIECE_MS = 1;

/** Long work that is done in time slices. */
export class LongWork {
  #until = performance.now() + PIECE_MS;

  /** Whether the time slice is over. Check it often where awaiting a promise would cost more than the work in between. */
  get isLong(): boolean {
    return performance.now() > this.#until;
  }

  async rest(): Promise<void> {
    await yieldToEventLoop();
    this.#until = performance.now() + PIECE_MS;
  }

  /** Yields to the event loop if the time slice is over. */
  async pause(): Promise<void> {
    if (this.isLong) await this.rest();
  }
}
