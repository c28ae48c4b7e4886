import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openLog } from '../../src/platform/log.ts';
import { LogOutput, toDescriptor } from '../../src/platform/log-output.ts';
import { lostLogLines } from '../../src/platform/metrics.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { freePort, METRICS } from '../helpers/process.ts';
import { testFolder } from '../helpers/program.ts';
import { mayMount, SmallDisk } from '../helpers/small-disk.ts';

const ROOT = join(import.meta.dirname, '../..');
const REQUESTS = 20;

/**
 * Creates a log output whose writes follow `steps`. Each step is the number of bytes to write, "all", or the error code with
 * which the write fails.
 */
function output(steps: readonly (number | 'all' | 'ENOSPC' | 'EPIPE' | 'EIO')[]) {
  let written = '';
  const rest = [...steps];
  const log = new LogOutput((bytes) => {
    const step = rest.shift() ?? 'all';
    if (typeof step === 'string' && step !== 'all') throw Object.assign(new Error(step), { code: step });
    const length = step === 'all' ? bytes.length : step;
    written += Buffer.from(bytes.subarray(0, length)).toString();
    return length;
  });
  const lost =
    /\{"level":40,"time":\d+,"pid":\d+,"hostname":"[^"]*","lost_lines":(\d+),"since":\d+,"msg":"log lines were lost"\}/g;
  return { log, written: () => written.replace(lost, (_, lines) => `LOST ${lines}`) };
}

describe('a log that cannot be written', () => {
  test.each(['ENOSPC', 'EPIPE', 'EIO'] as const)(
    '%s: counts the lines, and reports them when it can be written',
    async (code) => {
      const before = (await lostLogLines.get()).values[0]?.value ?? 0;
      const { log, written } = output(['all', code, code]);
      log.write('one\n');
      log.write('two\nthree\n');
      log.write('four\n');
      expect(written()).toBe('one\n');
      log.write('five\n');
      expect(written()).toBe('one\nLOST 3\nfive\n');
      log.write('six\n');
      expect(written()).toBe('one\nLOST 3\nfive\nsix\n');
      expect((await lostLogLines.get()).values[0]?.value).toBe(before + 3);
    },
  );

  test('drops a truncated line, without joining it to the next one', () => {
    const { log, written } = output(['all', 2, 'ENOSPC', 'ENOSPC']);
    log.write('one\n');
    log.write('two\nthree\n');
    log.write('four\n');
    log.write('five\n');
    expect(written()).toBe('one\ntw\nLOST 3\nfive\n');
  });

  test('continues a partial write', () => {
    const { log, written } = output([2, 1]);
    log.write('one\ntwo\n');
    expect(written()).toBe('one\ntwo\n');
  });

  test('reports automatically, even if nothing more is logged', () => {
    vi.useFakeTimers();
    try {
      const { log, written } = output(['ENOSPC', 'ENOSPC', 3, 'ENOSPC']);
      log.write('one\n');
      vi.advanceTimersByTime(10_000);
      expect(written()).toMatch(/^\{"l\nLOST 1\n$/);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test.runIf(process.platform === 'linux')('waits once for a reader that stopped, and not for each line', () => {
    const pipe = join(testFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(fd));
    const log = new LogOutput(toDescriptor(fd));
    const line = `${'x'.repeat(4095)}\n`;
    const wait = vi.spyOn(Atomics, 'wait');
    onTestFinished(() => wait.mockRestore());
    for (let i = 0; i < 100; i++) log.write(line);
    const waits = wait.mock.calls.length;
    for (let i = 0; i < 100; i++) log.write(line);
    expect(wait.mock.calls.length).toBe(waits);
    expect(waits).toBeLessThan(20);
    const read = Buffer.alloc(1024 * 1024);
    const whole = readSync(fd, read) / line.length;
    log.write('after\n');
    const said = read.toString('utf8', 0, readSync(fd, read)).split('\n');
    expect(JSON.parse(said[0] ?? '')).toMatchObject({ msg: 'log lines were lost', lost_lines: 200 - whole });
    expect(said[1]).toBe('after');
  });

  test("receives the lines of the service's logger", () => {
    const { log, written } = output(['ENOSPC']);
    const logger = openLog('warn', log);
    logger.warn('one');
    logger.error('two');
    expect(written()).toMatch(/^LOST 1\n\{"level":50,.*"msg":"two"\}\n$/);
  });
});

/** Starts a service until the end of the test. `output` receives both of its standard streams. */
async function serviceWith(output: number | 'pipe') {
  const dataDir = newDataDir();
  const port = await freePort();
  const { DATABASE_URL: _, REDIS_URL: __, ...rest } = process.env;
  const env = { ...rest, ...METRICS.env, DATA_DIR: dataDir, PORT: String(port), DEMO: 'off', RATE_LIMIT_PER_IP: 'off' };
  const args = ['--disable-warning=ExperimentalWarning', join(ROOT, 'src/main.ts')];
  const child: ChildProcess = spawn(process.execPath, args, { env, cwd: ROOT, stdio: ['ignore', output, output] });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    rmSync(dataDir, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  const status = (path: string) =>
    fetch(`${url}${path}`).then(async (response) => [response.status, await response.text()]);
  while ((await status('/readyz').catch(() => []))[0] !== 200) {
    if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}`);
    await sleep(50);
  }
  return {
    child,
    async request(times: number) {
      for (let i = 0; i < times; i++) expect((await status('/api/v1/server_settings'))[0]).toBe(200);
    },
    async lost() {
      const response = await fetch(`${url}/metrics`, { headers: METRICS.headers });
      return Number(/^log_lines_lost_total (\d+)$/m.exec(await response.text())?.[1]);
    },
  };
}

describe.runIf(process.platform === 'linux')('a service continues to run', () => {
  test('with both standard streams on a full device', async () => {
    const { request, lost, child } = await serviceWith(openSync('/dev/full', 'w'));
    await request(REQUESTS);
    await expect.poll(lost, { timeout: 30_000 }).toBeGreaterThanOrEqual(REQUESTS);
    expect(child.exitCode).toBeNull();
  });

  test('with both standard streams on pipes that are no longer read', async () => {
    const { request, lost, child } = await serviceWith('pipe');
    child.stdout?.destroy();
    child.stderr?.destroy();
    await request(REQUESTS);
    await expect.poll(lost, { timeout: 30_000 }).toBeGreaterThanOrEqual(REQUESTS);
    expect(child.exitCode).toBeNull();
  });

  test.runIf(mayMount())('while the disk of its log is full, and reports the lost lines later', async () => {
    using disk = new SmallDisk(join(testFolder(), 'disk'), 1);
    const file = join(disk.folder, 'log');
    const { request, lost } = await serviceWith(openSync(file, 'a'));
    disk.fill();
    await request(5 * REQUESTS);
    await expect.poll(lost, { timeout: 30_000 }).toBeGreaterThan(0);
    disk.makeRoom();
    await expect.poll(() => readFileSync(file, 'utf8'), { timeout: 30_000 }).toContain('"msg":"log lines were lost"');
    const lines = readFileSync(file, 'utf8').split('\n');
    const report = lines.find((line) => line.includes('log lines were lost')) ?? '';
    expect(JSON.parse(report).lost_lines).toBe(await lost());
  });
});
