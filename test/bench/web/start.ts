import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launchChromium } from '../../helpers/chromium.ts';
import type { Figure } from './figures.ts';
import { openBench, readDemo, type WebStage } from './stage.ts';

const ROOT = join(import.meta.dirname, '../../..');
const ROUNDS = 5;

/**
 * Measures the time from `npm start` with an empty data directory until the first message is displayed. It includes the
 * creation of the database and of the demo, and the sign-in by one click.
 */
export async function measureFirstStart(): Promise<Figure> {
  const dataDir = mkdtempSync(join(tmpdir(), 'chat-bench-'));
  const browser = await launchChromium();
  const page = await browser.newPage();
  const began = performance.now();
  const env = { ...process.env, DATA_DIR: dataDir, PORT: String(await freePort()), DATABASE_URL: undefined };
  const server = spawn('npm', ['start'], { cwd: ROOT, env, stdio: 'ignore', detached: true });
  try {
    while (!existsSync(join(dataDir, 'demo.json'))) await sleep(20);
    const { start_url } = readDemo(dataDir);
    while (
      !(await fetch(new URL('/readyz', start_url)).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await sleep(20);
    await page.goto(start_url);
    await page.getByRole('region', { name: 'The demo' }).getByRole('button').first().click();
    await page
      .getByRole('link', { name: /^general/ })
      .first()
      .click();
    await page.getByRole('article').first().waitFor();
    return {
      what: 'From npm start to the first message shown',
      unit: 's',
      seen: [(performance.now() - began) / 1000],
    };
  } finally {
    await browser.close();
    const ended = once(server, 'exit');
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGTERM');
    await ended;
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Measures the time from navigation until a message and the text field are painted, and the size of the JavaScript loaded until
 * then.
 *
 * @param isMarked Whether the highest accepted values apply, which depends on the size of the organization.
 */
export async function measureStart(stage: WebStage, { isMarked }: { readonly isMarked: boolean }): Promise<Figure[]> {
  const { context, page } = await stage.enter();
  const [shown] = stage.channels;
  if (shown === undefined) throw new Error('No channel');
  await openBench(page, shown);
  const address = page.url();
  const readyAt = async (load: () => Promise<unknown>) => {
    await load();
    await page.waitForFunction(() => globalThis.benchWatch.readyAt !== undefined);
    return page.evaluate(() => globalThis.benchWatch.readyAt ?? Number.NaN);
  };
  const [cold, again]: [number[], number[]] = [[], []];
  const session = await context.newCDPSession(page);
  for (let i = 0; i < ROUNDS; i++) {
    await session.send('Network.clearBrowserCache');
    cold.push(await readyAt(() => page.goto(address)));
    again.push(await readyAt(() => page.reload()));
  }
  await session.send('Network.clearBrowserCache');
  await readyAt(() => page.goto(address));
  const bytes = await page.evaluate(() => {
    const before = globalThis.benchWatch.readyAt ?? 0;
    const loaded = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
    return loaded
      .filter(({ name, responseEnd }) => new URL(name).pathname.endsWith('.js') && responseEnd <= before)
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
  });
  await context.close();
  const size = `${stage.channels.length} channels in the sidebar`;
  return [
    { what: 'Interactive, empty cache', unit: 'ms', seen: cold, ...(isMarked && { mark: 1500 }), note: size },
    { what: 'Interactive, reload', unit: 'ms', seen: again, ...(isMarked && { mark: 500 }), note: size },
    { what: 'JavaScript before the first view, compressed', unit: 'KiB', seen: [bytes / 1024], mark: 195 },
  ];
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('No port');
  return address.port;
}
