import { ConfigError } from '../platform/config.ts';
import { DamagedDatabaseError, NoRoomForDatabaseError } from '../platform/db/embedded.ts';
import { isDiskFull, saidByDatabase } from '../platform/db/errors.ts';
import { DataDirectoryInUseError, ReadOnlyDataDirectoryError } from '../platform/db/lock.ts';
import { IncompatibleDatabaseError } from '../platform/db/migrate.ts';
import { UnsafeDataDirectoryError } from '../platform/db/private-files.ts';
import { NoRightsError, UnusableDatabaseError } from '../platform/db/rights.ts';
import { UnusableSchemaError } from '../platform/db/schema.ts';
import { PooledDatabaseError, StandbyError } from '../platform/db/sessions.ts';
import { ChatError } from '../platform/errors.ts';
import { UnusableAddressError } from './listen.ts';
import { CommandFailedError } from './operator/control.ts';
import { WrongSecretKeyError } from './secret-key.ts';

/** Error classes whose message is sufficient for the operator, without a stack trace. */
const PLAIN = [
  IncompatibleDatabaseError,
  NoRightsError,
  UnusableDatabaseError,
  UnusableSchemaError,
  PooledDatabaseError,
  StandbyError,
  DamagedDatabaseError,
  UnsafeDataDirectoryError,
  ReadOnlyDataDirectoryError,
  UnusableAddressError,
  WrongSecretKeyError,
  ChatError,
  CommandFailedError,
];

const DISK_IS_FULL = 'The disk of the database is full. Free some disk space, and start again.';

/**
 * Returns a text for the operator: why the service cannot start, or why a command failed. If the cause is unknown, the text is
 * the stack of the error.
 */
export function explain(error: unknown): string {
  if (isDiskFull(error)) return error instanceof NoRoomForDatabaseError ? error.message : DISK_IS_FULL;
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError) return `Invalid configuration:\n${error.message}`;
  if (error instanceof DataDirectoryInUseError) {
    return `${error.message}. Stop it first, or set DATA_DIR to another directory.`;
  }
  if (PLAIN.some((type) => error instanceof type)) return error.message;
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    const port = 'port' in error ? ` ${error.port}` : '';
    return `Port${port} is in use. Stop the process that uses it, or set PORT to another port.`;
  }
  if ('path' in error) {
    if (code === 'EACCES' || code === 'EPERM') return `Permission denied: ${error.path}`;
    if (code === 'ENOSPC') return `The disk of ${error.path} is full. Free some disk space.`;
    if (code === 'EROFS') return `${error.path} is on a read-only file system. Set DATA_DIR to another directory.`;
    const isMade = 'syscall' in error && error.syscall === 'mkdir';
    if (isMade && (code === 'EEXIST' || code === 'ENOTDIR'))
      return `${error.path} is not a directory. Set DATA_DIR to a directory.`;
    if (isMade && code === 'ENOENT')
      return `Directory ${error.path} cannot be created. Set DATA_DIR to another directory.`;
  }
  const said = saidByDatabase(error);
  if (said !== undefined) return `Database error: ${said}`;
  return error.stack ?? error.message;
}
