import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDataDirectory } from './private-files.ts';

/** Another process has the data directory open. */
export class DataDirectoryInUseError extends Error {
  override name = 'DataDirectoryInUseError';
}

/** Nothing can be written in the data directory. */
export class ReadOnlyDataDirectoryError extends Error {
  override name = 'ReadOnlyDataDirectoryError';
}

const SQLITE_BUSY = 5;

/**
 * Takes the data directory for this process alone, until `release` or the end of the process, however it ends.
 *
 * The embedded database does not stop a second process from opening the same files and destroying the first one's
 * rows. The lock is the kernel's own file lock, held through an exclusive SQLite transaction: it needs no clean-up
 * after a crash, and works wherever Node does.
 *
 * @throws DataDirectoryInUseError when another process holds it.
 * @throws ReadOnlyDataDirectoryError when there can be no lock in it.
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
      `Nothing can be written in the data directory ${dataDir}: name another place by DATA_DIR, or give this one to the user the service runs as.`,
      { cause: error },
    );
  }
  const held = file;
  return { release: () => held.close() };
}
