import { cpSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Environment variable with the path of a data directory that contains an empty, migrated database. Set for all processes of a
 * test run.
 */
const TEMPLATE = 'CHAT_TEST_TEMPLATE';

export const useTemplate = (dataDir: string): void => {
  process.env[TEMPLATE] = dataDir;
};

/** Environment variable with the path of the folder for all files that a test run creates. Set for all processes of the run. */
const FOLDER = 'CHAT_TEST_FOLDER';

/** The in-memory file system of Linux. */
const IN_MEMORY = '/dev/shm';
/**
 * Minimum free memory, in bytes, for data directories in memory. A test run has about 20 of these directories at a time, of 40
 * MB each. The remaining memory is for other processes.
 */
const ROOMY_BYTES = 4 * 2 ** 30;

/**
 * Creates a folder for all files of a test run. The folder is in memory if enough memory is free, because copying the template
 * to a disk takes ten times as long. TMPDIR overrides the location.
 *
 * @returns A function that removes the folder.
 */
export function openRunFolder(): () => void {
  const isElsewhere = process.env['TMPDIR'] !== undefined;
  const folder = mkdtempSync(join(!isElsewhere && isRoomy(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'chat-tests-'));
  process.env[FOLDER] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function isRoomy(path: string): boolean {
  if (!existsSync(path)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize >= ROOMY_BYTES;
}

/** Creates an empty directory for one test, for the data of a service on PostgreSQL, or for other files. */
export const newEmptyDir = (): string => mkdtempSync(join(process.env[FOLDER] ?? tmpdir(), 'chat-test-'));

/**
 * Creates a data directory with an embedded database for one test. Copies the template of the run, because creating a database
 * takes seconds.
 */
export function newDataDir(): string {
  const dataDir = newEmptyDir();
  const template = process.env[TEMPLATE];
  if (template !== undefined && existsSync(template)) cpSync(template, dataDir, { recursive: true });
  return dataDir;
}
