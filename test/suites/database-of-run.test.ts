import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requireDatabaseOfRun, usesDatabaseOfRun } from '../helpers/database-of-run.ts';

const TESTS = join(import.meta.dirname, '..');
let folder: string;
beforeAll(() => {
  // A folder of `test`, so that relative imports lead to the helpers.
  mkdirSync(join(TESTS, 'node_modules/.cache'), { recursive: true });
  folder = mkdtempSync(join(TESTS, 'node_modules/.cache/files-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
const HELPERS = '../../../helpers';
/** Writes a test file. @returns Its path. */
function fileOf(...lines: readonly string[]): string {
  const path = join(folder, `${count++}.test.ts`);
  writeFileSync(path, lines.join('\n'));
  return path;
}

const own = `import { shareInProcess } from '${HELPERS}/in-process.ts';`;
const server = (names: string) => `import { ${names} } from '${HELPERS}/server.ts';`;

test.for<[string, ...string[]]>([
  ['computes only', `import { commentsOf } from '${HELPERS}/../language.ts';`],
  ['imports only types of the shared server', `import type { Organization } from '${HELPERS}/server.ts';`],
  [
    'creates organizations in its process',
    own,
    server('createOrganization'),
    'createOrganization({ a: f() }, { on });',
  ],
])('a file does not use the database of the run if it %s', ([, ...lines]) => {
  expect(usesDatabaseOfRun(fileOf(...lines))).toBe(false);
});

test.for<[string, ...string[]]>([
  ['creates organizations on the shared server', server('createOrganization'), 'createOrganization();'],
  ['creates one organization on the shared server', own, server('createOrganization'), 'createOrganization({}, {});'],
  ['makes a scene on the shared server', own, `import { makeScene } from '${HELPERS}/scene.ts';`, 'makeScene();'],
  ['asks the shared server', own, server('serverOf'), 'serverOf();'],
  ['starts a process of the service', own, server('startServer'), 'startServer();'],
  ['starts a service on the database of the run', own, `import { startService } from '${HELPERS}/service.ts';`],
  ['migrates a database', `import { migratedDatabase } from '${HELPERS}/migrated.ts';`],
  ['compares two APIs', `import { EquivalentOrganization } from '${HELPERS}/equivalents.ts';`],
  ['reads the environment', own, 'process.env["HOME"];'],
  ['reads the configuration of the environment', own, 'readConfig();'],
  ['starts a program', own, `import { spawn } from 'node:child_process';`],
  ['imports a module at run time', own, `await import('${HELPERS}/server.ts');`],
])('a file uses the database of the run if it %s', ([, ...lines]) => {
  expect(usesDatabaseOfRun(fileOf(...lines))).toBe(true);
});

test('the shared server cannot be used in a file that does not look like it', () => {
  const path = fileOf(own, server('createOrganization as create'), 'create();');
  expect(usesDatabaseOfRun(path)).toBe(false);
  expect(() => requireDatabaseOfRun(path)).toThrow('uses the shared server, but is left out on PostgreSQL');
});
