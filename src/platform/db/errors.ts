import pg from 'pg';
import { ChatError, RequestTimeoutError, StorageFullError, ValidationError } from '../errors.ts';

/** Returns the PostgreSQL and Prisma codes of an error and its causes. */
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

/** SQLSTATE of a write on a standby, or on a server that is not promoted to primary yet. */
const READ_ONLY = '25006';

const SERIALIZATION_FAILURES = new Set(['40001', '40P01', 'P2034', 'TransactionWriteConflict']);
/**
 * Error codes of temporary failures:
 * - no connection or lock in time (P2024, P2028, 55P03), or a transaction that was idle for too long (25P03)
 * - too many connections (53300, TooManyConnections), no memory (53200), or a full disk (53100)
 * - a server that is shutting down or starting (57P0x), or is not the primary (25006)
 * - a connection that broke or could not be made (all other codes)
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

/** Returns whether an error is a serialization failure or a deadlock, after which the transaction can be retried. */
export function isSerializationFailure(error: unknown): boolean {
  return codesOf(error).some((code) => SERIALIZATION_FAILURES.has(code));
}

/** Returns whether a statement failed because of another transaction: a lock timeout, a deadlock or a serialization failure. */
export function isLockConflict(error: unknown): boolean {
  return codesOf(error).some((code) => code === LOCK_TIMEOUT || SERIALIZATION_FAILURES.has(code));
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Returns whether a statement failed because the role lacks a right. */
export function isForbidden(error: unknown): boolean {
  return codesOf(error).includes(INSUFFICIENT_PRIVILEGE);
}

/** Matches the error messages, without a code, of the driver for a connection that broke or could not be made. */
const CONNECTION_LOST =
  /^(Connection terminated|Client has encountered a connection error|timeout e(xceeded when trying|xpired)|Query read timeout)/;

/** Name of the constraint that refuses events in a database whose data was copied to another one. @see seal.ts */
export const COPIED_ELSEWHERE = 'database_was_copied_elsewhere';

/**
 * Returns whether an error means that the database was unavailable, for example because of a timeout, a full disk or a broken
 * connection, or because its data was copied to another database.
 */
export function isBusy(error: unknown): boolean {
  if (error instanceof Error && CONNECTION_LOST.test(error.message)) return true;
  if (error instanceof Error && error.message.includes(COPIED_ELSEWHERE)) return true;
  return codesOf(error).some((code) => BUSY.has(code)) || isDiskFull(error);
}

/**
 * Error message, without a code, of a PostgreSQL server that refuses new connections because it has no disk space for a file
 * with its list of tables.
 */
const NO_ROOM_TO_CONNECT = 'could not write init file';

/** Returns whether an error means that the database has no disk space. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof Error && error.message.includes(NO_ROOM_TO_CONNECT)) return true;
  return codesOf(error).includes(DISK_FULL);
}

/** Converts an error for which `isBusy` is true to the error for the client. The message says that nothing was changed. */
export const refusalOf = (error: unknown): RequestTimeoutError =>
  isDiskFull(error) ? new StorageFullError() : new RequestTimeoutError();

/** Returns whether a statement timed out while it waited for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return codesOf(error).includes(LOCK_TIMEOUT);
}

/** Returns whether the server cancelled a statement that took longer than `statement_timeout`. */
export function isStatementTimeout(error: unknown): boolean {
  return codesOf(error).includes('57014');
}

/** Returns whether the server refused a statement because the role lacks a privilege. */
export function isPrivilegeMissing(error: unknown): boolean {
  return codesOf(error).includes('42501');
}

/**
 * Codes of errors after which the statement certainly had no effect: no lock or connection in time, no connection possible, not
 * the primary, no memory, no disk space.
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

/** Matches the error messages of the driver for a connection that could not be made in time. */
const NOT_CONNECTED = /^(timeout e(xceeded when trying|xpired)|Connection terminated due to connection timeout)/;

/** Returns whether the failed statement certainly had no effect. Call it only with an error for which `isBusy` is true. */
export function isCertainlyNotDone(error: unknown): boolean {
  if (error instanceof Error && NOT_CONNECTED.test(error.message)) return true;
  return codesOf(error).some((code) => NOT_DONE.has(code)) || isDiskFull(error);
}

/** Returns whether a statement failed because it used a transaction id that the database has not assigned yet. */
export function isUnknownTransaction(error: unknown): boolean {
  return codesOf(error).includes('22023');
}

/**
 * Kinds of database errors, with patterns of their codes. An error has the first kind whose pattern matches one of its codes.
 */
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

/** Returns the kind of a database error: one of the names in `KINDS`, or `other`. */
export function databaseErrorKind(error: unknown): DatabaseErrorKind {
  if (isDiskFull(error)) return 'disk_full';
  const codes = codesOf(error);
  const kind = KINDS.find(([, pattern]) => codes.some((code) => pattern.test(code)))?.[0];
  if (kind !== undefined) return kind;
  return error instanceof Error && CONNECTION_LOST.test(error.message) ? 'connection' : 'other';
}

/**
 * Returns whether the database refused a text with a character that it cannot store: a null byte, or in JSON a lone
 * surrogate.
 */
function isRefusedText(error: unknown): boolean {
  return codesOf(error).some((code) => code === '22021' || code === '22P05' || code === '22P02');
}

/**
 * Returns whether a statement of the ORM failed because its row does not exist, for example because another transaction has
 * deleted it.
 */
export function isGone(error: unknown): boolean {
  return codesOf(error).includes('P2025');
}

/** Returns whether a statement failed because a row would violate a unique constraint. */
export function isUniqueViolation(error: unknown): boolean {
  return codesOf(error).some((code) => code === 'P2002' || code === '23505' || code === 'UniqueConstraintViolation');
}

/** Returns whether a statement failed because other rows refer to a row. */
export function isForeignKeyViolation(error: unknown): boolean {
  return codesOf(error).some((code) => code === 'P2003' || code === '23503' || code === '23001');
}

/** Returns the database server's own message in an error of the ORM or the driver. Undefined if there is none. */
export function saidByDatabase(error: Error): string | undefined {
  if (error.name.startsWith('Prisma')) return /Message: `(.+)`/.exec(error.message)?.[1];
  if (error instanceof pg.DatabaseError) return error.message;
  return /^ERROR: (.+)/m.exec(error.message)?.[1];
}

/**
 * Returns the error to send to the client for a thrown value, over every API. Undefined if the value indicates a bug. An
 * unavailable database, a full disk and a text that cannot be stored are expected errors.
 */
export function expectedError(thrown: unknown): ChatError | undefined {
  if (thrown instanceof ChatError) return thrown;
  if (isDiskFull(thrown)) return new StorageFullError('The service has no disk space left; please try again later');
  if (isBusy(thrown)) return new RequestTimeoutError('The service is unavailable; please try again');
  if (isRefusedText(thrown)) return new ValidationError('A text must not contain null bytes');
  return undefined;
}
