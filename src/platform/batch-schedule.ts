interface ScheduleOptions {
  /**
   * Starts a batch of the waiting requests, and returns a promise that resolves when the batch has ended. Undefined if no request
   * is waiting.
   */
  readonly start: () => Promise<void> | undefined;
  /** Time in milliseconds after which the next batch no longer waits for the one in progress. */
  readonly patienceMs: number;
  /** Returns whether a batch could begin beside the one in progress. While it cannot, requests continue to wait. Default: yes. */
  readonly canOverlap?: () => boolean;
}

/**
 * Decides when batches of requests start. Requests that arrive while a batch is in progress share the next one, so the higher
 * the load, the fewer batches a request costs. A single request does not wait.
 */
export class BatchSchedule {
  readonly #options: ScheduleOptions;
  /** The batch in progress that the next one waits for. */
  #awaited: Promise<void> | undefined;
  #isRequested = false;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  /** Requests a batch. If none is in progress, it starts after all requests that have already arrived were read. */
  request(): void {
    if (this.#isRequested || this.#awaited !== undefined) return;
    this.#isRequested = true;
    setImmediate(() => this.#isRequested && this.startNow());
  }

  /** Starts a batch without waiting for the one in progress. */
  startNow(): void {
    this.#isRequested = false;
    const { start, patienceMs, canOverlap = () => true } = this.#options;
    const batch = start();
    this.#awaited = batch;
    if (batch === undefined) return;
    const startNext = () => {
      clearTimeout(timer);
      if (this.#awaited === batch) this.startNow();
    };
    const startLate = () => {
      if (canOverlap()) startNext();
      else timer = setTimeout(startLate, patienceMs);
    };
    let timer = setTimeout(startLate, patienceMs);
    void batch.then(startNext);
  }
}
