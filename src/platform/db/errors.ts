import pg from 'pg';
import { BadRequestError, ChatError, RequestTimeoutError, StorageFullError } from '../errors.ts';

/** PostgreSQL and Prisma codes found on an error or on what caused it. */
function codesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 6) return [];
  const found: string[] = [];
  for (const key of ['code', 'originalCode', 'kind'] as const) {
    const value: unknown = Reflect.get(error, key);
    if (typeof value === 'string') found.push(value);
  }
  for (const key of ['cause', 'meta', 'driverAdapterError'] as const) {
    found.push(...codesOf(Reflect.get(error, key), depth + 1));
  }
  return found;
}

const LOCK_TIMEOUT = '55P03';
export const DISK_FULL = '53100';

/** On a server that is no primary, or not yet, nothing can be changed. */
const READ_ONLY = '25006';

const LOST_RACE = new Set(['40001', '40P01', 'P2034', 'TransactionWriteConflict']);
/**
 * No connection or no lock in time (P2024, P2028, 55P03), a transaction we left alone for too long (25P03), too many
 * connections (53300), no memory (53200), disk full (53100), shutting down or starting (57P0x), not the primary (25006), the
 * connection broke.
 */
const BUSY = new Set([
  'P2024',
  'P2028',
  LOCK_TIMEOUT,
  '25P03',
  '53300',
  '53200',
  DISK_FULL,
  '57P01',
  '57P02',
  '57P03',
  READ_ONLY,
  'P1001',
  'P1008',
  'P1017',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
]);

/** Whether the transaction lost a race (serialisation failure, deadlock) and may be run again. */
export function isLostRace(error: unknown): boolean {
  return codesOf(error).some((code) => LOST_RACE.has(code));
}

/** How the driver says, without a code, that a connection broke or could not be had. */
const CONNECTION_LOST =
  /^(Connection terminated|Client has encountered a connection error|timeout e(xceeded when trying|xpired)|Query read timeout)/;

/** Whether the database could not take the statement for want of time, room or a connection. */
export function isBusy(error: unknown): boolean {
  if (error instanceof Error && CONNECTION_LOST.test(error.message)) return true;
  return codesOf(error).some((code) => BUSY.has(code)) || isDiskFull(error);
}

/** Without room for its lists of tables, a server takes no new connection, and says so without a code. */
const NO_ROOM_TO_CONNECT = 'could not write init file';

/** Whether the database has no room for what a statement needs. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof Error && error.message.includes(NO_ROOM_TO_CONNECT)) return true;
  return codesOf(error).includes(DISK_FULL);
}

/** Of an error that `isBusy`: what it is to the client, who is told that nothing was changed. */
export const refusalOf = (error: unknown): RequestTimeoutError =>
  isDiskFull(error) ? new StorageFullError() : new RequestTimeoutError();

/** Whether a statement waited for a lock in vain. */
export function isLockTimeout(error: unknown): boolean {
  return codesOf(error).includes(LOCK_TIMEOUT);
}

/**
 * No lock in time, no connection in time, none that could be made, or to no primary, no memory or no room for it: the
 * statement has not been executed, or has come to nothing.
 */
const NOT_DONE = new Set([
  LOCK_TIMEOUT,
  'P2024',
  '53300',
  '53200',
  DISK_FULL,
  '57P03',
  READ_ONLY,
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'DatabaseNotReachable',
]);

/** How the driver says so of a connection that could not be had in time. */
const NOT_CONNECTED = /^(timeout e(xceeded when trying|xpired)|Connection terminated due to connection timeout)/;

/** Of an error that `isBusy`: whether what the statement should have done is certain not to be done. */
export function isCertainlyNotDone(error: unknown): boolean {
  if (error instanceof Error && NOT_CONNECTED.test(error.message)) return true;
  return codesOf(error).some((code) => NOT_DONE.has(code)) || isDiskFull(error);
}

/** Whether the database has given the transaction's id to nobody. */
export function isUnknownTransaction(error: unknown): boolean {
  return codesOf(error).includes('22023');
}

/** Kinds of failures, by the codes they have: the first that fits. */
const KINDS = [
  ['disk_full', /^53100$/],
  ['lock_timeout', /^55P03$/],
  ['lost_race', /^(40...|P2034|TransactionWriteConflict)$/],
  ['constraint', /^(23...|P2002|P2003|.*ConstraintViolation)$/],
  ['resources', /^(53...|54...|P2024|TooManyConnections)$/],
  ['connection', /^(08...|57P..|P1...|E[A-Z_]{4,}|DatabaseNotReachable|ConnectionClosed|SocketTimeout)$/],
  ['value', /^22...$/],
  ['transaction', /^(25...|P2028)$/],
  ['statement', /^42...$/],
] as const;

type DatabaseErrorKind = (typeof KINDS)[number][0] | 'other';

export const DATABASE_ERROR_KINDS: readonly DatabaseErrorKind[] = [...KINDS.map(([kind]) => kind), 'other'];

/** What kind of failure of the database it is. */
export function databaseErrorKind(error: unknown): DatabaseErrorKind {
  if (isDiskFull(error)) return 'disk_full';
  const codes = codesOf(error);
  const kind = KINDS.find(([, pattern]) => codes.some((code) => pattern.test(code)))?.[0];
  if (kind !== undefined) return kind;
  return error instanceof Error && CONNECTION_LOST.test(error.message) ? 'connection' : 'other';
}

/** Whether the database refused a text for a character it cannot store: a null byte; in JSON, half a surrogate pair. */
function isRefusedText(error: unknown): boolean {
  return codesOf(error).some((code) => code === '22021' || code === '22P05' || code === '22P02');
}

/** Whether a row that was there a moment ago was deleted before it was read. */
export function isGone(error: unknown): boolean {
  return codesOf(error).includes('P2025');
}

/** Whether a unique constraint refused the row. */
export function isUniqueViolation(error: unknown): boolean {
  return codesOf(error).some((code) => code === 'P2002' || code === '23505' || code === 'UniqueConstraintViolation');
}

/** What the database server itself said was wrong, by the ORM, the driver or the engine of migrations; undefined: nothing. */
export function saidByDatabase(error: Error): string | undefined {
  if (error.name.startsWith('Prisma')) return /Message: `(.+)`/.exec(error.message)?.[1];
  if (error instanceof pg.DatabaseError) return error.message;
  return /^ERROR: (.+)/m.exec(error.message)?.[1];
}

/**
 * What a thrown value is to the client, whichever way it was asked: the expected failure, or undefined for a bug. A
 * database that could not take the statement in time, or not the text in it, is an expected failure whoever meets it.
 */
export function expectedError(thrown: unknown): ChatError | undefined {
  if (thrown instanceof ChatError) return thrown;
  if (isDiskFull(thrown)) return new StorageFullError('The service has no room left for this; please try again later');
  if (isBusy(thrown)) return new RequestTimeoutError('The service is busy; please try again');
  if (isRefusedText(thrown)) return new BadRequestError('A text must not contain null bytes');
  return undefined;
}
