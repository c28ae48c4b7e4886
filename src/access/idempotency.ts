import { createHash, hash } from 'node:crypto';
import { lastPosition } from '../events/act.ts';
import { committing, retrying, type Trace } from '../events/commit.ts';
import { logAll, type RequestTransaction } from '../events/log.ts';
import type { StoredEvent } from '../events/stored.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { ADVISORY_LOCKS } from '../platform/db/advisory-lock.ts';
import type { Db, Tx } from '../platform/db/client.ts';
import { isBusy, isLostRace } from '../platform/db/errors.ts';
import { BadRequestError, RequestTimeoutError } from '../platform/errors.ts';
import type { App, IdempotentTransaction } from './context.ts';
import { hasAmpleRoom, isHardlyAnything, keepReply, keptReply, requireRoomForKey } from './kept-replies.ts';
import { NeedsTransaction, ReplyFirstRequest } from './reply-first.ts';

/** Who may repeat what. */
export interface IdempotencyKey {
  readonly realmId: number;
  readonly userId: number;
  readonly key: string;
  /** Of the input: a key may not be used again for something else. */
  readonly inputHash: Uint8Array<ArrayBuffer>;
}

/** Our choice: longer than any id a client makes up. */
const MAX_KEY_LENGTH = 255;

/**
 * The key of a request.
 *
 * @param input All that decides what the request does: JSON, and the bytes of files.
 * @throws BadRequestError when the key is empty, too long, or holds anything but printable ASCII.
 */
export function idempotencyKey(
  { app, viewer }: { app: Pick<App, 'keys'>; viewer: { readonly id: number; readonly realm: { readonly id: number } } },
  key: string,
  input: readonly unknown[],
): IdempotencyKey {
  if (key.length > MAX_KEY_LENGTH || !/^[ -~]+$/.test(key)) {
    throw new BadRequestError(`The idempotency key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters`);
  }
  // Keyed, because the input may hold a password: a plain hash in the table could be guessed.
  const inputHash = app.keys.fingerprint(JSON.stringify(input, hashed));
  return { realmId: viewer.realm.id, userId: viewer.id, key, inputHash };
}

/** Files stand in the input by their own hash. */
const hashed = (_name: string, value: unknown): unknown =>
  value instanceof Uint8Array ? createHash('sha256').update(value).digest('hex') : value;

/**
 * Answers a request once: a repetition gets the first one's reply, and has no effect.
 *
 * Key, changes and reply are one transaction. So of requests that come together one acts and the others wait for it;
 * whatever the services read before or after their changes is read inside; and a node that dies leaves either the effect
 * with its reply, or neither. A failure leaves nothing: the next request under the key is the first.
 *
 * @param answer Makes the reply, which must be JSON, with the services of the app it is given. Run again from the start
 *   when it loses a race, or does something outside of it. What it throws for that, as `shouldRestart` says, must come out of it.
 * @param options.repliesFirst Whether its one change can be made by `app.replyFirst`: then a transaction of several
 *   statements is only for what goes wrong there, and for a repetition.
 * @throws BadRequestError when the key was used for another input; else what `answer` throws.
 * @throws ReplyNotKeptError when the reply was too long to be kept: it was given, or lost, once.
 * @throws TotalReachedError when the viewer holds too many keys; nothing was done.
 * @see src/events/README.md#idempotency-keys
 */
export async function withIdempotencyKey<T>(
  app: App,
  key: IdempotencyKey,
  answer: (app: App) => Promise<T>,
  { repliesFirst = false }: { readonly repliesFirst?: boolean } = {},
): Promise<T> {
  if (!repliesFirst || !(await hasAmpleRoom(app, key))) return answerInTransaction(app, key, answer);
  const request = new ReplyFirstRequest();
  const made = await replyFirst({ ...app, replyFirst: request }, request, key, answer);
  if (made !== undefined) return made.reply;
  try {
    return await answerInTransaction(app, key, answer);
  } catch (error) {
    if (!request.mayBeMade || !(error instanceof RequestTimeoutError)) throw error;
    throw new RequestTimeoutError('The service is busy; what was asked for may have been done');
  }
}

/**
 * Answers, and then makes the change with the reply.
 *
 * @returns Undefined when nothing was done: there is more to it than one statement, or something is wrong with the request
 *   or its key, which is found out in a transaction.
 */
async function replyFirst<T>(
  app: App,
  request: ReplyFirstRequest,
  key: IdempotencyKey,
  answer: (app: App) => Promise<T>,
): Promise<{ readonly reply: T } | undefined> {
  const { userId } = key;
  return retrying(async () => {
    request.begin();
    let reply: string;
    try {
      reply = JSON.stringify((await answer(app)) ?? null);
    } catch (error) {
      if (isBusy(error)) throw error;
      return undefined;
    }
    // What becomes longer by an id is no matter: it becomes shorter.
    if (request.made === undefined || !isHardlyAnything(reply)) return undefined;
    const kept = await request.made({
      ...{ userId, key: key.key, lock: lockOf(key), inputHash: Buffer.from(key.inputHash).toString('hex') },
      ...{ reply, idMark: String(request.id), positionMark: String(request.position) },
    });
    return kept === null ? undefined : { reply: JSON.parse(kept) as T };
  });
}

