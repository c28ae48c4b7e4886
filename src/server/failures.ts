import { ConfigError } from '../platform/config.ts';
import { DamagedDatabaseError, NoRoomForDatabaseError } from '../platform/db/embedded.ts';
import { isDiskFull, saidByDatabase } from '../platform/db/errors.ts';
import { DataDirectoryInUseError, ReadOnlyDataDirectoryError } from '../platform/db/lock.ts';
import { IncompatibleDatabaseError } from '../platform/db/migrate.ts';
import { UnsafeDataDirectoryError } from '../platform/db/private-files.ts';
import { NoRightsError } from '../platform/db/rights.ts';
import { PooledDatabaseError, StandbyError } from '../platform/db/sessions.ts';
import { ChatError } from '../platform/errors.ts';
import { UnusableAddressError } from './listen.ts';
import { CommandFailedError } from './operator/control.ts';
import { WrongSecretKeyError } from './secret-key.ts';

/** Their messages say all there is to say. */
const PLAIN = [
  IncompatibleDatabaseError,
  NoRightsError,
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

const DISK_IS_FULL = 'The disk of the database is full. Make room there, and start again.';

/** Why the service cannot start, or a command failed: for the operator, in a line where the cause is a known one. */
export function explain(error: unknown): string {
  if (isDiskFull(error)) return error instanceof NoRoomForDatabaseError ? error.message : DISK_IS_FULL;
  if (!(error instanceof Error)) return saidBy(error);
  if (error instanceof ConfigError) return `The configuration is wrong:\n${error.message}`;
  if (error instanceof DataDirectoryInUseError) {
    return `${error.message}. Stop it first, or name another directory by DATA_DIR.`;
  }
  if (PLAIN.some((type) => error instanceof type)) return error.message;
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    const port = 'port' in error ? ` ${error.port}` : '';
    return `Port${port} is in use. Stop what uses it, or name another one by PORT.`;
  }
  if ('path' in error) {
    if (code === 'EACCES' || code === 'EPERM') return `No permission for ${error.path}`;
    if (code === 'ENOSPC') return `The disk of ${error.path} is full. Make room there.`;
    if (code === 'EROFS')
      return `${error.path} is on a file system that cannot be written to. Name another place by DATA_DIR.`;
    const isMade = 'syscall' in error && error.syscall === 'mkdir';
    if (isMade && (code === 'EEXIST' || code === 'ENOTDIR'))
      return `${error.path} is no directory. Name one by DATA_DIR.`;
    if (isMade && code === 'ENOENT')
      return `No directory can be made at ${error.path}. Name another place by DATA_DIR.`;
  }
  const said = saidByDatabase(error);
  if (said !== undefined) return `The database says: ${said}`;
  return error.stack ?? error.message;
}

/** The engine that applies migrations throws objects of its own. */
function saidBy(thrown: unknown): string {
  const said: unknown = typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, 'message') : thrown;
  return typeof said === 'object' || said === undefined ? JSON.stringify(thrown) : String(said);
}
