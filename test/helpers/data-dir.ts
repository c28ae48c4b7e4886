import { cpSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Set for all processes of a run: a data directory with an empty, migrated database. */
const TEMPLATE = 'CHAT_TEST_TEMPLATE';

export const useTemplate = (dataDir: string): void => {
  process.env[TEMPLATE] = dataDir;
};

/** Set for all processes of a run: where it keeps all it makes. */
const FOLDER = 'CHAT_TEST_FOLDER';

/** Where Linux keeps files in memory. */
const IN_MEMORY = '/dev/shm';
/** Our choice: a run has some twenty data directories at a time, of 40 MB each, and the machine needs memory besides. */
const ROOMY_BYTES = 4 * 2 ** 30;

/**
 * Makes a folder for all that a run makes. In memory where there is enough, as a copy of the template is ten times the work
 * on a disk; TMPDIR puts it elsewhere.
 *
 * @returns What removes it.
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

/** A data directory of the test's own. A copy of the run's template, because making a database takes seconds. */
export function newDataDir(): string {
  const dataDir = mkdtempSync(join(process.env[FOLDER] ?? tmpdir(), 'chat-test-'));
  const template = process.env[TEMPLATE];
  if (template !== undefined && existsSync(template)) {
    const isData = (path: string) => !path.endsWith('.sock') && !path.endsWith('.log');
    cpSync(template, dataDir, { recursive: true, filter: isData });
  }
  return dataDir;
}
