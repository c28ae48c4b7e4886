import { createHash, hash } from 'node:crypto';
import { lastPosition } from '../events/act.ts';
import { committing, retrying, type Trace } from '../events/commit.ts';
import type { RequestTransaction } from '../events/context.ts';
import { logAll } from '../events/log.ts';
import type { StoredEvent } from '../events/stored.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { ADVISORY_LOCKS } from '../platform/db/advisory-lock.ts';
import type { Tx } from '../platform/db/client.ts';
import { isBusy, isSerializationFailure } from '../platform/db/errors.ts';
import { BadRequestError, ConflictError, RequestTimeoutError } from '../platform/errors.ts';
import type { App, Deliveries, IdempotentTransaction, LiveWork, Work } from './context.ts';
import { hasAmpleRoom, type KeptResult, keepReply, keptResult, requireRoomForKey } from './kept-replies.ts';
import { KeyedChange, type KeyToUse, NeedsTransaction } from './keyed-change.ts';

/** The idempotency key of a user's request, with a hash of the request. */
export interface IdempotencyKey {
  readonly organizationId: number;
  readonly userId: number;
  readonly key: string;
  /** Hash of the input: a key must not be reused for a different request. */
  readonly inputHash: Uint8Array<ArrayBuffer>;
  /** Hashes of the input with all accepted secrets: SECRET_KEY and, if it is set, SECRET_KEY_PREVIOUS. */
  readonly knownHashes: readonly Uint8Array<ArrayBuffer>[];
}

/**
 * Maximum length of an idempotency key, in characters. Longer keys are refused with `BadRequestError`. No id that clients
 * generate is longer.
 */
const MAX_KEY_LENGTH = 255;

/**
 * Returns the idempotency key of a request, with a hash of the input of the request.
 *
 * @param input Everything that determines the effect of the request: JSON, and the bytes of files.
 * @throws BadRequestError if the key is empty, too long, or has other than printable ASCII characters.
 */
export function idempotencyKey(
  {
    app,
    viewer,
  }: { app: Pick<App, 'keys'>; viewer: { readonly id: number; readonly organization: { readonly id: number } } },
  key: string,
  input: readonly unknown[],
): IdempotencyKey {
  if (key.length > MAX_KEY_LENGTH || !/^[ -~]+$/.test(key)) {
    throw new BadRequestError(`The idempotency key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters`);
  }
  // Uses a keyed hash, because the input may contain a password. From a hash without a key, a reader of the table could guess
  // the password.
  const knownHashes = app.keys.fingerprints(JSON.stringify(input, hashed));
  const inputHash = knownHashes[0] as Uint8Array<ArrayBuffer>;
  return { organizationId: viewer.organization.id, userId: viewer.id, key, inputHash, knownHashes };
}

/** Replaces each file in the input by its hash. */
const hashed = (_name: string, value: unknown): unknown =>
  value instanceof Uint8Array ? createHash('sha256').update(value).digest('hex') : value;

/**
 * Answers a request with an idempotency key. A repetition of the request gets the same response, and has no further effect.
 *
 * One transaction stores the key, the changes and the response (or the data of the change from which the response is rendered).
 * If several requests with one key run concurrently, one of them makes the change, and the others wait for its response.
 * Everything that services read before or after their changes is read inside the transaction. If a node fails, either the
 * effect and its response exist, or neither. A failed request stores nothing, so the next request with the key is treated as
 * the first.
 *
 * @param answer Returns the response, which must be JSON, and reads and makes changes only in the unit of work that it
 *   receives. The request runs again from the start after a serialization failure, or if it must run code outside the
 *   transaction. `answer` must rethrow errors for which `shouldRestart` returns true.
 * @param options.rendersStoredData Whether `answer` makes a single change, by `work.keyedChange` if set. `answer` then renders
 *   the response only from the stored data of the change and the input, and is also called for repetitions. A transaction of
 *   several statements is only used if one statement cannot make the change, or to find out why a key cannot be used.
 * @throws ConflictError if the key was used for another input. Errors not listed here are from `answer`.
 * @throws ReplyNotKeptError for a repetition, if the first response is not stored.
 * @throws TotalReachedError if the viewer has too many keys; nothing was changed.
 */
export async function withIdempotencyKey<T>(
  work: LiveWork,
  key: IdempotencyKey,
  answer: (work: LiveWork) => Promise<T>,
  { rendersStoredData = false }: { readonly rendersStoredData?: boolean } = {},
): Promise<T> {
  if (!rendersStoredData || !(await hasAmpleRoom(work.app, key))) return answerInTransaction(work, key, answer);
  const change = new KeyedChange(keyToUse(key));
  const made = await answerFromStoredData(work, change, answer);
  if (made !== undefined) return made.reply;
  try {
    return await answerInTransaction(work, key, answer);
  } catch (error) {
    if (!change.mayBeMade || !(error instanceof RequestTimeoutError)) throw error;
    throw new RequestTimeoutError('The service is unavailable; the change may have been made');
  }
}

