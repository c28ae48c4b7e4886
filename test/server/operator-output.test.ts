import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openBus } from '../../src/events/bus.ts';
import { readConfig } from '../../src/platform/config.ts';
import { hostOf, isLoopback, subdomainOf, urlOf } from '../../src/platform/hosts.ts';
import { RateLimits } from '../../src/platform/rate-limits.ts';
import { checkRedis } from '../../src/server/operator/reach.ts';
import { runAll } from '../check.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { freePort } from '../helpers/process.ts';
import { runProgram, testFolder } from '../helpers/program.ts';

const ROOT = join(import.meta.dirname, '../..');
const { REDIS_URL } = process.env;
const REDIS_SERVER = ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/opt/homebrew/bin/redis-server'].find(
  existsSync,
);

describe('the server can be reached at the printed address', () => {
  const at = (host: string) => ({ ...readConfig({ HOST: host }), port: 4000 });

  test.each([
    ['127.0.0.1', 'http://127.0.0.1:4000'],
    ['127.0.0.2', 'http://127.0.0.2:4000'],
    ['::1', 'http://[::1]:4000'],
    ['0:0:0:0:0:0:0:1', 'http://[::1]:4000'],
    ['localhost', 'http://localhost:4000'],
    ['0.0.0.0', 'http://127.0.0.1:4000'],
    ['::', 'http://127.0.0.1:4000'],
  ])('HOST=%s: %s', (host, url) => {
    const config = at(host);
    expect(urlOf(config, '')).toBe(url);
    // The host name that commands print must be one that the server accepts as the Host header.
    expect(subdomainOf(config, hostOf(config, ''))).toBe('');
    expect(isLoopback(host)).toBe(!['0.0.0.0', '::'].includes(host));
  });

  test('an address of the network is not a loopback address, and other addresses are not accepted as Host', () => {
    expect(isLoopback('192.0.2.1')).toBe(false);
    expect(() => subdomainOf(at('192.0.2.1'), '192.0.2.1:4000')).toThrow();
    expect(() => subdomainOf(at('127.0.0.1'), '127.0.0.2:4000')).toThrow();
    expect(urlOf({ ...at('::1'), externalHost: 'chat.example' }, '')).toBe('https://chat.example');
  });
});

test('every check runs, even after a failed one', () => {
  const folder = testFolder();
  const make = (name: string) => `node -e "fs.writeFileSync(process.argv[1], '')" ${join(folder, name)}`;
  expect(runAll([make('one'), 'node -e "process.exit(3)"', make('two')])).toEqual(['node -e "process.exit(3)"']);
  expect(['one', 'two'].map((name) => existsSync(join(folder, name)))).toEqual([true, true]);
});

test('npm start needs no POSIX shell', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(scripts.start).toMatch(/^node( [\w./=-]+)+$/);
});