async function answerInTransaction<T>(app: App, key: IdempotencyKey, answer: (app: App) => Promise<T>): Promise<T> {
  const done: Outcomes = new Map();
  for (;;) {
    try {
      const { reply, after } = await retrying(() =>
        committing({ app, realmId: key.realmId }, (tx) =>
          answerWithin(new IdempotentRequest(app, tx, done), key, answer),
        ),
      );
      for (const act of after) act();
      return reply;
    } catch (error) {
      if (!(error instanceof OutsideWork)) throw error;
      const outcome = error.work(app);
      done.set(error.name, outcome);
      // It is told to whoever asked for it.
      await outcome.catch(() => {});
    }
  }
}

/**
 * Does what takes long, or waits its turn, before a change: reading an image, trying a password. No transaction may wait
 * for that: the embedded database has one connection for everybody, and who is waited for may need it. A request that is
 * made in one leaves it, and begins anew when the work is done.
 *
 * @param name Of the work, which is done once in a request.
 * @param work Must change nothing in the database. Given the app to read it with.
 */
export function runOutsideTransaction<T>(app: App, name: string, work: (app: App) => Promise<T>): Promise<T> {
  return app.transaction === undefined ? work(app) : app.transaction.runOutside(name, work);
}

/** Whether what an answer failed with is a reason to make it again, from the start. */
export const shouldRestart = (thrown: unknown): boolean =>
  thrown instanceof OutsideWork || thrown instanceof NeedsTransaction || isLostRace(thrown) || isBusy(thrown);

/** What came of the work done outside, by name. */
type Outcomes = Map<string, Promise<unknown>>;

/** Leaves the transaction, for some work to be done without it. */
class OutsideWork extends Error {
  override readonly name: string;
  readonly work: (app: App) => Promise<unknown>;

  constructor(name: string, work: (app: App) => Promise<unknown>) {
    super('To be done outside the transaction');
    this.name = name;
    this.work = work;
  }
}

/** A reply, the transaction it was made in, and what has waited for the commit. */
interface Answered<T> {
  readonly reply: T;
  readonly after: readonly (() => void)[];
  readonly trace?: Trace;
}

async function answerWithin<T>(
  work: IdempotentRequest,
  key: IdempotencyKey,
  answer: (app: App) => Promise<T>,
): Promise<Answered<T>> {
  const { tx } = work;
  const trace = await claim(tx, key);
  if (trace === undefined) return { reply: (await replyUnder(tx, key)) as T, after: [] };
  await requireRoomForKey(tx, key);
  const reply = await answer(work.app);
  const keep = () => keepReply(tx, key, JSON.stringify(reply ?? null));
  // The organisation waits from the first event on: a reply that does not tell of it is kept before.
  if (!work.isAwaited) await keep();
  for (const { realmId, events } of await logAll(work)) work.published(realmId, events);
  if (work.isAwaited) {
    work.tellPosition(key.realmId);
    await keep();
  }
  return { reply, after: work.after(), trace };
}

/** Collects what has to wait for the commit. */
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
    // All that requests ask of the delivery worker. It is told after the commit: before, it would find nothing.
    const deliveries = { wake: (at: Date) => void this.#wakes.push(at) };
    // A transaction can do all a client can, but begin another.
    this.app = { ...app, db: tx as Db, deliveries, transaction: this };
  }

  published(realmId: number, events: readonly StoredEvent[]): void {
    this.#events.set(realmId, [...(this.#events.get(realmId) ?? []), ...events]);
  }

  whenLogged(tell: (position: number | null) => void): void {
    this.#listeners.push(tell);
  }

  /** Whether the reply says where the request's changes stand in the log. */
  get isAwaited(): boolean {
    return this.#listeners.length > 0;
  }

  /** Says it, when all is logged. */
  tellPosition(realmId: number): void {
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

/** Few keys have the same: whoever uses one of them then waits for the other. */
const lockOf = ({ userId, key }: IdempotencyKey): number =>
  Number.parseInt(hash('sha256', `${userId} ${key}`).slice(0, 8), 16) | 0;

/**
 * Takes the key. A second taker waits for the first, by the lock: who replies first writes the key under the counter, where
 * nothing is to be waited for.
 *
 * @returns Undefined when the key was used.
 */
async function claim(tx: Tx, taken: IdempotencyKey): Promise<Trace | undefined> {
  const { realmId, userId, key, inputHash } = taken;
  const [claimed] = await tx.$queryRaw<{ xid: string; written_at: string }[]>`
    WITH held AS MATERIALIZED (
      SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.inMigrations.send_messages}::int, ${lockOf(taken)}::int))
    INSERT INTO idempotency_record (realm_id, user_id, key, input_hash)
    SELECT ${realmId}, ${userId}, ${key}, ${inputHash} FROM held ON CONFLICT DO NOTHING
    RETURNING pg_current_xact_id()::text AS xid, extract(epoch FROM created_at)::text AS written_at`;
  if (claimed === undefined) return undefined;
  const row = Prisma.sql`
    SELECT 1 AS found FROM idempotency_record WHERE realm_id = ${realmId} AND user_id = ${userId} AND key = ${key}
      AND extract(epoch FROM created_at)::text = ${claimed.written_at}`;
  return { xid: claimed.xid, row };
}

async function replyUnder(tx: Tx, { realmId, userId, key, inputHash }: IdempotencyKey): Promise<unknown> {
  const record = await tx.idempotencyRecord.findUniqueOrThrow({
    where: { realmId_userId_key: { realmId, userId, key } },
  });
  if (!Buffer.from(record.inputHash).equals(inputHash)) {
    throw new BadRequestError('This idempotency key was used for another request');
  }
  return keptReply(record);
}
