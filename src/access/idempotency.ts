import { createHash, hash } from 'node:crypto';
import { lastPosition } from '../events/act.ts';
import { committing, retrying, type Trace } from '../events/commit.ts';
import { logAll, type RequestTransaction } from '../events/log.ts';
import type { StoredEvent } from '../events/stored.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { ADVISORY_LOCKS } from '../platform/db/advisory-lock.ts';
import type { Db, Tx } from '../platform/db/client.ts';
import { isBusy, isSerializationFailure } from '../platform/db/errors.ts';
import { BadRequestError, RequestTimeoutError } from '../platform/errors.ts';
import type { App, IdempotentTransaction } from './context.ts';
import { hasAmpleRoom, type KeptResult, keepReply, keptResult, requireRoomForKey } from './kept-replies.ts';
import { KeyedChange, type KeyToUse, NeedsTransaction } from './keyed-change.ts';

/** The idempotency key of a user's request, with a hash of the request. */
export interface IdempotencyKey {
  readonly realmId: number;
  readonly userId: number;
  readonly key: string;
  /** Hash of the input: a key must not be reused for a different request. */
  readonly inputHash: Uint8Array<ArrayBuffer>;
}

/** Longest idempotency key: longer than any id that clients generate. */
const MAX_KEY_LENGTH = 255;

/**
 * Validates the key of a request, and hashes the input.
 *
 * @param input Everything that determines the effect of the request: JSON, and the bytes of files.
 * @throws BadRequestError if the key is empty, too long, or has other than printable ASCII characters.
 */
export function idempotencyKey(
  { app, viewer }: { app: Pick<App, 'keys'>; viewer: { readonly id: number; readonly realm: { readonly id: number } } },
  key: string,
  input: readonly unknown[],
): IdempotencyKey {
  if (key.length > MAX_KEY_LENGTH || !/^[ -~]+$/.test(key)) {
    throw new BadRequestError(`The idempotency key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters`);
  }
  // Uses a keyed hash, because the input may contain a password. From a hash without a key, a reader of the table could guess
  // it.
  const inputHash = app.keys.fingerprint(JSON.stringify(input, hashed));
  return { realmId: viewer.realm.id, userId: viewer.id, key, inputHash };
}

/** Replaces each file in the input by its hash. */
const hashed = (_name: string, value: unknown): unknown =>
  value instanceof Uint8Array ? createHash('sha256').update(value).digest('hex') : value;

/**
 * Answers a request once: a repetition gets the response of the first request, and has no effect.
 *
 * Key, changes and response (or the facts from which it is rendered) are one transaction. If several requests with one key run
 * concurrently, one of them makes the change, and the others wait for its response. Everything that services read before or
 * after their changes is read inside the transaction. If a node fails, either the effect and its response exist, or neither. A
 * failed request stores nothing, so the next request with the key is treated as the first.
 *
 * @param answer Returns the response, which must be JSON, with the services of the app that it receives. The request runs again
 * from the start after a serialization failure, or if it needs work outside the transaction. `answer` must rethrow errors for
 * which `shouldRestart` returns true.
 * @param options.rendersFacts Whether `answer` makes a single change, and makes it by `app.keyedChange` if that is set. It then
 * renders the response from the facts of the change and the input alone, and is also called for repetitions. A transaction of
 * several statements is only used if one statement cannot make the change, and to find out why a key cannot be used.
 * @throws BadRequestError if the key was used for another input. Errors not listed here are from `answer`.
 * @throws ReplyNotKeptError for a repetition, if the first response was too long to store.
 * @throws TotalReachedError if the viewer has too many keys; nothing was changed.
 */
export async function withIdempotencyKey<T>(
  app: App,
  key: IdempotencyKey,
  answer: (app: App) => Promise<T>,
  { rendersFacts = false }: { readonly rendersFacts?: boolean } = {},
): Promise<T> {
  if (!rendersFacts || !(await hasAmpleRoom(app, key))) return answerInTransaction(app, key, answer);
  const change = new KeyedChange(keyToUse(key));
  const made = await answerFromFacts(app, change, answer);
  if (made !== undefined) return made.reply;
  try {
    return await answerInTransaction(app, key, answer);
  } catch (error) {
    if (!change.mayBeMade || !(error instanceof RequestTimeoutError)) throw error;
    throw new RequestTimeoutError('The service is unavailable; the change may have been made');
  }
}

