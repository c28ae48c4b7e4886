import { defineConfig } from 'vitest/config';
import { LongestFirst } from './helpers/longest-first.ts';
import { LONG } from './long.ts';

/** Returns patterns of the files that a run without file names leaves out, because other commands run them. */
function leftOut(): readonly string[] {
  const isNamed = process.argv.slice(2).some((arg) => !/^-|^run$|vitest\.config\.ts$/.test(arg));
  if (isNamed) return [];
  return process.env['DATABASE_URL'] ? ['web/**'] : ['web/**', ...LONG];
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
    // while the first one waits.
    maxWorkers: 2,
    maxConcurrency: 10,
    sequence: { sequencer: LongestFirst },
    // No test waits longer for a timer than the interval of heartbeats, so a test that reaches this timeout hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Polled conditions become true immediately or, on a busy machine, within seconds.
    expect: { poll: { timeout: 15_000 } },
  },
});
