/** The idempotency key of a request, for the statement that makes the change of the request. */
export interface KeyToUse {
  readonly userId: number;
  readonly key: string;
  /** Number of the advisory lock for the idempotency key. */
  readonly lock: number;
  /** Hash of the request's input, in hexadecimal digits. */
  readonly inputHash: string;
}

/** The error of a request that needs a transaction, because one statement cannot make its change. */
export class NeedsTransaction extends Error {
  constructor() {
    super('The request needs a transaction');
  }
}

/**
 * The only change of a request with an idempotency key. One statement makes the change and stores its data as JSON, from
 * which the response is rendered. Many requests can share the statement. The response to a repetition is rendered from the
 * stored data.
 */
export class KeyedChange {
  readonly #key: KeyToUse;
  #storedData: unknown;
  #attempts = 0;
  #failure: unknown;
  #mayBeMade = false;

  /**
   * @param storedData Stored data of a change that was made. Undefined if the change must be made, or it is unknown whether it
   *   was made.
   */
  constructor(key: KeyToUse, storedData?: unknown) {
    this.#key = key;
    this.#storedData = storedData;
  }

  /** Records that an attempt to answer the request begins. */
  begin(): void {
    this.#attempts++;
    this.#failure = undefined;
  }

  /**
   * The stored data of the change, as JSON, from which the response is rendered. Undefined if the change must still be made.
   */
  get storedData(): unknown {
    return this.#storedData;
  }

  /** Whether an earlier attempt failed with a serialization failure. The viewer's data may have changed since that attempt. */
  get isRetried(): boolean {
    return this.#attempts > 1;
  }

  /**
   * Makes the change.
   *
   * @param change Makes the change and stores its data under the key in one statement. Returns the stored data. Undefined if
   *   nothing was changed, because the key was used before or is in use.
   * @returns The stored data.
   * @throws NeedsTransaction if nothing was changed.
   */
  async make(change: (key: KeyToUse) => Promise<unknown>): Promise<unknown> {
    try {
      this.#storedData = await change(this.#key);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
    if (this.#storedData === undefined) throw new NeedsTransaction();
    return this.#storedData;
  }

  /** The error of the change in the current attempt. Undefined if the change has not failed. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Records that the change may have been made, although the database has not confirmed it. */
  doubt(): void {
    this.#mayBeMade = true;
  }

  get mayBeMade(): boolean {
    return this.#mayBeMade;
  }
}
