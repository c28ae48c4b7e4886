import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';
import type { Figure } from './figures.ts';
import { switchTo } from './in-page.ts';
import { goToNewest, openBench, sendTo, traffic, type WebStage } from './stage.ts';

interface Long {
  readonly minutes: number;
  readonly asleepSeconds: number;
}

const PER_SECOND = 20;
/** Number of memory samples in a run. */
const LOOKS = 6;
/** Number of messages that are sent while the browser is suspended. */
const MISSED = 300;

/**
 * Measures memory during traffic with frequent channel switches, and how long a browser that was suspended takes to catch up.
 */
export async function measureLong(stage: WebStage, { minutes, asleepSeconds }: Long): Promise<Figure[]> {
  const { context, page } = await stage.enter();
  const [shown, ...others] = stage.channels;
  if (shown === undefined) throw new Error('No channel');
  await openBench(page, shown);
  const session = await context.newCDPSession(page);
  const stop = traffic(stage, PER_SECOND);
  const heaps: number[] = [];
  for (let look = 0; look < LOOKS; look++) {
    const until = performance.now() + (minutes * 60_000) / LOOKS;
    for (let i = 0; performance.now() < until; i++) {
      const other = others[i % Math.min(others.length, 50)];
      if (other !== undefined) await page.evaluate(switchTo, other.name);
      await page.evaluate(switchTo, shown.name);
      await sleep(500);
    }
    heaps.push(await heapOf(session));
  }
  const sent = await stop();
  const woken = await measureWaking(page, stage, asleepSeconds);
  await context.close();
  return [
    {
      what: 'Heap of the page after a long run with traffic (after garbage collection)',
      unit: 'MiB',
      seen: [heaps.at(-1) ?? Number.NaN],
      mark: 150,
      note: `${minutes} minutes, ${sent} messages; meanwhile ${heaps.map((heap) => heap.toFixed(0)).join(', ')} MiB`,
    },
    woken,
  ];
}

async function heapOf(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number };
  return usedSize / 2 ** 20;
}

/** Suspends all processes of the browser, as a closed laptop lid does, and resumes them. */
async function measureWaking(page: Page, stage: WebStage, seconds: number): Promise<Figure> {
  const [shown] = stage.channels;
  if (shown === undefined) throw new Error('No channel');
  // Reads all messages of the channel before the browser sleeps.
  await goToNewest(page);
  const draft = 'a draft before the night';
  await page.getByRole('textbox', { name: /^Message / }).fill(draft);
  const last = 'the last of the night';
  await page.evaluate((text) => {
    const watch = Object.assign(globalThis.benchWatch, { isStillHere: true, shownAt: undefined as number | undefined });
    const look = () => {
      const rows = [...document.querySelectorAll('[role=feed] article')].slice(-3);
      if (rows.some(({ textContent }) => textContent?.includes(text))) watch.shownAt = performance.now();
      else requestAnimationFrame(look);
    };
    look();
  }, last);
  await sleep(1000);
  const pids = browserProcesses();
  for (const pid of pids) signal(pid, 'SIGSTOP');
  const until = performance.now() + seconds * 1000;
  for (let i = 0; i < MISSED; i++) await sendTo(stage.writer, shown, `by night ${i} of ${shown.name}`);
  await sendTo(stage.writer, shown, last);
  await sleep(Math.max(0, until - performance.now()));
  for (const pid of pids) signal(pid, 'SIGCONT');
  await page.waitForFunction(() => 'shownAt' in globalThis.benchWatch && globalThis.benchWatch.shownAt !== undefined);
  const [woke, shownAt, isSame, kept] = await page.evaluate(() => {
    const watch = globalThis.benchWatch as typeof globalThis.benchWatch & { shownAt: number };
    return [
      watch.wokeAt ?? Number.NaN,
      watch.shownAt,
      'isStillHere' in watch,
      document.querySelector('textarea')?.value,
    ] as const;
  });
  const note = `${seconds} s asleep, ${MISSED + 1} messages meanwhile; ${isSame ? 'not reloaded' : 'RELOADED'}, draft ${kept === draft ? 'kept' : 'LOST'}`;
  return { what: 'From resume until up to date', unit: 'ms', seen: [shownAt - woke], mark: 1000, note };
}

/** Returns the ids of all Chromium processes that this process has started, and of their child processes at any depth. */
function browserProcesses(): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,comm='], { encoding: 'utf8' }).trim().split('\n');
  const all = lines.map((line) => line.trim().split(/\s+/));
  const found: number[] = [];
  const follow = (parent: number) => {
    for (const [pid, ppid, name = ''] of all) {
      if (Number(ppid) !== parent || !name.startsWith('chrom')) continue;
      found.push(Number(pid));
      follow(Number(pid));
    }
  };
  follow(process.pid);
  return found;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Ignores the error: the process has already ended.
  }
}
