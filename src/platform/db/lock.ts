import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Another process has the data directory open. */
export class DataDirectoryInUseError extends Error {
  override name = 'DataDirectoryInUseError';
}

/**
 * Takes the data directory for this process alone, until `release` or the end of the process, however it ends.
 *
 * The embedded database does not stop a second process from opening the same files and destroying the first one's
 * rows. The lock is the kernel's own file lock, held through an exclusive SQLite transaction: it needs no clean-up
 * after a crash, and works wherever Node does.
 *
 * @throws DataDirectoryInUseError when another process holds it.
 */
export function lockDataDirectory(dataDir: string): { release(): void } {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(join(dataDir, 'lock'));
  try {
    file.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch {
    file.close();
    throw new DataDirectoryInUseError(`Another process is using the data directory ${dataDir}`);
  }
  return { release: () => file.close() };
}
