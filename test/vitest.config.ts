import { globSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { usesDatabaseOfRun } from './helpers/database-of-run.ts';
import { LongestFirst } from './helpers/longest-first.ts';
import { LONG } from './long.ts';

/** Folder of the tests in browsers. */
const WEB = 'web/**';

/** Returns patterns of the files that a run without file names leaves out, because other commands run them. */
function leftOut(): readonly string[] {
  const isNamed = process.argv.slice(2).some((arg) => !/^-|^run$|vitest\.config\.ts$/.test(arg));
  if (isNamed) return [];
  if (!process.env['DATABASE_URL']) return [WEB, ...LONG];
  // `npm test` runs these files. On PostgreSQL they would do the same again, with embedded databases or none.
  const shorts = globSync('**/*.test.ts', { cwd: import.meta.dirname, exclude: ['**/node_modules/**', WEB, ...LONG] });
  return [WEB, ...shorts.filter((file) => !usesDatabaseOfRun(join(import.meta.dirname, file)))];
}

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', ...leftOut()],
    globalSetup: './helpers/global-setup.ts',
    // Node loads the sources itself, as in production. Nothing in them needs to be transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Test files share only imported modules, because each file creates its own organizations.
    isolate: false,
    // All workers share one server process. Each worker has to load and compile the modules. A second worker uses the processor
    // while the first one waits. On PostgreSQL many files wait for processes that they start, so a third worker does the same.
    maxWorkers: process.env['DATABASE_URL'] ? 3 : 2,
    maxConcurrency: 10,
    sequence: { sequencer: LongestFirst },
    // No test waits longer for a timer than the interval of heartbeats, and the longest ones compute for ten seconds. On a machine
    // with fifteen times as many processes as cores they take two minutes, so a test that reaches this timeout hangs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // A service that does not answer fails all tests of a file, each at its timeout. In CI the run then ends early. The groups and
    // the file of a failed test count too.
    bail: process.env['CI'] ? 50 : 0,
    // Messages of failed assertions show the compared values. A CI log shows nothing else.
    chaiConfig: { truncateThreshold: 2_000 },
    // Polled conditions become true immediately or, on a busy machine, within seconds.
    expect: { poll: { timeout: 60_000 } },
  },
});
