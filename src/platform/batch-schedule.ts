interface ScheduleOptions {
  /**
   * Starts a batch of the waiting requests, and returns a promise that resolves when the batch has ended. Returns undefined if
   * no request is waiting.
   */
  readonly start: () => Promise<void> | undefined;
  /**
   * Time, in milliseconds, that the next batch waits for the batch in progress. After each such time, the next batch starts if
   * `canOverlap` permits.
   */
  readonly patienceMs: number;
  /**
   * Returns whether a batch can start while another batch is in progress. If not, requests continue to wait. Default: always
   * true.
   */
  readonly canOverlap?: () => boolean;
}

/**
 * A schedule that decides when batches of requests start. Requests that arrive while a batch is in progress share the next
 * batch. So under higher load, each batch contains more requests. A request that arrives while no batch is in progress does not
 * wait.
 */
export class BatchSchedule {
  readonly #options: ScheduleOptions;
  /** The batch in progress for which the next batch waits. Undefined if the next batch need not wait. */
  #awaited: Promise<void> | undefined;
  #isRequested = false;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  /**
   * Requests a batch. If no batch is in progress, the new batch starts after the event loop has read all requests that have
   * already arrived. Otherwise it starts when the batch in progress ends, or after `patienceMs`.
   */
  request(): void {
    if (this.#isRequested || this.#awaited !== undefined) return;
    this.#isRequested = true;
    setImmediate(() => this.#isRequested && this.startNow());
  }

  /** Starts a batch without waiting for the batch in progress. */
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
