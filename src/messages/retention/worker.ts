import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../access/context.ts';
import { type Compared, deleteExpired } from './service.ts';

/**
 * Time between passes over all organizations, in milliseconds. Retention limits are in days, so shorter times are not needed.
 */
const PASS_MS = 60_000;
/** Time from the start to the first pass, in milliseconds. Reconnecting clients are served first. */
const FIRST_MS = 10_000;
/** Maximum pause between batches, in milliseconds. Also after a longer batch, the next one starts after this pause. */
const MAX_PAUSE_MS = 1_000;

/**
 * Deletes messages that are older than the retention limit of their channel or organization. Every node runs a worker, but only
 * one node at a time works on an organization.
 *
 * @see src/messages/README.md
 */
export class RetentionWorker {
  readonly #app: App;
  readonly #compared: Compared = new Map();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(app: App) {
    this.#app = app;
  }

  /**
   * Starts the worker.
   *
   * @param firstMs Time to the first pass, in milliseconds.
   */
  start(firstMs = FIRST_MS): void {
    this.#wakeIn(firstMs);
  }

  /** Stops the worker. Waits for the batch in progress. */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#timer);
    await this.#working;
  }

  #wakeIn(ms: number): void {
    if (this.#stop.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#working = this.#pass();
    }, ms).unref();
  }

  async #pass(): Promise<void> {
    try {
      await deleteExpired(this.#app, (batchMs) => this.#pause(batchMs), this.#compared);
    } catch (err) {
      this.#app.log.warn({ err }, 'message retention pass failed, retrying');
    }
    this.#wakeIn(PASS_MS);
  }

  /**
   * Pauses for as long as the batch took, at most `MAX_PAUSE_MS`. So deletions keep one connection busy for about half of the
   * time. Returns false if the worker was stopped.
   */
  async #pause(batchMs: number): Promise<boolean> {
    const { signal } = this.#stop;
    await sleep(Math.min(batchMs, MAX_PAUSE_MS), undefined, { signal, ref: false }).catch(() => undefined);
    return !signal.aborted;
  }
}
