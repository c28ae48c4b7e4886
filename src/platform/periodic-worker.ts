import type { Logger } from 'pino';

/** Work that a node repeats in the background. */
export interface PeriodicWork {
  /** Pause between two runs, in milliseconds. */
  readonly everyMs: number;
  /** Message to log if a run fails. The worker continues, and the next run follows after `everyMs`. */
  readonly failure: string;
  /**
   * Does the work once.
   *
   * @param isOver Returns true once the worker is being stopped: the run should then end soon.
   */
  run(isOver: () => boolean): Promise<void>;
}

/** A worker that repeats its work until it is stopped, one run at a time. */
export class PeriodicWorker {
  readonly #log: Logger;
  readonly #work: PeriodicWork;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(log: Logger, work: PeriodicWork) {
    this.#log = log;
    this.#work = work;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, this.#work.everyMs).unref();
  }

  /** Stops the worker. Resolves when the current run has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#work.run(() => this.#isStopped);
    } catch (err) {
      this.#log.warn({ err }, this.#work.failure);
    }
    if (!this.#isStopped) this.start();
  }
}
