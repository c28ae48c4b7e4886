import { cpSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Set for all processes of a run: a data directory with an empty, migrated database. */
const TEMPLATE = 'CHAT_TEST_TEMPLATE';

export const useTemplate = (dataDir: string): void => {
  process.env[TEMPLATE] = dataDir;
};

/** Set for all processes of a run: the folder of all files that the run creates. */
const FOLDER = 'CHAT_TEST_FOLDER';

/** The in-memory file system of Linux. */
const IN_MEMORY = '/dev/shm';
/**
 * Minimum free memory for data directories in memory. A run has about 20 at a time, of 40 MB each, and the machine
 * needs memory for other purposes.
 */
const ROOMY_BYTES = 4 * 2 ** 30;

/**
 * Creates a folder for all files of a run. It is in memory if there is enough: copying the template to a disk takes ten
 * times as long. TMPDIR overrides the location.
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

/** Creates a data directory for one test. Copies the template of the run, because creating a database takes seconds. */
export function newDataDir(): string {
  const dataDir = mkdtempSync(join(process.env[FOLDER] ?? tmpdir(), 'chat-test-'));
  const template = process.env[TEMPLATE];
  if (template !== undefined && existsSync(template)) {
    const isData = (path: string) => !path.endsWith('.sock') && !path.endsWith('.log');
    cpSync(template, dataDir, { recursive: true, filter: isData });
  }
  return dataDir;
}
