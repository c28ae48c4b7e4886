// Runs the long tests on the embedded database: `npm run test:long`. `npm run test:postgres` includes them. Arguments go to vitest.
import { spawn } from 'node:child_process';

/**
 * Test files that `npm test` leaves out. Most of them start processes of the service, a proxy or a browser, kill them, and
 * start them again. The others have tables of hundreds of cases that take more than 15 s.
 */
export const LONG = [
  // Files that start processes.
  ...['faults', 'replay', 'clients/chats', 'operator-mistakes', 'database-versions', 'browser', 'clients/resume'],
  ...['log-epoch', 'session-settings', 'cut-off', 'printed', 'full-disk', 'request-log', 'database-moves'],
  ...['connections', 'nginx', 'window-memory', 'operator', 'sends-cut', 'password-gate', 'pgbouncer'],
  ...['resident-memory', 'data-directory', 'small-memory', 'examples', 'log-output', 'operator-output', 'nodes'],
  ...['times-repair'],
  // Files with tables of cases.
  ...['own-rows', 'nested-lists', 'idempotency', 'hidden-addresses', 'attacks', 'bad-input', 'topic-identity'],
  ...['entity-events', 'read-back', 'deactivation', 'event-queue'],
].map((name) => `${name}.test.ts`);

if (import.meta.main) {
  const args = ['run', '--config', 'test/vitest.config.ts', ...LONG, ...process.argv.slice(2)];
  spawn('vitest', args, { stdio: 'inherit' }).once('exit', (code) => process.exit(code ?? 1));
}
