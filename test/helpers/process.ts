import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newDataDir, newEmptyDir } from './data-dir.ts';
import { createMigratedDatabase } from './database.ts';
import type { SmallMemory } from './small-memory.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Maximum duration of a start, in milliseconds. The first start creates and migrates the database while other tests run. */
const START_MS = 180_000;

/**
 * URL of a module that kills its process when the parent process ends for any reason, because the pipe from the parent then
 * closes.
 */
const DIE_WITH_PARENT = `data:text/javascript,process.stdin.on('close',()=>process.kill(process.pid,'SIGKILL')).resume().unref()`;

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ServerOptions {
  /**
   * Variables in addition to the defaults of a test server. Undefined removes a variable. If DATABASE_URL is set for
   * the tests but not here, the server gets its own database there, which is dropped on disposal.
   */
  readonly env?: Environment;
  /** Path of the data directory. Default: a new folder, removed on disposal. */
  readonly dataDir?: string;
  /** Memory limit of the process. */
  readonly memory?: SmallMemory;
}

/** URL of a mail server that does not run. The port is reserved for no protocol that listens. */
export const NO_MAIL_SERVER = 'smtp://127.0.0.1:9';

/** Default environment of a test server: no demo data, fast password hashing, no rate limits, short intervals. */
const DEFAULTS: Environment = {
  HOST: '127.0.0.1',
  EXTERNAL_HOST: undefined,
  DEMO: 'off',
  // Set explicitly, because the default is off with an external database and some tests introspect the schema without
  // credentials.
  ANONYMOUS_INTROSPECTION: 'on',
  LOG_LEVEL: 'warn',
  // A low cost keeps tests fast. Tests of hashing set their own.
  PASSWORD_HASH_COST: '1024',
  CHECK_REPLIES: 'on',
  // All tests use one address, and many requests come from one user.
  RATE_LIMIT_PER_USER: 'off',
  RATE_LIMIT_PER_IP: 'off',
  SOCKETS_PER_USER: 'off',
  SOCKETS_PER_IP: 'off',
  CONNECTIONS_PER_IP: 'off',
  // Emails are accepted and stay queued. Tests that read emails start a mail server of their own.
  SMTP_URL: NO_MAIL_SERVER,
  EVENT_HEARTBEAT_SECONDS: '2',
  EVENT_QUEUE_WRITE_SECONDS: '1',
};

/** Environment for servers whose response times are measured: password hashing and reply checks as in production. */
export const AS_SERVED: Environment = { PASSWORD_HASH_COST: undefined, CHECK_REPLIES: undefined };

/** Environment for servers whose metrics a test reads. With an external database, metrics require a token. */
export const METRICS = {
  env: { METRICS_TOKEN: 'a token of the tests' },
  headers: { authorization: 'Bearer a token of the tests' },
} as const;

/** A server process for one test, on a fixed port. */
export class ServerProcess implements AsyncDisposable {
  readonly port: number;
  readonly dataDir: string;
  #env: Environment;
  readonly #memory: SmallMemory | undefined;
  /** Resources to dispose of together with the server. */
  readonly #own: AsyncDisposableStack;
  #child: ChildProcess;

  private constructor(port: number, dataDir: string, { env = {}, memory }: ServerOptions, own: AsyncDisposableStack) {
    this.port = port;
    this.dataDir = dataDir;
    this.#env = env;
    this.#memory = memory;
    this.#own = own;
    this.#child = this.#spawn();
  }

  /** Starts a server. Resolves when it is ready. @throws {Error} If it ends, or is not ready in three minutes. */
  static async start({ env = {}, dataDir, memory }: ServerOptions = {}): Promise<ServerProcess> {
    const own = new AsyncDisposableStack();
    const { DATABASE_URL: databaseUrl } = { ...process.env, ...env };
    // An embedded database that is not in use would be reported, and would keep the demo from being created.
    const directory = dataDir ?? (databaseUrl === undefined ? newDataDir() : newEmptyDir());
    if (dataDir === undefined) own.defer(() => rmSync(directory, { recursive: true, force: true }));
    const all = { ...DEFAULTS, ...(await databaseOf(env, own)), ...env };
    for (let attempt = 1; ; attempt++) {
      const server = new ServerProcess(await freePort(), directory, { env: all, ...(memory && { memory }) }, own);
      try {
        await server.#ready();
        return server;
      } catch (error) {
        // Another process may have taken the port meanwhile.
        if (attempt < 3 && server.log().includes('EADDRINUSE')) continue;
        await server[Symbol.asyncDispose]();
        throw error;
      }
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Id of the running process. Undefined if it is not running. */
  get pid(): number | undefined {
    return this.#isRunning() ? this.#child.pid : undefined;
  }

  /** Returns the output of the server since its first start. */
  log(): string {
    return readFileSync(join(this.dataDir, 'server.log'), 'utf8');
  }

  /** Kills the process without a shutdown, so nothing more is written. */
  async kill9(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Stops the server as an operator does. Resolves with its exit code. Null if the server had to be killed after 15 s. */
  async stop(): Promise<number | null> {
    await this.#end('SIGTERM');
    return this.#child.exitCode;
  }

  /** Restarts the server. It keeps its port and data. @param env Variables that change. */
  async restart(env: Environment = {}): Promise<void> {
    await this.stop();
    this.#env = { ...this.#env, ...env };
    this.#child = this.#spawn();
    await this.#ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end('SIGKILL');
    await this.#own.disposeAsync();
  }

  #spawn(): ChildProcess {
    const log = openSync(join(this.dataDir, 'server.log'), 'a');
    const flags = ['--disable-warning=ExperimentalWarning', '--import', DIE_WITH_PARENT];
    const command = [process.execPath, ...flags, 'src/main.ts'];
    const [program = '', ...args] = this.#memory?.within(command) ?? command;
    return spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, ...this.#env, PORT: String(this.port), DATA_DIR: this.dataDir },
      stdio: ['pipe', log, log],
    });
  }

  async #ready(): Promise<void> {
    const deadline = Date.now() + START_MS;
    while (Date.now() < deadline) {
      if (!this.#isRunning()) throw new Error(`The server ended while it started:\n${this.log()}`);
      const response = await fetch(`${this.url}/readyz`, { headers: { connection: 'close' } }).catch(() => undefined);
      await response?.body?.cancel();
      if (response?.ok === true) return;
      await sleep(25);
    }
    throw new Error(`The server did not get ready in ${START_MS / 1000} s:\n${this.log()}`);
  }

  #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!this.#isRunning()) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 15_000);
    await ended;
    clearTimeout(late);
  }
}

async function databaseOf(env: Environment, own: AsyncDisposableStack): Promise<Environment> {
  const { DATABASE_URL: server } = process.env;
  if ('DATABASE_URL' in env || server === undefined || server === '') return {};
  const { url } = own.use(await createMigratedDatabase(server));
  return { DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') };
}

/** Returns a TCP port that is currently free. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('No port');
  return address.port;
}
