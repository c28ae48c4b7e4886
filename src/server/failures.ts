import { ConfigError } from '../platform/config.ts';
import { DamagedDatabaseError } from '../platform/db/embedded.ts';
import { DataDirectoryInUseError, ReadOnlyDataDirectoryError } from '../platform/db/lock.ts';
import { IncompatibleDatabaseError } from '../platform/db/migrate.ts';
import { UnsafeDataDirectoryError } from '../platform/db/private-files.ts';
import { PooledDatabaseError, StandbyError } from '../platform/db/sessions.ts';
import { ChatError } from '../platform/errors.ts';
import { CommandFailedError } from './operator/control.ts';
import { WrongSecretKeyError } from './secret-key.ts';

/** Their messages say all there is to say. */
const PLAIN = [
  IncompatibleDatabaseError,
  PooledDatabaseError,
  StandbyError,
  DamagedDatabaseError,
  UnsafeDataDirectoryError,
  ReadOnlyDataDirectoryError,
  WrongSecretKeyError,
  ChatError,
  CommandFailedError,
];

/** Why the service cannot start, or a command failed: for the operator, in a line where the cause is a known one. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
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
    if (code === 'EROFS')
      return `${error.path} is on a file system that cannot be written to. Name another place by DATA_DIR.`;
    const isMade = 'syscall' in error && error.syscall === 'mkdir';
    if (isMade && (code === 'EEXIST' || code === 'ENOTDIR'))
      return `${error.path} is no directory. Name one by DATA_DIR.`;
    if (isMade && code === 'ENOENT')
      return `No directory can be made at ${error.path}. Name another place by DATA_DIR.`;
  }
  const said = /Message: `(.+)`/.exec(error.message)?.[1];
  if (error.name.startsWith('Prisma') && said !== undefined) return `The database says: ${said}`;
  return error.stack ?? error.message;
}
