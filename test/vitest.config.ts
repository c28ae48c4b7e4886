import { defineConfig } from 'vitest/config';
import { LongestFirst } from './helpers/longest-first.ts';
import { LONG } from './long.ts';

/** Returns the files that a run without file names leaves out. They have commands of their own. */
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
    // Files share only imported modules: each creates its own organizations.
    isolate: false,
    // One server process is shared by all workers. Each worker must warm up; a second one uses the processor while the
    // first waits.
    maxWorkers: 2,
    maxConcurrency: 10,
    sequence: { sequencer: LongestFirst },
    // No test waits longer for a clock than a heartbeat interval, so a test that reaches this timeout hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Polled conditions come true immediately, or within seconds on a busy machine.
    expect: { poll: { timeout: 15_000 } },
  },
});
