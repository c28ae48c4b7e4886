import { defineConfig } from 'vitest/config';
import { LongestFirst } from './helpers/longest-first.ts';
import { filesLeftOut } from './helpers/part.ts';

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', ...filesLeftOut(process.argv.slice(2))],
    globalSetup: './helpers/global-setup.ts',
    setupFiles: ['./helpers/setup.ts'],
    // Node reads the sources itself, as it does when it serves: they have nothing that would have to be transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Files share what they import, and nothing else: each has organisations of its own.
    isolate: false,
    // One process serves them all. Another worker is another to warm up: with a second, while one waits, its processor is used.
    maxWorkers: 2,
    maxConcurrency: 10,
    sequence: { sequencer: LongestFirst },
    // Nothing here waits on a clock for longer than a heartbeat: what takes this long hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is polled comes at once, and on a machine busy with other tests within some seconds.
    expect: { poll: { timeout: 15_000 } },
  },
});
