import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../access/context.ts';
import { deleteExpired } from './service.ts';

/** Time between passes. Limits are days: a minute after a limit is set or passed is early enough. */
const PASS_MS = 60_000;
/** Delay of the first pass. After a start, reconnecting clients are served first. */
const FIRST_MS = 10_000;
/** Longest pause between batches. */
const MAX_PAUSE_MS = 1_000;

/**
 * Deletes messages that are past the limit of their organization or channel. Runs on every node. One node at a time works
 * on an organization.
 *
 * @see src/messages/README.md
 */
export class RetentionWorker {
  readonly #app: App;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(app: App) {
    this.#app = app;
  }

  start(): void {
    this.#wakeIn(FIRST_MS);
  }

  /** Stops after the batch in progress. */
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
      await deleteExpired(this.#app, (batchMs) => this.#pause(batchMs));
    } catch (err) {
      this.#app.log.warn({ err }, 'message retention pass failed, retrying');
    }
    this.#wakeIn(PASS_MS);
  }

  /** Pauses as long as the batch took, at most `MAX_PAUSE_MS`. So deletions use about half of one connection's time. */
  async #pause(batchMs: number): Promise<boolean> {
    const { signal } = this.#stop;
    await sleep(Math.min(batchMs, MAX_PAUSE_MS), undefined, { signal, ref: false }).catch(() => undefined);
    return !signal.aborted;
  }
}
