import { accessSync, chmodSync, constants, type Dirent, existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The data directory cannot be kept from others. */
export class UnsafeDataDirectoryError extends Error {
  override name = 'UnsafeDataDirectoryError';
}

/** Where in the data directory the embedded database is. */
export const DATABASE_FOLDER = 'postgres';
/** What the service itself puts into the data directory. What else is there is not its own. */
const OWN_NAMES = new Set([DATABASE_FOLDER, 'lock', 'secret-key', 'demo.json', 'control.sock']);

const BY_OTHERS = 0o077;
const WRITTEN_BY_OTHERS = 0o022;
/** Of a directory where everybody may put things, such as /tmp. */
const STICKY = 0o1000;

/**
 * Makes the data directory, and those above it, where they are not there.
 *
 * @throws Error with the system's code when it cannot be made, read or written to.
 */
export function makeDataDirectory(dataDir: string): void {
  makeDirectory(dataDir);
  accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
}

/** Not by Node's own option to make all above it, which never ends below /proc: what cannot be made there "is not there". */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // So a link to a directory is one.
    if (existsSync(`${path}/.`)) return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error;
    makeDirectory(dirname(path));
    makeDirectory(path);
  }
}

/**
 * Keeps the data directory for the user this process runs as: what the process makes from here on is its own, and what
 * an earlier start left open to others is closed. A directory that was there before stays as readable as it was, because
 * others may look after what else is in it; writing in it ends, for who may rename files may replace them.
 *
 * Call before anything in it is opened. It sets the process's umask.
 *
 * @throws UnsafeDataDirectoryError when the directory, or something of the service's in it, cannot be closed to others.
 */
export function keepPrivate(dataDir: string): void {
  // Elsewhere the bits of a file's mode say nothing of who may use it.
  if (process.platform === 'win32') return;
  process.umask(BY_OTHERS);
  makeDataDirectory(dataDir);
  const { mode } = lstatSync(join(dataDir, '.'));
  if ((mode & STICKY) !== 0 && (mode & WRITTEN_BY_OTHERS) !== 0) {
    throw new UnsafeDataDirectoryError(
      `${dataDir} is a directory that everybody shares: name one of the service's own by DATA_DIR`,
    );
  }
  close(dataDir, mode, WRITTEN_BY_OTHERS);
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    if (OWN_NAMES.has(entry.name)) closeAll(entry);
  }
}

/** An entry and all below it. Links are left alone: their own modes mean nothing, and what they name was put elsewhere. */
function closeAll(entry: Dirent): void {
  const path = join(entry.parentPath, entry.name);
  if (entry.isSymbolicLink()) return;
  close(path, lstatSync(path).mode, BY_OTHERS);
  if (entry.isDirectory()) for (const inner of readdirSync(path, { withFileTypes: true })) closeAll(inner);
}

function close(path: string, mode: number, bits: number): void {
  if ((mode & bits) === 0) return;
  try {
    chmodSync(path, mode & 0o7777 & ~bits);
  } catch (error) {
    throw new UnsafeDataDirectoryError(
      `${path} can be changed or read by other users, and is not this user's to close: give it to the user the service runs as`,
      { cause: error },
    );
  }
}
