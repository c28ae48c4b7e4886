// npm run test:production: installs the service without its development packages, in the two ways that operators use. Then
// starts it and loads the chat page. Works in a copy of the tracked files, so that the packages of this folder are not changed.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasChromium, launchChromium } from './helpers/chromium.ts';
import { freePort } from './helpers/process.ts';

const ROOT = join(import.meta.dirname, '..');
const START_MS = 120_000;
const PAGE_MS = 60_000;

/** The two ways to leave out the development packages. */
const INSTALLS = [
  { title: 'npm ci --omit=dev', args: ['--omit=dev'], env: {} },
  { title: 'NODE_ENV=production npm ci', args: [], env: { NODE_ENV: 'production' } },
] as const;

/** Returns the environment of a machine on which nothing is configured. PATH does not contain the packages of this run. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^npm_/i.test(name) && !['DATABASE_URL', 'REDIS_URL', 'NODE_ENV', 'INIT_CWD'].includes(name),
  );
  const { PATH = '' } = process.env;
  const path = PATH.split(':').filter((folder) => !folder.startsWith(ROOT) && !folder.includes('node-gyp-bin'));
  return { ...Object.fromEntries(kept), PATH: path.join(':') };
}

/** Copies all files that git does not ignore, as a clone has them. */
function copyTo(folder: string): void {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files.filter((name) => name !== '' && existsSync(join(ROOT, name)))) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
}

/** Waits until the service is ready. @throws {Error} If it ends, or is not ready in `START_MS`. */
async function waitUntilReady(url: string, hasEnded: () => boolean): Promise<void> {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; await sleep(100)) {
    if (hasEnded()) throw new Error('npm start ended before the service was ready');
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok === true) return;
  }
  throw new Error(`The service was not ready in ${START_MS / 1000} s`);
}

/** Loads the chat page and every file to which its HTML refers. */
async function loadFiles(url: string): Promise<void> {
  const page = await fetch(`${url}/`);
  const html = await page.text();
  const files = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, file = '']) => file);
  if (!page.ok || files.length === 0)
    throw new Error(`The page answered ${page.status} and names ${files.length} files`);
  for (const file of files) {
    const response = await fetch(url + file);
    const { byteLength } = await response.arrayBuffer();
    if (!response.ok || byteLength === 0) throw new Error(`${file} answered ${response.status}, ${byteLength} bytes`);
  }
}

/** Opens the chat in a browser, as a new user of the demo does. */
async function openPage(startUrl: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const browser = await launchChromium();
  stack.defer(() => browser.close());
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  await page.goto(startUrl);
  await page.getByRole('button').first().waitFor({ timeout: PAGE_MS });
  if (problems.length > 0) throw new Error(`The page reports ${problems.join('; ')}`);
}

async function tryInstall({ args, env }: (typeof INSTALLS)[number]): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'production-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  copyTo(folder);
  const environment = { ...plainEnvironment(), ...env };
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error', ...args], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (existsSync(join(folder, 'node_modules/vitest'))) throw new Error('Development packages were installed');
  const port = await freePort();
  const service = spawn('npm', ['start'], {
    cwd: folder,
    env: { ...environment, HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit'],
    // The service gets its own process group, which is killed at the end, because npm may not forward a signal to it.
    detached: true,
  });
  const ended = once(service, 'exit');
  const isRunning = () => service.exitCode === null && service.signalCode === null;
  stack.defer(async () => {
    if (isRunning() && service.pid !== undefined) process.kill(-service.pid, 'SIGTERM');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady(url, () => !isRunning());
  await loadFiles(url);
  const { start_url: startUrl } = JSON.parse(readFileSync(join(folder, 'data/demo.json'), 'utf8'));
  if (hasChromium) await openPage(startUrl);
}

let failed = 0;
for (const install of INSTALLS) {
  try {
    await tryInstall(install);
    console.log(`passed: ${install.title}, start, load the page${hasChromium ? '' : ' (without a browser)'}`);
  } catch (error) {
    failed++;
    console.error(`failed: ${install.title}:`, error);
  }
}
console.log(`${INSTALLS.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