/**
 * Makes the change and stores its data in one statement, then renders the response from the data.
 *
 * @returns Undefined if nothing was changed: the request needs more than one statement, or the request or its key is invalid.
 *   The caller then answers in a transaction, which also finds the reason.
 */
async function answerFromStoredData<T>(
  work: LiveWork,
  change: KeyedChange,
  answer: (work: LiveWork) => Promise<T>,
): Promise<{ readonly reply: T } | undefined> {
  return retrying(async () => {
    change.begin();
    try {
      return { reply: await answer({ ...work, keyedChange: change }) };
    } catch (error) {
      // `answer` may have thrown another error instead, for example one with a result that contains the failure.
      if (change.failure !== undefined) throw change.failure;
      if (isBusy(error)) throw error;
      return undefined;
    }
  });
}

async function answerInTransaction<T>(
  work: LiveWork,
  key: IdempotencyKey,
  answer: (work: LiveWork) => Promise<T>,
): Promise<T> {
  const done: Outcomes = new Map();
  for (;;) {
    try {
      const { result, after } = await retrying(() =>
        committing({ app: work.app, organizationId: key.organizationId }, (tx) =>
          answerWithin(new IdempotentRequest(work, tx, done), key, answer),
        ),
      );
      for (const act of after) act();
      if ('reply' in result) return result.reply as T;
      return await answer({ ...work, keyedChange: new KeyedChange(keyToUse(key), result.storedData) });
    } catch (error) {
      if (!(error instanceof OutsideWork)) throw error;
      const outcome = error.run(work);
      done.set(error.name, outcome);
      // `runOutside` passes a failure to the code that requested the run.
      await outcome.catch(() => {});
    }
  }
}

/**
 * Runs code that takes long or waits for a permit, such as decoding an image or verifying a password, before a change. No
 * transaction may wait for such code: the embedded database has a single connection, which the code itself may need. If the
 * request has a transaction, it is rolled back, and begins again when the code has run.
 *
 * @param name Identifies the code within the request. Code with the same name runs once, even if the request begins again.
 * @param run The code. Must not change the database. Receives the unit of work to read in.
 */
export function runOutsideTransaction<T>(work: Work, name: string, run: (work: Work) => Promise<T>): Promise<T> {
  return work.transaction === undefined ? run(work) : work.transaction.runOutside(name, run);
}

/** Returns whether an error that `answer` threw is a reason to run `answer` again from the start. */
export const shouldRestart = (thrown: unknown): boolean =>
  thrown instanceof OutsideWork ||
  thrown instanceof NeedsTransaction ||
  isSerializationFailure(thrown) ||
  isBusy(thrown);

/** Results of code that was run outside the transaction, by the name of the code. */
type Outcomes = Map<string, Promise<unknown>>;

/** Thrown to leave the transaction, so that code can run outside of it. */
class OutsideWork extends Error {
  override readonly name: string;
  readonly run: (work: Work) => Promise<unknown>;

  constructor(name: string, run: (work: Work) => Promise<unknown>) {
    super('The code must run outside the transaction');
    this.name = name;
    this.run = run;
  }
}

/**
 * The result of a request, a trace by which the commit of its transaction can be verified, and actions that wait for the
 * commit.
 */
interface Answered {
  readonly result: KeptResult;
  readonly after: readonly (() => void)[];
  readonly trace?: Trace;
}

async function answerWithin<T>(
  request: IdempotentRequest,
  key: IdempotencyKey,
  answer: (work: LiveWork) => Promise<T>,
): Promise<Answered> {
  const { tx } = request;
  const trace = await claim(tx, key);
  if (trace === undefined) return { result: await resultUnder(tx, key), after: [] };
  await requireRoomForKey(request.work.app.database, tx, key);
  const reply = await answer(request.work);
  const keep = () => keepReply(tx, key, JSON.stringify(reply ?? null));
  // Logging events locks the organization's event counter. So a response that does not contain the position is stored before
  // the events are logged.
  if (!request.isAwaited) await keep();
  for (const { organizationId, events } of await logAll(request)) request.published(organizationId, events);
  if (request.isAwaited) {
    request.reportPosition(key.organizationId);
    await keep();
  }
  return { result: { reply }, after: request.after(), trace };
}

