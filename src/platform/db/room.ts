/** Our choice: how long after it was looked at a disk that was full is looked at again. */
const LOOK_MS = 5_000;

/**
 * Whether the database has room on its disk. It is told of a lack by whatever statement fails for it; that there is room
 * again, it finds out by itself.
 */
export class Room {
  readonly #needSome: () => Promise<unknown>;
  #isLacking = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #heard: () => void = () => {};

  /** @param needSome Takes some room, and gives it back. Throws where there is none. */
  constructor(needSome: () => Promise<unknown>) {
    this.#needSome = needSome;
  }

  get isLacking(): boolean {
    return this.#isLacking;
  }

  /** Has somebody told when there is room again. */
  onMade(heard: () => void): void {
    this.#heard = heard;
  }

  /** Takes note that a statement found no room. */
  noteLack(): void {
    if (this.#isLacking || this.#isStopped) return;
    this.#isLacking = true;
    this.#lookLater();
  }

  /** Ends it for good: what is told afterwards, by statements that were under way, has nothing looked at. */
  stop(): void {
    this.#isStopped = true;
    this.#isLacking = false;
    clearTimeout(this.#timer);
  }

  /** One look after the other: each may wait for a connection for longer than the time between two. */
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
    this.#heard();
  }
}

/**
 * Sorts more than may be held in memory, for which a file is written and removed again. No table grows by it, and nothing is
 * logged. Our choice: a megabyte, more than any statement of ours grows a table by at a time.
 */
export const TAKE_ROOM = `
  SELECT count(*)::int AS count FROM (
    SELECT i, repeat(md5(i::text), 32) AS filling FROM generate_series(1, 1000) i ORDER BY filling, i OFFSET 1) sorted`;
