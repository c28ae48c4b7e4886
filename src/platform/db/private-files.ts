import { accessSync, chmodSync, constants, type Dirent, existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Thrown if the data directory cannot be protected from other users. */
export class UnsafeDataDirectoryError extends Error {
  override name = 'UnsafeDataDirectoryError';
}

/** Name of the folder in the data directory that contains the embedded database. */
export const DATABASE_FOLDER = 'postgres';
/** Entries that the service itself makes in the data directory. All other entries belong to other programs. */
const OWN_NAMES = new Set([DATABASE_FOLDER, 'lock', 'secret-key', 'demo.json', 'control.sock']);

/** Mode bits for all access by users other than the owner. */
const BY_OTHERS = 0o077;
/** Mode bits for write access by users other than the owner. */
const WRITTEN_BY_OTHERS = 0o022;
/** Mode bit of a directory in which every user can create files, such as /tmp. */
const STICKY = 0o1000;

/**
 * Makes the data directory and its parents, if they do not exist.
 *
 * @throws Error with the system's code if the directory cannot be made, read or written.
 */
export function makeDataDirectory(dataDir: string): void {
  makeDirectory(dataDir);
  accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
}

/**
 * Creates a directory and its missing parents. Does not use the option `recursive` of `mkdirSync`: below /proc, where each
 * attempt fails with ENOENT, Node would retry forever.
 */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The suffix `/.` follows links, so a link to a directory counts as a directory.
    if (existsSync(`${path}/.`)) return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error;
    makeDirectory(dirname(path));
    makeDirectory(path);
  }
}

/**
 * Restricts the data directory to the user of this process. New files of the process are private, and the service's existing
 * files become inaccessible to other users. The read permissions of an existing directory do not change, because other users
 * may maintain other files in it. Its write permissions for other users are removed, because users who can rename files can
 * replace them.
 *
 * Call this before opening anything in the directory. It sets the umask of the process.
 *
 * @throws UnsafeDataDirectoryError if the directory, or an entry of the service in it, cannot be made inaccessible to other
 *   users.
 */
export function keepPrivate(dataDir: string): void {
  // On Windows the mode of a file does not control access.
  if (process.platform === 'win32') return;
  process.umask(BY_OTHERS);
  makeDataDirectory(dataDir);
  const { mode } = lstatSync(join(dataDir, '.'));
  if ((mode & STICKY) !== 0 && (mode & WRITTEN_BY_OTHERS) !== 0) {
    throw new UnsafeDataDirectoryError(
      `${dataDir} is a directory that all users of the machine share: set DATA_DIR to a directory for the service alone`,
    );
  }
  close(dataDir, mode, WRITTEN_BY_OTHERS);
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    if (OWN_NAMES.has(entry.name)) closeAll(entry);
  }
}

/**
 * Makes an entry and everything below it inaccessible to other users. Links are skipped: their own modes have no effect, and
 * their targets are stored elsewhere.
 */
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
      `${path} can be read or changed by other users, and its mode cannot be changed: make the user of the service its owner`,
      { cause: error },
    );
  }
}
