// Runs the long tests on the embedded database: `npm run test:long`. `npm run test:postgres` includes them. Arguments go to vitest.
import { spawn } from 'node:child_process';

/**
 * Test files that `npm test` leaves out, by their paths in `test`. Most of them start processes of the service, a proxy or a
 * browser, kill them, and start them again. The others have tables of hundreds of cases that take more than 15 s.
 */
export const LONG = [
  // Files that start processes.
  ...['suites/faults', 'suites/replay', 'clients/chats', 'server/operator-mistakes', 'server/database-versions'],
  ...['server/pages-in-browser', 'clients/resume', 'events/log-epoch', 'platform/database-session-settings'],
  ...['suites/unreachable-database', 'server/printed-calls', 'suites/full-disk', 'server/request-log'],
  ...['suites/database-failover', 'api/connection-limits', 'server/nginx', 'events/log-tail-memory'],
  ...['server/operator-commands', 'messages/sends-with-lost-replies', 'access/password-hashing-limits'],
  ...['platform/pgbouncer', 'server/resident-memory', 'server/data-directory', 'server/small-memory'],
  ...['suites/example-clients', 'server/log-output', 'server/operator-output', 'suites/multiple-nodes'],
  ...['server/shifted-times-repair', 'server/database-copy', 'server/organization-move', 'access/secret-key-change'],
  ...['server/cookie-id', 'platform/table-copy', 'messages/uploads-over-kills'],
  // Files with tables of cases.
  ...['suites/own-rows', 'suites/nested-query-counts', 'suites/idempotency', 'suites/hidden-addresses'],
  ...[
    'api/hostile-requests',
    'api/random-queries',
    'suites/bad-input',
    'messages/topic-identity',
    'suites/entity-events',
    'api/read-back',
  ],
  ...['administration/deactivation', 'events/event-queue'],
].map((name) => `${name}.test.ts`);

if (import.meta.main) {
  const args = ['run', '--config', 'test/vitest.config.ts', ...LONG, ...process.argv.slice(2)];
  spawn('vitest', args, { stdio: 'inherit' }).once('exit', (code) => process.exit(code ?? 1));
}
