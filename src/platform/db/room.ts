/** Our choice: how often a disk that was full is looked at. */
const LOOK_MS = 5_000;

/**
 * Whether the database has room on its disk. It is told of a lack by whatever statement fails for it; that there is room
 * again, it finds out by itself.
 */
export class Room {
  readonly #needSome: () => Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;
  #heard: () => void = () => {};

  /** @param needSome Takes some room, and gives it back. Throws where there is none. */
  constructor(needSome: () => Promise<unknown>) {
    this.#needSome = needSome;
  }

  get isLacking(): boolean {
    return this.#timer !== undefined;
  }

  /** Has somebody told when there is room again. */
  onMade(heard: () => void): void {
    this.#heard = heard;
  }

  /** Takes note that a statement found no room. */
  noteLack(): void {
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    try {
      await this.#needSome();
    } catch {
      return;
    }
    if (!this.isLacking) return;
    this.stop();
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
