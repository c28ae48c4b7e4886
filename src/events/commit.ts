import type { Prisma } from '../generated/prisma/client.ts';
import { type Db, type Tx, withinTransaction } from '../platform/db/client.ts';
import { isBusy, isSerializationFailure, isUnknownTransaction, refusalOf } from '../platform/db/errors.ts';
import { transaction } from '../platform/db/rows.ts';
import { retry } from '../platform/retry.ts';
import { changing } from './act.ts';
import type { LogContext } from './context.ts';

/**
 * Limits of a transaction, in milliseconds: longer than any change takes, and shorter than the timeouts of clients. Set
 * explicitly, because the defaults of Prisma are 2 s and 5 s.
 */
const TRANSACTION_LIMITS = { maxWait: 5_000, timeout: 15_000 };
/** Retries after serialization failures. After the last retry, the client receives an error, after which it can retry. */
const RETRIES = 3;
/** Longest wait for a database that became unreachable during a commit. */
const COMMIT_PATIENCE_MS = 10_000;
/** Pause between two queries for the outcome of a commit. */
const ASK_AGAIN_MS = 50;

/**
 * Identifies a transaction whose outcome is unknown. The transaction id alone is not enough. After a crash, the new server may
 * not know the id of an uncommitted transaction, and may assign it to another one.
 */
export interface Trace {
  readonly xid: string;
  /** A query for a row that no other transaction can have written, and that exists until long after the commit. */
  readonly row: Prisma.Sql;
}

/**
 * Runs `change` in one transaction, once the fair limiter `database.permits` grants the organization a permit. If the
 * connection breaks during the commit, the database is queried for the outcome.
 *
 * @param change Returns in `trace` the data that identifies its transaction, for a query for the outcome. `trace` is undefined
 *   if the transaction wrote nothing.
 * @throws RequestTimeoutError if no permit is granted in time.
 * @throws Error if the outcome cannot be determined. Any other error is from `change` or the database, and nothing was changed.
 */
export async function committing<T extends { readonly trace?: Trace }>(
  { app: { database, db }, realmId }: { readonly app: LogContext; readonly realmId: number },
  change: (tx: Tx) => Promise<T>,
): Promise<T> {
  let made: T | undefined;
  const changes = () =>
    transaction(
      db,
      async (tx) => {
        made = await change(tx);
        return made;
      },
      TRANSACTION_LIMITS,
    );
  try {
    return await database.permits.run(realmId, () => withinTransaction(changes));
  } catch (error) {
    const trace = made?.trace;
    if (made !== undefined && trace !== undefined && isBusy(error) && (await hasCommitted(db, trace))) return made;
    throw error;
  }
}

/**
 * Runs a single statement that makes a whole change and may wait for locks, once the fair limiter `database.permits` grants the
 * organization a permit. In the transaction of a request with an idempotency key, it runs under the permit of that request.
 *
 * @throws RequestTimeoutError if no permit is granted in time.
 */
export const inTurn = <T>(
  { app, realmId }: { readonly app: LogContext & { readonly transaction?: object }; readonly realmId: number },
  statement: () => Promise<T>,
): Promise<T> => (app.transaction === undefined ? app.database.permits.run(realmId, statement) : statement());

/**
 * Whether a transaction whose commit was not confirmed has committed.
 *
 * @throws Error if the outcome is not known after 10 s.
 */
async function hasCommitted(db: Db, { xid, row }: Trace): Promise<boolean> {
  const deadline = performance.now() + COMMIT_PATIENCE_MS;
  const unknown = new Error(
    `The database became unavailable during the commit of transaction ${xid}: its outcome is unknown`,
  );
  const ask = async () => {
    if (await isUnderWay(db, xid)) throw unknown;
    // Queried only after the transaction has ended: before, the row could still appear.
    return (await db.$queryRaw<unknown[]>(row)).length > 0;
  };
  return retry(ask, (error) => {
    if (error !== unknown && !isBusy(error)) return undefined;
    if (performance.now() >= deadline) throw unknown;
    return ASK_AGAIN_MS;
  });
}

async function isUnderWay(db: Db, xid: string): Promise<boolean> {
  try {
    const [row] = await db.$queryRaw<{ status: string | null }[]>`SELECT pg_xact_status(${xid}::xid8) AS status`;
    return row?.status === 'in progress';
  } catch (error) {
    if (isUnknownTransaction(error)) return false;
    throw error;
  }
}

/**
 * Runs a change, and retries it from the start after a serialization failure or deadlock.
 *
 * @throws RequestTimeoutError after too many failures, or if the database is unavailable.
 */
export const retrying = <T>(change: () => Promise<T>): Promise<T> => changing(() => retry(change, pauseAfter));

/** Returns the milliseconds before the next attempt. Undefined if the change must not be retried. */
function pauseAfter(error: unknown, attempts: number): number | undefined {
  if (!isBusy(error) && !isSerializationFailure(error)) return undefined;
  if (isBusy(error) || attempts > RETRIES) throw refusalOf(error);
  return Math.random() * 10 * 2 ** attempts;
}
