import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: {
    // graphql would load twice otherwise, as .mjs from our code and .js from its users, and refuse itself.
    mainFields: ['main', 'module'],
  },
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    globalSetup: './helpers/global-setup.ts',
    setupFiles: ['./helpers/setup.ts'],
    server: { deps: { inline: [/graphql/, /@pothos/] } },
    // Files share what they import, and nothing else: each has organisations of its own.
    isolate: false,
    // One process serves them all: three workers keep it busy while some wait.
    maxWorkers: 3,
    maxConcurrency: 10,
    // Nothing here waits on a clock for longer than a heartbeat: what takes this long hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
