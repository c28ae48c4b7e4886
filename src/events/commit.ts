import type { Prisma } from '../generated/prisma/client.ts';
import { type Db, type Tx, withinTransaction } from '../platform/db/client.ts';
import { isBusy, isLostRace, isUnknownTransaction, refusalOf } from '../platform/db/errors.ts';
import { transaction } from '../platform/db/rows.ts';
import { retry } from '../platform/retry.ts';
import { changing } from './act.ts';
import type { LogContext } from './context.ts';

/** Our choice: longer than any change takes, shorter than a client waits. Stated, because Prisma's own are 2 s and 5 s. */
const TRANSACTION_LIMITS = { maxWait: 5_000, timeout: 15_000 };
/** Our choice: three more tries, then the client is told to try again itself. */
const RETRIES = 3;
/** Our choice: how long a database that went away in the middle of a commit is waited for. */
const COMMIT_PATIENCE_MS = 10_000;
/** Our choice. */
const ASK_AGAIN_MS = 50;

/**
 * What tells afterwards whether a transaction came through. Its id does not, alone: what was not committed when the server
 * died may be unknown to the one after it, which then gives the same id to somebody else.
 */
export interface Trace {
  readonly xid: string;
  /** A statement for a row that no other transaction can have written, which is there until long after the commit. */
  readonly row: Prisma.Sql;
}

/**
 * Runs `change` in one transaction, when it is the organisation's turn. When the connection breaks during the commit, the
 * database is asked whether it came through.
 *
 * @param change Says in `trace` by what its outcome can be told, without which nobody can ask; undefined when it wrote
 *   nothing.
 * @throws RequestTimeoutError when its turn does not come in time.
 * @throws Error when the outcome cannot be found out; else what `change` or the database throws, and nothing was done.
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
    return await database.turns.take(realmId, () => withinTransaction(changes));
  } catch (error) {
    const trace = made?.trace;
    if (made !== undefined && trace !== undefined && isBusy(error) && (await hasCommitted(db, trace))) return made;
    throw error;
  }
}

/**
 * Runs a statement that is a change by itself, and may wait for others of its organisation, when it is the organisation's
 * turn. In a request that is to have its effect once, it is a part of that one's turn.
 *
 * @throws RequestTimeoutError when its turn does not come in time.
 */
export const inTurn = <T>(
  { app, realmId }: { readonly app: LogContext & { readonly transaction?: object }; readonly realmId: number },
  statement: () => Promise<T>,
): Promise<T> => (app.transaction === undefined ? app.database.turns.take(realmId, statement) : statement());

/**
 * Whether a transaction whose commit was not answered has come through.
 *
 * @throws Error when the database cannot be asked for so long that nobody would wait for the answer.
 */
async function hasCommitted(db: Db, { xid, row }: Trace): Promise<boolean> {
  const deadline = performance.now() + COMMIT_PATIENCE_MS;
  const unknown = new Error(
    `The database went away while transaction ${xid} was being committed: its outcome is not known`,
  );
  const ask = async () => {
    if (await isUnderWay(db, xid)) throw unknown;
    // Only when the transaction is over: before, the row could be there a moment later.
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
 * Runs a change that may lose a race, from the start when it does.
 *
 * @throws RequestTimeoutError when it loses again and again, or the database is too busy.
 */
export const retrying = <T>(change: () => Promise<T>): Promise<T> => changing(() => untilWon(change));

const untilWon = <T>(change: () => Promise<T>): Promise<T> =>
  retry(change, (error, attempts) => {
    if (!isBusy(error) && !isLostRace(error)) return undefined;
    if (isBusy(error) || attempts > RETRIES) throw refusalOf(error);
    return Math.random() * 10 * 2 ** attempts;
  });
