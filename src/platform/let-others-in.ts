/** Those who wait to go on with long work, first come first. */
const resting: (() => void)[] = [];

function goOn(): void {
  resting.shift()?.();
  if (resting.length > 0) setImmediate(goOn);
}

/**
 * Lets the event loop turn before long work goes on. Of all work that is long one piece is done in each turn, so that many
 * who do it at once hold up others no longer than one.
 */
export function letOthersIn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (resting.push(resolve) === 1) setImmediate(goOn);
  return promise;
}

/** Our choice: about what an answer takes that is not long. */
const PIECE_MS = 1;

/** Work that takes long, done in pieces. */
export class LongWork {
  #until = performance.now() + PIECE_MS;

  /** Whether it is time to let others in: to be asked often, where a promise would cost more than what is done. */
  get isLong(): boolean {
    return performance.now() > this.#until;
  }

  async rest(): Promise<void> {
    await letOthersIn();
    this.#until = performance.now() + PIECE_MS;
  }

  /** Rests if it is time to. */
  async pause(): Promise<void> {
    if (this.isLong) await this.rest();
  }
}
