/** Interval of the checks whether a full disk has space again, in milliseconds. */
const LOOK_MS = 5_000;

/**
 * A record of whether the database has disk space. If a statement fails for lack of disk space, its caller calls `noteLack`.
 * After that, checks run at intervals until there is disk space again.
 */
export class DiskSpace {
  readonly #needSome: () => Promise<unknown>;
  #isLacking = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #onFree: () => void = () => {};

  /** @param needSome Takes some disk space and frees it. Rejects if there is no disk space. */
  constructor(needSome: () => Promise<unknown>) {
    this.#needSome = needSome;
  }

  get isLacking(): boolean {
    return this.#isLacking;
  }

  /** Sets the callback that runs when there is disk space again. */
  onMade(onFree: () => void): void {
    this.#onFree = onFree;
  }

  /** Records that a statement failed for lack of disk space. */
  noteLack(): void {
    if (this.#isLacking || this.#isStopped) return;
    this.#isLacking = true;
    this.#lookLater();
  }

  /** Stops the checks permanently. Later calls of `noteLack`, from statements in progress, do not start them again. */
  stop(): void {
    this.#isStopped = true;
    this.#isLacking = false;
    clearTimeout(this.#timer);
  }

  /**
   * Schedules the next check. Called after the previous check has ended, because a check can wait for a connection longer than
   * the interval.
   */
  #lookLater(): void {
    this.#timer = setTimeout(() => void this.#look(), LOOK_MS).unref();
  }

  async #look(): Promise<void> {
    const isMade = await this.#needSome().then(
      () => true,
      () => false,
    );
    if (this.#isStopped) return;
    if (!isMade) return this.#lookLater();
    this.#isLacking = false;
    this.#onFree();
  }
}

/**
 * Query that takes about a megabyte of disk space, more than any statement of the service adds to a table at a time. The query
 * sorts more rows than fit into a small `work_mem`, so PostgreSQL writes a temporary file and removes it. No table grows, and
 * nothing is written to the write-ahead log.
 */
export const TAKE_DISK_SPACE = `
  SELECT count(*)::int AS count FROM (
    SELECT i, repeat(md5(i::text), 32) AS filling FROM generate_series(1, 1000) i ORDER BY filling, i OFFSET 1) sorted`;
