import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDataDirectory } from './private-files.ts';

/** Thrown if another process uses the data directory. */
export class DataDirectoryInUseError extends Error {
  override name = 'DataDirectoryInUseError';
}

/** Thrown if the data directory cannot be written. */
export class ReadOnlyDataDirectoryError extends Error {
  override name = 'ReadOnlyDataDirectoryError';
}

const SQLITE_BUSY = 5;

/**
 * Locks the data directory for this process, until `release` is called or the process ends, even by a crash.
 *
 * The embedded database does not prevent a second process from opening its files and destroying the first process's rows. The
 * lock is a file lock of the kernel, held by an exclusive SQLite transaction. It needs no clean-up after a crash, and works on
 * every platform of Node.
 *
 * @throws DataDirectoryInUseError if another process holds the lock.
 * @throws ReadOnlyDataDirectoryError if the lock file cannot be used.
 */
export function lockDataDirectory(dataDir: string): { release(): void } {
  makeDataDirectory(dataDir);
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(join(dataDir, 'lock'));
    file.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    file?.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) {
      throw new DataDirectoryInUseError(`Another process is using the data directory ${dataDir}`);
    }
    throw new ReadOnlyDataDirectoryError(
      `The data directory ${dataDir} is not writable. Set DATA_DIR to another directory, ` +
        'or make the user of the service the owner of this one.',
      { cause: error },
    );
  }
  const held = file;
  return { release: () => held.close() };
}
