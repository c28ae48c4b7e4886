import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ServerProcess } from '../helpers/process.ts';
import { testFolder } from '../helpers/program.ts';

/** Returns the environment variables that `npm start` sets for the process of the service, read from its source. */
function startEnvironment(): Record<string, string> {
  const source = readFileSync(join(import.meta.dirname, '../../src/start.ts'), 'utf8');
  const set = [...source.matchAll(/\b([A-Z_]{5,}): '(\w+)'/g)];
  expect(set).toHaveLength(1);
  return Object.fromEntries(set.map(([, name, value]) => [name, value]));
}

function residentMegabytes(pid: number | undefined): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/** Upper bound in MB. Starts of the same program differ by 25 MB between machines: 331 to 355 were measured. */
const BOUND = 384;

test.skipIf(process.platform !== 'linux')(
  `an idle service with its own database and a demo uses less than ${BOUND} MB of memory`,
  async () => {
    // Uses a new data directory instead of a copy of the tests' template, so that the server creates the database.
    const dataDir = testFolder();
    const env = { ...startEnvironment(), DATABASE_URL: undefined, DEMO: 'on' };
    await using server = await ServerProcess.start({ env, dataDir });
    // V8 shrinks its heap only after some idle time.
    await expect.poll(() => residentMegabytes(server.pid), { timeout: 60_000, interval: 500 }).toBeLessThan(BOUND);
  },
);
