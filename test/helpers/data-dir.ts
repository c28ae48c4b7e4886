import { cpSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Set for all processes of a run: a data directory with an empty, migrated database. */
const TEMPLATE = 'CHAT_TEST_TEMPLATE';

export const useTemplate = (dataDir: string): void => {
  process.env[TEMPLATE] = dataDir;
};

/** A data directory of the test's own. A copy of the run's template, because making a database takes seconds. */
export function newDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'chat-test-'));
  const template = process.env[TEMPLATE];
  if (template !== undefined && existsSync(template)) {
    const isData = (path: string) => !path.endsWith('.sock') && !path.endsWith('.log');
    cpSync(template, dataDir, { recursive: true, filter: isData });
  }
  return dataDir;
}