/**
 * Makes the change and stores its facts in one statement, then renders the response from the facts.
 *
 * @returns Undefined if nothing was changed: the request needs more than one statement, or the request or its key is invalid.
 * The caller then answers in a transaction, which also finds the reason.
 */
async function answerFromFacts<T>(
  app: App,
  change: KeyedChange,
  answer: (app: App) => Promise<T>,
): Promise<{ readonly reply: T } | undefined> {
  return retrying(async () => {
    change.begin();
    try {
      return { reply: await answer({ ...app, keyedChange: change }) };
    } catch (error) {
      // `answer` may have thrown another error instead, for example one with a result that contains the failure.
      if (change.failure !== undefined) throw change.failure;
      if (isBusy(error)) throw error;
      return undefined;
    }
  });
}

async function answerInTransaction<T>(app: App, key: IdempotencyKey, answer: (app: App) => Promise<T>): Promise<T> {
  const done: Outcomes = new Map();
  for (;;) {
    try {
      const { result, after } = await retrying(() =>
        committing({ app, realmId: key.realmId }, (tx) =>
          answerWithin(new IdempotentRequest(app, tx, done), key, answer),
        ),
      );
      for (const act of after) act();
      if ('reply' in result) return result.reply as T;
      return await answer({ ...app, keyedChange: new KeyedChange(keyToUse(key), result.facts) });
    } catch (error) {
      if (!(error instanceof OutsideWork)) throw error;
      const outcome = error.work(app);
      done.set(error.name, outcome);
      // `runOutside` passes a failure of the work to the code that requested the work.
      await outcome.catch(() => {});
    }
  }
}

/**
 * Runs work that takes long or waits for a permit, such as decoding an image or verifying a password, before a change. No
 * transaction may wait for it: the embedded database has a single connection, which the work itself may need. If the request
 * has a transaction, it is rolled back, and begins again when the work is done.
 *
 * @param name Name of the work, which runs once per request.
 * @param work Must not change the database. Receives the app to read with.
 */
export function runOutsideTransaction<T>(app: App, name: string, work: (app: App) => Promise<T>): Promise<T> {
  return app.transaction === undefined ? work(app) : app.transaction.runOutside(name, work);
}

/** Returns whether an error of `answer` is a reason to run it again from the start. */
export const shouldRestart = (thrown: unknown): boolean =>
  thrown instanceof OutsideWork ||
  thrown instanceof NeedsTransaction ||
  isSerializationFailure(thrown) ||
  isBusy(thrown);

/** Results of the work done outside the transaction, by name. */
type Outcomes = Map<string, Promise<unknown>>;

/** Thrown to leave the transaction, so that work can run outside of it. */
class OutsideWork extends Error {
  override readonly name: string;
  readonly work: (app: App) => Promise<unknown>;

  constructor(name: string, work: (app: App) => Promise<unknown>) {
    super('The work must run outside the transaction');
    this.name = name;
    this.work = work;
  }
}

/** A result, the trace by which the commit of its transaction can be verified, and the actions that wait for the commit. */
interface Answered {
  readonly result: KeptResult;
  readonly after: readonly (() => void)[];
  readonly trace?: Trace;
}

async function answerWithin<T>(
  work: IdempotentRequest,
  key: IdempotencyKey,
  answer: (app: App) => Promise<T>,
): Promise<Answered> {
  const { tx } = work;
  const trace = await claim(tx, key);
  if (trace === undefined) return { result: await resultUnder(tx, key), after: [] };
  await requireRoomForKey(tx, key);
  const reply = await answer(work.app);
  const keep = () => keepReply(tx, key, JSON.stringify(reply ?? null));
  // Logging events locks the organization's event counter. So a response without the position is stored before that.
  if (!work.isAwaited) await keep();
  for (const { realmId, events } of await logAll(work)) work.published(realmId, events);
  if (work.isAwaited) {
    work.reportPosition(key.realmId);
    await keep();
  }
  return { result: { reply }, after: work.after(), trace };
}