test.runIf(process.platform === 'linux')(
  'npm start sets variables of the C library in the process that receives signals',
  async () => {
    const dataDir = newDataDir();
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const port = await freePort();
    const { MALLOC_TRIM_THRESHOLD_: _, DATABASE_URL: __, REDIS_URL: ___, ...rest } = process.env;
    const env = { ...rest, DATA_DIR: dataDir, PORT: String(port), DEMO: 'off' };
    const args = ['--disable-warning=ExperimentalWarning', join(ROOT, 'src/start.ts')];
    const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    while ((await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok !== true) {
      if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}`);
      await sleep(50);
    }
    const variables = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
    expect(variables).toContain('MALLOC_TRIM_THRESHOLD_=131072');
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').split('\0')).toContain(args[0]);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  },
);

test.skipIf(REDIS_URL === undefined)('a command with REDIS_URL prints only its result', async () => {
  const dataDir = newDataDir();
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const ended = await runProgram(['cli.ts', 'org', 'list'], { DATA_DIR: dataDir, REDIS_URL: REDIS_URL ?? '' });
  expect(ended).toEqual({ code: 0, said: 'none' });
});

/** Starts a Redis server with these options, which is stopped at the end of the test. @returns Its URL. */
async function redisWith(...options: readonly string[]): Promise<string> {
  const port = await freePort();
  const folder = testFolder();
  const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  const server = spawn(REDIS_SERVER ?? '', [...fixed, ...options], { stdio: 'ignore' });
  onTestFinished(async () => {
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  });
  const url = `redis://127.0.0.1:${port}`;
  const probe = new Redis(url, { enableReadyCheck: false });
  probe.on('error', () => {});
  await probe.ping().catch((error: Error) => {
    if (error.name !== 'ReplyError') throw error;
  });
  probe.disconnect();
  return url;
}

describe.runIf(REDIS_SERVER !== undefined)('a Redis server that answers with errors', () => {
  test.each([
    ['has no memory left', ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'], /OOM command not allowed/],
    ['is a replica', ['--replicaof', '127.0.0.1', '1'], /READONLY|MASTERDOWN/],
    ['is a node of a cluster', ['--cluster-enabled', 'yes'], /CLUSTERDOWN|MOVED/],
    ['denies scripts', ['--rename-command', 'EVAL', '', '--rename-command', 'EVALSHA', ''], /unknown command/],
  ])('%s: is reported by doctor and in the log', async (_kind, options, message) => {
    const url = await redisWith(...options);
    const config = readConfig({ REDIS_URL: url, SECRET_KEY: 's'.repeat(40), RATE_LIMIT_PER_USER: '50' });
    await expect(checkRedis({ config })).rejects.toThrow(/^replies, but refuses a command that the service needs: /);
    await expect(checkRedis({ config })).rejects.toThrow(message);
    const said: { message: string; text: unknown }[] = [];
    const log = {
      warn: ({ err }: { err: Error }, text: unknown) => said.push({ message: err.message, text }),
    } as never;
    const limits = new RateLimits(config, log);
    onTestFinished(() => limits.close());
    await expect
      .poll(
        async () => {
          expect(await limits.countUser(1)).toMatchObject({ limit: 50 });
          return said.filter(({ text }) => text === 'redis refuses commands, falling back to local limits').length;
        },
        { timeout: 20_000 },
      )
      .toBeGreaterThan(0);
    expect(said.some((line) => message.test(line.message))).toBe(true);
  });

  test('requires a password: is reported, also for notifications', async () => {
    const url = await redisWith('--requirepass', 'secret');
    const config = readConfig({ REDIS_URL: url, SECRET_KEY: 's'.repeat(40) });
    await expect(checkRedis({ config })).rejects.toThrow(/NOAUTH/);
    const said: string[] = [];
    const log = { warn: ({ err }: { err: Error }, text: string) => said.push(`${text}: ${err.message}`) } as never;
    const bus = openBus(config, log);
    bus.onHint(() => {});
    await expect.poll(() => said.filter((line) => /NOAUTH/.test(line)).length, { timeout: 20_000 }).toBeGreaterThan(0);
    await bus.close();
  });

  test('lacks the database of the URL: is reported', async () => {
    const config = readConfig({ REDIS_URL: `${await redisWith()}/99`, SECRET_KEY: 's'.repeat(40) });
    await expect(checkRedis({ config })).rejects.toThrow(/^replies, but refuses .*DB index is out of range/);
  });

  test('the command doctor prints only its findings', { timeout: 300_000 }, async () => {
    const dataDir = newDataDir();
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    await runProgram(['cli.ts', 'migrate'], { DATA_DIR: dataDir });
    const user = 'plain on >secret ~* &* +@all -info'.split(' ');
    const { host } = new URL(await redisWith('--requirepass', 'secret', '--user', ...user));
    for (const [url, ok, detail] of [
      [`redis://:wrong@${host}`, false, /WRONGPASS/],
      [`redis://plain:secret@${host}`, true, /^replied in/],
    ] as const) {
      const { said } = await runProgram(['cli.ts', 'doctor', '--json'], { DATA_DIR: dataDir, REDIS_URL: url });
      const { findings } = JSON.parse(said) as { findings: { check: string; ok: boolean; detail: string }[] };
      const found = findings.find(({ check }) => check === 'redis');
      expect([url, found]).toEqual([url, { check: 'redis', ok, detail: expect.stringMatching(detail) }]);
    }
  });

  test('passes the check if it executes everything, and can be closed before it is connected', async () => {
    const url = await redisWith();
    const config = readConfig({ REDIS_URL: url, SECRET_KEY: 's'.repeat(40) });
    expect(await checkRedis({ config })).toMatch(/^replied in [\d.]+ ms$/);
    const said: unknown[] = [];
    const log = { warn: (...parts: unknown[]) => said.push(parts) } as never;
    const [bus, limits] = [openBus(config, log), new RateLimits(config, log)];
    bus.onHint(() => {});
    limits.close();
    await bus.close();
    await sleep(300);
    expect(said).toEqual([]);
  });
});
