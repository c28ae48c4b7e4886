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
 * The only change of a request with an idempotency key. One statement makes the change and stores its facts: the data, as JSON,
 * from which the response is rendered. Many requests can share the statement. The response to a repetition is rendered from the
 * stored facts.
 */
export class KeyedChange {
  readonly #key: KeyToUse;
  #facts: unknown;
  #attempts = 0;
  #failure: unknown;
  #mayBeMade = false;

  /**
   * @param facts Stored facts of a change that was made. Undefined if the change must be made, or it is unknown whether it was
   *   made.
   */
  constructor(key: KeyToUse, facts?: unknown) {
    this.#key = key;
    this.#facts = facts;
  }

  /** Records that an attempt to answer the request begins. */
  begin(): void {
    this.#attempts++;
    this.#failure = undefined;
  }

  /**
   * The stored data of the change, as JSON, from which the response is rendered. Undefined if the change must still be made.
   */
  get facts(): unknown {
    return this.#facts;
  }

  /** Whether an earlier attempt failed with a serialization failure. The viewer's data may have changed since that attempt. */
  get isRetried(): boolean {
    return this.#attempts > 1;
  }

  /**
   * Makes the change.
   *
   * @param change Makes the change and stores its facts under the key in one statement. Returns the stored facts. Undefined if
   * nothing was changed, because the key was used before or is in use.
   * @returns The facts.
   * @throws NeedsTransaction if nothing was changed.
   */
  async make(change: (key: KeyToUse) => Promise<unknown>): Promise<unknown> {
    try {
      this.#facts = await change(this.#key);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
    if (this.#facts === undefined) throw new NeedsTransaction();
    return this.#facts;
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
