// Runs the tests on PostgreSQL and Redis, including those that need several server processes. Arguments are passed to vitest.
import { spawn } from 'node:child_process';

const { DATABASE_URL_FOR_TESTS, DATABASE_URL, REDIS_URL } = process.env;
/**
 * Arguments of vitest. The configuration leaves out the tests of the chat in browsers, which have their own script, because
 * they are slow and do not depend on the database.
 */
const args = ['run', '--config', 'test/vitest.config.ts', ...process.argv.slice(2)];
const child = spawn('vitest', args, {
  stdio: 'inherit',
  env: {
    ...process.env,
    DATABASE_URL: DATABASE_URL_FOR_TESTS ?? DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres',
    REDIS_URL: REDIS_URL ?? 'redis://127.0.0.1:6379',
  },
});
child.once('exit', (code) => process.exit(code ?? 1));
