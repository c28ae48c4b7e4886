import { randomInt } from 'node:crypto';

/** The reply to a request under an idempotency key, made before the change that it tells of. */
export interface DraftedReply {
  readonly userId: number;
  readonly key: string;
  /** What the key is locked by. */
  readonly lock: number;
  /** Of the input, in hex. */
  readonly inputHash: string;
  /** JSON, in which two numbers stand for what is not known yet. */
  readonly reply: string;
  /** Stands for the id of what the change makes. */
  readonly idMark: string;
  /** Stands for the position of the last event of the change. */
  readonly positionMark: string;
}

/**
 * Makes the change, and keeps its reply with it, in one statement.
 *
 * @returns The reply as it was kept; null when nothing was done, because the key was used before or is being used.
 */
export type KeepingChange = (drafted: DraftedReply) => Promise<string | null>;

/**
 * A request under an idempotency key that makes one change, and is answered without a look at what came of it: the reply is
 * made first, so that one statement does the change and keeps the reply, and many can share it.
 */
export interface ReplyFirst {
  /** Stands for the id of what the change makes. */
  readonly id: number;
  /** Stands for where the log tells of the change. */
  readonly position: number;
  /** Whether an earlier try lost a race: what is known of the viewer may have changed. */
  readonly isRetried: boolean;
  /** Has the change made as soon as the reply is there. */
  change(make: KeepingChange): void;
  /** Says that the change may have been made without our having heard of it. */
  doubt(): void;
}

/** What a request does that was to be answered first, and cannot be. */
export class NeedsTransaction extends Error {
  constructor() {
    super('To be done in a transaction');
  }
}

/** Greater than any id there is, and as long as a number of JSON can be; random, so that nobody can write it into a reply. */
const LEAST_MARK = 2 ** 52;
const MARKS = 2 ** 47;

/** One request, for all its tries. */
export class ReplyFirstRequest implements ReplyFirst {
  readonly id = LEAST_MARK + randomInt(MARKS);
  readonly position = LEAST_MARK + MARKS + randomInt(MARKS);
  #tries = 0;
  #make: KeepingChange | undefined;
  #mayBeMade = false;

  /** Begins a try. */
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

  /** @throws NeedsTransaction when it is the second. */
  change(make: KeepingChange): void {
    if (this.#make !== undefined) throw new NeedsTransaction();
    this.#make = make;
  }

  /** Undefined where the request changes nothing. */
  get made(): KeepingChange | undefined {
    return this.#make;
  }
}