/** The transaction of a request, with the actions that wait for its commit. */
class IdempotentRequest implements IdempotentTransaction {
  readonly tx: Tx;
  readonly app: App;
  readonly unlogged: RequestTransaction['unlogged'] = [];
  readonly #hub: App['hub'];
  readonly #events = new Map<number, StoredEvent[]>();
  readonly #wakes: Date[] = [];
  readonly #listeners: ((position: number | null) => void)[] = [];
  readonly #deliveries: App['deliveries'];
  readonly #done: Outcomes;

  constructor(app: App, tx: Tx, done: Outcomes) {
    this.tx = tx;
    this.#done = done;
    this.#hub = app.hub;
    this.#deliveries = app.deliveries;
    // Requests call only this method of the delivery worker. It is called after the commit: before, the worker would find
    // nothing.
    const deliveries = { wake: (at: Date) => void this.#wakes.push(at) };
    // A transaction can do everything that a client can, except begin another transaction.
    this.app = { ...app, db: tx as Db, deliveries, transaction: this };
  }

  published(realmId: number, events: readonly StoredEvent[]): void {
    this.#events.set(realmId, [...(this.#events.get(realmId) ?? []), ...events]);
  }

  whenLogged(tell: (position: number | null) => void): void {
    this.#listeners.push(tell);
  }

  /** Whether the response contains the position of the request's changes in the log. */
  get isAwaited(): boolean {
    return this.#listeners.length > 0;
  }

  /** Adds the position to the response, after all events are logged. */
  reportPosition(realmId: number): void {
    const position = lastPosition(this.#events.get(realmId) ?? []);
    for (const tell of this.#listeners) tell(position);
  }

  async runOutside<T>(name: string, work: (app: App) => Promise<T>): Promise<T> {
    const outcome = this.#done.get(name);
    if (outcome === undefined) throw new OutsideWork(name, work);
    return outcome as Promise<T>;
  }

  after(): readonly (() => void)[] {
    const publish = [...this.#events].map(
      ([realmId, events]) =>
        () =>
          this.#hub.publish(realmId, events),
    );
    return [...publish, ...this.#wakes.map((at) => () => this.#deliveries.wake(at))];
  }
}

/**
 * Returns the number of the key's advisory lock. Two keys can have one number, but rarely: their requests then wait for each
 * other.
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
 * Inserts the row of the key. A second request with the key waits for the advisory lock, not for the row: a statement that
 * makes a change and stores its facts inserts the row while it holds the event counter, and must not wait then.
 *
 * @returns A trace by which the commit can be verified. Undefined if the key was already used.
 */
async function claim(tx: Tx, taken: IdempotencyKey): Promise<Trace | undefined> {
  const { realmId, userId, key, inputHash } = taken;
  const [claimed] = await tx.$queryRaw<{ xid: string; written_at: string }[]>`
    WITH held AS MATERIALIZED (
      SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.inSqlFunctions.send_messages}::int, ${lockOf(taken)}::int))
    INSERT INTO idempotency_record (realm_id, user_id, key, input_hash)
    SELECT ${realmId}, ${userId}, ${key}, ${inputHash} FROM held ON CONFLICT DO NOTHING
    RETURNING pg_current_xact_id()::text AS xid, extract(epoch FROM created_at)::text AS written_at`;
  if (claimed === undefined) return undefined;
  const row = Prisma.sql`
    SELECT 1 AS found FROM idempotency_record WHERE realm_id = ${realmId} AND user_id = ${userId} AND key = ${key}
      AND extract(epoch FROM created_at)::text = ${claimed.written_at}`;
  return { xid: claimed.xid, row };
}

async function resultUnder(tx: Tx, { realmId, userId, key, inputHash }: IdempotencyKey): Promise<KeptResult> {
  const record = await tx.idempotencyRecord.findUniqueOrThrow({
    where: { realmId_userId_key: { realmId, userId, key } },
  });
  if (!Buffer.from(record.inputHash).equals(inputHash)) {
    throw new BadRequestError('This idempotency key was used for another request');
  }
  return keptResult(record);
}
