import { randomInt } from 'node:crypto';

/** The response to a request with an idempotency key, drafted before the change that it describes. */
export interface DraftedReply {
  readonly userId: number;
  readonly key: string;
  /** Number of the advisory lock of the key. */
  readonly lock: number;
  /** Hash of the input, in hex. */
  readonly inputHash: string;
  /** JSON, in which two placeholder numbers replace the values that are not known yet. */
  readonly reply: string;
  /** Placeholder for the id of the object that the change creates. */
  readonly idMark: string;
  /** Placeholder for the position of the change's last event. */
  readonly positionMark: string;
}

/**
 * A function that makes the change, and stores its response, in one statement.
 *
 * @returns The stored response. Null if nothing was changed, because the key was used before or is in use.
 */
export type KeepingChange = (drafted: DraftedReply) => Promise<string | null>;

/**
 * A request with an idempotency key that makes one change, and whose response does not depend on the result of the change. The
 * response is drafted first, so that one statement makes the change and stores the response. Many requests can share the
 * statement.
 */
export interface ReplyFirst {
  /** Placeholder for the id of the object that the change creates. */
  readonly id: number;
  /** Placeholder for the position of the change in the log. */
  readonly position: number;
  /** Whether an earlier attempt had a serialization failure: the viewer's data may have changed since. */
  readonly isRetried: boolean;
  /** Registers the change, which is made once the response is drafted. */
  change(make: KeepingChange): void;
  /** Records that the change may have been made without a confirmation. */
  doubt(): void;
}

/** The error of a request that needs a transaction, because its response cannot be drafted before its change is made. */
export class NeedsTransaction extends Error {
  constructor() {
    super('The request needs a transaction');
  }
}

/**
 * Smallest placeholder for an id: greater than any id, and with as many digits as the largest number that JSON can represent
 * exactly. Placeholders are random, so that no client can write them into a response.
 */
const LEAST_MARK = 2 ** 52;
const MARKS = 2 ** 47;

/** One request with an idempotency key, over all its attempts. */
export class ReplyFirstRequest implements ReplyFirst {
  readonly id = LEAST_MARK + randomInt(MARKS);
  readonly position = LEAST_MARK + MARKS + randomInt(MARKS);
  #tries = 0;
  #make: KeepingChange | undefined;
  #mayBeMade = false;

  /** Begins an attempt. */
  begin(): void {
    this.#tries++;
    this.#make = undefined;
  }

  get isRetried(): boolean {
    return this.#tries > 1;
  }

  get mayBeMade(): boolean {
    return this.#mayBeMade;
  }

  doubt(): void {
    this.#mayBeMade = true;
  }

  /**
   * Registers the change.
   *
   * @throws NeedsTransaction if the request has already registered a change.
   */
  change(make: KeepingChange): void {
    if (this.#make !== undefined) throw new NeedsTransaction();
    this.#make = make;
  }

  /** The registered change. Undefined if the request changes nothing. */
  get made(): KeepingChange | undefined {
    return this.#make;
  }
}
