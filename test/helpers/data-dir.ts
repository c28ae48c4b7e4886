import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Set for all processes of a run: a data directory with an empty, migrated database. */
const TEMPLATE = 'CHAT_TEST_TEMPLATE';

export const useTemplate = (dataDir: string): void => {
  process.env[TEMPLATE] = dataDir;
};

/** Set for all processes of a run: where it keeps all it makes. */
const FOLDER = 'CHAT_TEST_FOLDER';

/** Makes a folder for all that a run makes. @returns What removes it. */
export function openRunFolder(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'chat-tests-'));
  process.env[FOLDER] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
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
