import { chmodSync, cpSync, lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/client.ts';
import { loadSecretKey } from '../../src/platform/key-vault.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const EMBEDDED = { DATABASE_URL: undefined };
/** Name of the log file. The test creates this file, not the service. */
const LOG = 'server.log';

/** Creates a data directory with this file mode, as an operator can do before the first start. */
function madeBefore(mode: number): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'chat-test-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  chmodSync(dataDir, mode);
  return dataDir;
}

const modeOf = (path: string) => lstatSync(path).mode & 0o7777;

/** Returns the paths in the directory that other users of the machine can read, write or enter. */
function openToOthers(dataDir: string): string[] {
  const paths = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((path) => path !== LOG);
  expect(paths.length).toBeGreaterThan(500);
  return paths
    .filter((path) => (modeOf(join(dataDir, path)) & 0o077) !== 0)
    .map((path) => `${path} ${modeOf(join(dataDir, path)).toString(8)}`);
}

describe.skipIf(process.platform === 'win32')('the data directory', () => {
  test('that existed with mode 755 contains no file that other users of the machine can read or write', async () => {
    const dataDir = madeBefore(0o755);
    const config = readConfig({ DATA_DIR: dataDir });
    const database = await openDatabase(config);
    loadSecretKey(config);
    // Includes the file of a table that is created after the start.
    await database.runScript('CREATE TABLE thing (id int PRIMARY KEY)');
    expect([openToOthers(dataDir), modeOf(dataDir)]).toEqual([[], 0o755]);
    await database.close();
  });

  test('that an earlier start left accessible is restricted, with the database intact', async () => {
    const dataDir = madeBefore(0o777);
    cpSync(newDataDir(), dataDir, { recursive: true });
    chmodSync(dataDir, 0o777);
    writeFileSync(join(dataDir, 'secret-key'), 'x'.repeat(40));
    writeFileSync(join(dataDir, 'notes.txt'), "the operator's own");
    for (const path of readdirSync(dataDir, { recursive: true, encoding: 'utf8' })) {
      const isDirectory = lstatSync(join(dataDir, path)).isDirectory();
      chmodSync(join(dataDir, path), isDirectory ? 0o777 : 0o666);
    }
    await using server = await startServer({ dataDir, env: EMBEDDED });
    const { member } = await createOrganization({}, { on: server });
    expect((await member.ok('GET', '/users/me')).user_id).toBe(member.id);
    expect([openToOthers(dataDir), modeOf(dataDir)]).toEqual([['notes.txt 666'], 0o755]);
  });

  test('is refused if every user can write to it', async () => {
    const dataDir = madeBefore(0o1777);
    await expect(startServer({ dataDir, env: EMBEDDED })).rejects.toThrow(
      /a directory that all users of the machine share: set DATA_DIR/,
    );
    expect([modeOf(dataDir), readdirSync(dataDir)]).toEqual([0o1777, [LOG]]);
  });
});
