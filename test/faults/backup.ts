import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { BackupError, restoreBackup } from '../../src/platform/db/embedded-backup.ts';
import { runCommand } from '../helpers/control.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { ServerProcess } from '../helpers/process.ts';
import { type Person, personOf, startDemo } from './demo.ts';
import { acknowledgedBy, figuresOf, gather } from './kills.ts';
import { eventually } from './listeners.ts';
import type { Outcome } from './outcome.ts';
import { between, seeded } from './random.ts';
import { Client } from './requests.ts';
import { compareWithTruth } from './truth.ts';

const PATIENCE_MS = 20_000;

/**
 * Writes backups of the embedded database while clients write and listen, and restores each. A restored database contains every
 * change that was acknowledged before its backup, and its tables agree with its log. A service starts on the last one. A damaged
 * backup is refused.
 */
export async function backupTrial({ backups, seed }: { backups: number; seed: number }): Promise<Outcome> {
  const random = seeded(seed);
  await using own = new AsyncDisposableStack();
  const service = own.use(await startDemo(undefined, { EVENT_QUEUE_WRITE_SECONDS: '0.5' }));
  const { server } = service;
  const newFolder = () => own.adopt(newDataDir(), (path) => rmSync(path, { recursive: true, force: true }));
  const files = newFolder();
  const crowd = await gather(server.url, service, random);
  const violations: string[] = [];
  let [longestMs, bytes, restored, file] = [0, 0, '', ''];
  for (let i = 0; i < backups; i++) {
    const before = acknowledgedBy(crowd);
    if (!(await eventually(() => acknowledgedBy(crowd) > before, PATIENCE_MS))) violations.push('no change was made');
    await sleep(between(random, 0, 500));
    const writers = crowd.writers.map(({ client, acknowledged }) => ({
      ...{ client, acknowledged: [...acknowledged], refused: [] },
    }));
    file = join(files, `${i}.backup`);
    const startedAt = performance.now();
    ({ bytes } = await runCommand(server.dataDir, 'backup create', { file }));
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    restored = newFolder();
    for (const name of ['postgres', 'secret-key']) rmSync(join(restored, name), { recursive: true, force: true });
    restoreBackup(file, join(restored, 'postgres'));
    const copy = { ...service, server: { dataDir: restored } as ServerProcess };
    const truth = await compareWithTruth(copy, writers, []);
    violations.push(...truth.violations.map((what) => `backup ${i + 1}: ${what}`));
  }
  await crowd.stopWriting();
  await crowd.stopListening();
  violations.push(...(await startsOn(restored, personOf(service.people, 'member'))), ...damagedOnes(file, newFolder()));
  await server.stop();
  const { violations: broken, events } = await compareWithTruth(service, crowd.writers, crowd.listeners);
  return {
    trial: 'backups of the embedded database',
    facts: {
      ...{ backups, ...figuresOf(crowd), events, 'size of a backup': `${(bytes / 2 ** 20).toFixed(0)} MiB` },
      'longest backup': `${(longestMs / 1000).toFixed(1)} s`,
    },
    violations: [...violations, ...broken, ...crowd.writers.flatMap((writer) => writer.violations.lines)],
  };
}

/** Starts a service on a restored data directory. @returns Violations. */
async function startsOn(dataDir: string, person: Person): Promise<string[]> {
  await using there = await ServerProcess.start({
    env: { DATABASE_URL: undefined, REDIS_URL: undefined, DEMO: 'on' },
    dataDir,
  });
  const client = new Client(there.url, person);
  await client.register();
  client.close();
  return there.log().includes('new event log epoch') ? [] : ['the service on a restored backup began no new epoch'];
}

/** Damages copies of a backup in several ways. @returns The ways that a restore accepts. */
function damagedOnes(file: string, folder: string): string[] {
  const ways: Readonly<Record<string, (store: DatabaseSync) => void>> = {
    'a changed byte': (store) =>
      store.exec(`UPDATE part SET bytes = zeroblob(length(bytes)) WHERE path = 'PG_VERSION'`),
    'a missing part': (store) => store.exec('DELETE FROM part WHERE rowid = (SELECT max(rowid) FROM part)'),
    'a missing file': (store) => store.exec(`DELETE FROM file WHERE path = 'backup_label'`),
    'an unfinished backup': (store) => store.exec('DELETE FROM backup'),
    'a path outside': (store) => store.exec(`UPDATE file SET path = '../../outside' WHERE path = 'PG_VERSION'`),
  };
  return Object.entries(ways).flatMap(([way, damage], i) => {
    const copy = join(folder, `${i}.damaged`);
    cpSync(file, copy);
    const store = new DatabaseSync(copy);
    damage(store);
    store.close();
    try {
      restoreBackup(copy, join(folder, `${i}`, 'postgres'));
      return [`a backup with ${way} was restored`];
    } catch (error) {
      return error instanceof BackupError ? [] : [`${way}: ${error}`];
    }
  });
}
