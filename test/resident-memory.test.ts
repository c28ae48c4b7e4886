import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ServerProcess } from './helpers/process.ts';
import { testFolder } from './helpers/program.ts';

/** What `npm start` sets before it runs the service. */
function startEnvironment(): Record<string, string> {
  const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
  const set: RegExpStringIterator<RegExpExecArray> = scripts.start.matchAll(/\b([A-Z_]+)=(\S+)/g);
  return Object.fromEntries(Array.from(set, ([, name, value]) => [name, value]));
}

function residentMegabytes(pid: number | undefined): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

test.skipIf(process.platform !== 'linux')(
  'a service that has made its own database and its demo is in less than 350 MB of memory when it rests',
  { timeout: 120_000 },
  async () => {
    // Not a copy of the database that others begin with.
    const dataDir = testFolder();
    const env = { ...startEnvironment(), DATABASE_URL: undefined, DEMO: 'on' };
    await using server = await ServerProcess.start({ env, dataDir });
    // V8 makes its heap small when it has had nothing to do for a while.
    await expect.poll(() => residentMegabytes(server.pid), { timeout: 60_000, interval: 500 }).toBeLessThan(350);
  },
);
