import type { Prisma } from '../generated/prisma/client.ts';
import { type Db, type Tx, withinTransaction } from '../platform/db/client.ts';
import { isBusy, isSerializationFailure, isUnknownTransaction, refusalOf } from '../platform/db/errors.ts';
import { transaction } from '../platform/db/rows.ts';
import { RequestTimeoutError } from '../platform/errors.ts';
import { retry } from '../platform/retry.ts';
import { changing } from './act.ts';
import { type ChangeWork, type LogContext, type ReadOnlyWork, requireLive } from './context.ts';

/**
 * Time limits of a transaction, in milliseconds: for the wait for a connection, and for the change itself. Beyond them, the
 * change is rolled back. The limits are longer than any change takes, and shorter than the timeouts of clients. The limits are
 * set explicitly, because the defaults of Prisma are 2 s and 5 s.
 */
const TRANSACTION_LIMITS = { maxWait: 5_000, timeout: 15_000 };
/**
 * Maximum number of retries after serialization failures. If the last retry fails, the client receives an error and can send
 * the request again.
 */
const RETRIES = 3;
/**
 * Maximum wait, in milliseconds, for a database that became unreachable during a commit. Afterwards, the client receives a
 * RequestTimeoutError, which says that the change may have been made.
 */
const COMMIT_PATIENCE_MS = 10_000;
/** Pause between two queries for the outcome of a commit, in milliseconds. */
const ASK_AGAIN_MS = 50;

/**
 * Data that identifies a transaction, to find out later whether it was committed. The transaction id alone is not enough. After
 * a crash, the server may not have stored the id of an uncommitted transaction, and may assign the id to another transaction.
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
 * @param change Returns in `trace` the data that identifies its transaction, so that the outcome can be queried. `trace` is
 *   undefined if the transaction wrote nothing.
 * @throws RequestTimeoutError if no permit is granted in time, or if the outcome cannot be determined: the error then says that
 *   the change may have been made. Any other error is from `change` or the database, and nothing was changed.
 */
export async function committing<T extends { readonly trace?: Trace }>(
  {
    app: { database, db },
    organizationId,
  }: { readonly app: Pick<LogContext, 'database' | 'db'>; readonly organizationId: number },
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
    return await database.permits.run(organizationId, () => withinTransaction(changes));
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
 * @throws ValidationError if the unit of work only reads.
 */
export async function inTurn<T>(
  { work, organizationId }: { readonly work: ChangeWork | ReadOnlyWork; readonly organizationId: number },
  statement: () => Promise<T>,
): Promise<T> {
  const { app, transaction } = requireLive(work);
  return transaction === undefined ? app.database.permits.run(organizationId, statement) : statement();
}

/**
 * Returns whether a transaction whose commit was not confirmed has committed.
 *
 * @throws RequestTimeoutError if the outcome is not known after `COMMIT_PATIENCE_MS`.
 */
async function hasCommitted(db: Db, { xid, row }: Trace): Promise<boolean> {
  const deadline = performance.now() + COMMIT_PATIENCE_MS;
  const unknown = new RequestTimeoutError('The service is unavailable; the change may have been made');
  const ask = async () => {
    if (await isUnderWay(db, xid)) throw unknown;
    // The row is queried only after the transaction has ended, because it could still appear until then.
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

/**
 * Returns the pause before the next attempt of a change, in milliseconds. Undefined if a retry cannot avoid the error.
 *
 * @throws RequestTimeoutError if the database is unavailable, or after `RETRIES` retries.
 */
function pauseAfter(error: unknown, attempts: number): number | undefined {
  if (!isBusy(error) && !isSerializationFailure(error)) return undefined;
  if (isBusy(error) || attempts > RETRIES) throw refusalOf(error);
  return Math.random() * 10 * 2 ** attempts;
}
