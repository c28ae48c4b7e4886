// The same tests on PostgreSQL and Redis, and those that need several server processes. Arguments go to vitest.
import { spawn } from 'node:child_process';

const { DATABASE_URL_FOR_TESTS, DATABASE_URL, REDIS_URL } = process.env;
/** The chat in browsers has a script of its own: it is the same on any database, and slow beside other tests. */
const args = ['run', '--config', 'test/vitest.config.ts', '--exclude', 'web/**', ...process.argv.slice(2)];
const child = spawn('vitest', args, {
  stdio: 'inherit',
  env: {
    ...process.env,
    DATABASE_URL: DATABASE_URL_FOR_TESTS ?? DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres',
    REDIS_URL: REDIS_URL ?? 'redis://127.0.0.1:6379',
  },
});
child.once('exit', (code) => process.exit(code ?? 1));