/** The transaction of a request, with the actions that wait for its commit. */
class IdempotentRequest implements IdempotentTransaction {
  readonly tx: Tx;
  /** The unit of work of the transaction. */
  readonly work: LiveWork;
  readonly unlogged: RequestTransaction['unlogged'] = [];
  readonly #hub: App['hub'];
  readonly #events = new Map<number, StoredEvent[]>();
  readonly #wakes: Date[] = [];
  readonly #listeners: ((position: number | null) => void)[] = [];
  readonly #deliveries: Deliveries;
  readonly #done: Outcomes;

  constructor({ app, deliveries }: LiveWork, tx: Tx, done: Outcomes) {
    this.tx = tx;
    this.#done = done;
    this.#hub = app.hub;
    this.#deliveries = deliveries;
    // Requests call only this method of the delivery worker. It is called after the commit: before, the worker would find
    // nothing.
    const collected = { wake: (at: Date) => void this.#wakes.push(at) };
    this.work = { app, db: tx, deliveries: collected, transaction: this };
  }

  published(organizationId: number, events: readonly StoredEvent[]): void {
    this.#events.set(organizationId, [...(this.#events.get(organizationId) ?? []), ...events]);
  }

  whenLogged(complete: (position: number | null) => void): void {
    this.#listeners.push(complete);
  }

  /** Whether the response contains the position of the request's changes in the log. */
  get isAwaited(): boolean {
    return this.#listeners.length > 0;
  }

  /** Adds the position of the request's last event to the response. Call it when all events of the request are logged. */
  reportPosition(organizationId: number): void {
    const position = lastPosition(this.#events.get(organizationId) ?? []);
    for (const complete of this.#listeners) complete(position);
  }

  async runOutside<T>(name: string, run: (work: Work) => Promise<T>): Promise<T> {
    const outcome = this.#done.get(name);
    if (outcome === undefined) throw new OutsideWork(name, run);
    return outcome as Promise<T>;
  }

  after(): readonly (() => void)[] {
    const publish = [...this.#events].map(
      ([organizationId, events]) =>
        () =>
          this.#hub.publish(organizationId, events),
    );
    return [...publish, ...this.#wakes.map((at) => () => this.#deliveries.wake(at))];
  }
}

/**
 * Returns the number of the advisory lock for an idempotency key: 32 bits of a hash. If two keys have the same number, requests
 * with these keys wait for each other.
 */
const lockOf = ({ userId, key }: IdempotencyKey): number =>
  Number.parseInt(hash('sha256', `${userId} ${key}`).slice(0, 8), 16) | 0;

const keyToUse = (key: IdempotencyKey): KeyToUse => ({
  userId: key.userId,
  key: key.key,
  lock: lockOf(key),
  inputHash: Buffer.from(key.inputHash).toString('hex'),
});

/**
 * Inserts the row of an idempotency key. A second request with the key waits for the advisory lock, not for the row. Otherwise
 * a statement that makes a change and stores its data could wait for the row while it holds the lock of the event counter.
 *
 * @returns A trace by which the commit can be verified. Undefined if the key was already used.
 */
async function claim(tx: Tx, taken: IdempotencyKey): Promise<Trace | undefined> {
  const { organizationId, userId, key, inputHash } = taken;
  const [claimed] = await tx.$queryRaw<{ xid: string; written_at: string }[]>`
    WITH held AS MATERIALIZED (
      SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.inSqlFunctions.send_messages}::int, ${lockOf(taken)}::int))
    INSERT INTO idempotency_record (realm_id, user_id, key, input_hash)
    SELECT ${organizationId}, ${userId}, ${key}, ${inputHash} FROM held ON CONFLICT DO NOTHING
    RETURNING pg_current_xact_id()::text AS xid, extract(epoch FROM created_at)::text AS written_at`;
  if (claimed === undefined) return undefined;
  const row = Prisma.sql`
    SELECT 1 AS found FROM idempotency_record WHERE realm_id = ${organizationId} AND user_id = ${userId} AND key = ${key}
      AND extract(epoch FROM created_at)::text = ${claimed.written_at}`;
  return { xid: claimed.xid, row };
}

async function resultUnder(tx: Tx, { organizationId, userId, key, knownHashes }: IdempotencyKey): Promise<KeptResult> {
  const record = await tx.idempotencyRecord.findUniqueOrThrow({
    where: { organizationId_userId_key: { organizationId, userId, key } },
  });
  if (!knownHashes.some((hash) => Buffer.from(record.inputHash).equals(hash))) {
    throw new ConflictError('This idempotency key was used for another request');
  }
  return keptResult(record);
}
