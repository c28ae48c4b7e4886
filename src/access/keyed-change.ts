/** The idempotency key of a request, for the statement that makes its change. */
export interface KeyToUse {
  readonly userId: number;
  readonly key: string;
  /** Number of the advisory lock of the key. */
  readonly lock: number;
  /** Hash of the input, in hex. */
  readonly inputHash: string;
}

/** The error of a request that needs a transaction, because one statement cannot make its change. */
export class NeedsTransaction extends Error {
  constructor() {
    super('The request needs a transaction');
  }
}

/**
 * The only change of a request with an idempotency key. One statement makes the change and stores its facts, so that many
 * requests can share the statement. The response is rendered from the stored facts: the first one, and each repetition.
 */
export class KeyedChange {
  readonly #key: KeyToUse;
  #facts: unknown;
  #attempts = 0;
  #failure: unknown;
  #mayBeMade = false;

  /** @param facts Stored facts. Undefined if the change may not have been made. */
  constructor(key: KeyToUse, facts?: unknown) {
    this.#key = key;
    this.#facts = facts;
  }

  /** Begins an attempt to answer the request. */
  begin(): void {
    this.#attempts++;
    this.#failure = undefined;
  }

  /** Facts of the change, which are JSON. Undefined if the change must be made. */
  get facts(): unknown {
    return this.#facts;
  }

  /** Whether an earlier attempt had a serialization failure: the viewer's data may have changed since. */
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

  /** Records that the change may have been made without a confirmation. */
  doubt(): void {
    this.#mayBeMade = true;
  }

  get mayBeMade(): boolean {
    return this.#mayBeMade;
  }
}
