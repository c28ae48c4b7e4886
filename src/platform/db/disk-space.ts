/** Interval of the checks whether a full disk has space again, in milliseconds. */
const LOOK_MS = 5_000;

/**
 * State of the disk space of the database. Statements that fail for lack of space report it with `noteLack`. After
 * that, the class checks at intervals whether there is space again.
 */
export class DiskSpace {
  readonly #needSome: () => Promise<unknown>;
  #isLacking = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #onFree: () => void = () => {};

  /** @param needSome Takes some disk space and frees it. Throws if there is none. */
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

  /** Stops the checks for good. Later calls of `noteLack`, from statements in progress, start none. */
  stop(): void {
    this.#isStopped = true;
    this.#isLacking = false;
    clearTimeout(this.#timer);
  }

  /** Schedules the next check when the last one has ended: a check can wait for a connection longer than the interval. */
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
 * Query that takes about a megabyte of disk space, more than any statement of the service adds to a table at a time. It
 * sorts more than fits into memory, so PostgreSQL writes a file and removes it. No table grows, and nothing is written
 * to the write-ahead log.
 */
export const TAKE_DISK_SPACE = `
  SELECT count(*)::int AS count FROM (
    SELECT i, repeat(md5(i::text), 32) AS filling FROM generate_series(1, 1000) i ORDER BY filling, i OFFSET 1) sorted`;
