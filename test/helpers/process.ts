import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newDataDir } from './data-dir.ts';
import { createDatabase } from './database.ts';
import type { SmallMemory } from './small-memory.ts';

const ROOT = join(import.meta.dirname, '../..');
/** A first start makes the database and migrates it, on a machine where other tests run. */
const START_MS = 60_000;

/** Ends the process when the one that started it ends, however that ends: the pipe between them closes. */
const DIE_WITH_PARENT = `data:text/javascript,process.stdin.on('close',()=>process.kill(process.pid,'SIGKILL')).resume().unref()`;

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ServerOptions {
  /**
   * On top of a test server's own environment; undefined takes a variable away. Where DATABASE_URL is set for the tests
   * and not here, the server gets a database of its own there, dropped in the end.
   */
  readonly env?: Environment;
  /** Default: a new one, removed in the end. */
  readonly dataDir?: string;
  /** What it has to do with. */
  readonly memory?: SmallMemory;
}

/** What a test server runs with: its own data, nothing made up, events that come quickly. */
const DEFAULTS: Environment = {
  HOST: '127.0.0.1',
  EXTERNAL_HOST: undefined,
  DEMO: 'off',
  // Also where a database address is given: the tests ask strangers' questions of the schema.
  ANONYMOUS_INTROSPECTION: 'on',
  LOG_LEVEL: 'warn',
  // What is tested is not how long it takes; what is, says so.
  PASSWORD_HASH_COST: '1024',
  CHECK_REPLIES: 'on',
  // All tests come from one address, and many of one person.
  RATE_LIMIT_PER_USER: 'off',
  RATE_LIMIT_PER_IP: 'off',
  SOCKETS_PER_USER: 'off',
  SOCKETS_PER_IP: 'off',
  CONNECTIONS_PER_IP: 'off',
  EVENT_HEARTBEAT_SECONDS: '2',
  EVENT_QUEUE_WRITE_SECONDS: '1',
};

/** For servers of which it is asked how long they take: as people run them, but for what keeps a test from asking. */
export const AS_SERVED: Environment = { PASSWORD_HASH_COST: undefined, CHECK_REPLIES: undefined };

/** For servers whose metrics a test reads, which with a database of their own are told to nobody without a token. */
export const METRICS = {
  env: { METRICS_TOKEN: 'a token of the tests' },
  headers: { authorization: 'Bearer a token of the tests' },
} as const;

/** A server process of the test's own, on a port it keeps. */
export class ServerProcess implements AsyncDisposable {
  readonly port: number;
  readonly dataDir: string;
  readonly #env: Environment;
  readonly #memory: SmallMemory | undefined;
  /** What goes when the server does. */
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

  /** Resolves when the server is ready to serve. */
  static async start({ env = {}, dataDir, memory }: ServerOptions = {}): Promise<ServerProcess> {
    const own = new AsyncDisposableStack();
    const directory = dataDir ?? newDataDir();
    if (dataDir === undefined) own.defer(() => rmSync(directory, { recursive: true, force: true }));
    const all = { ...DEFAULTS, ...(await databaseOf(env, own)), ...env };
    for (let attempt = 1; ; attempt++) {
      const server = new ServerProcess(await freePort(), directory, { env: all, ...(memory && { memory }) }, own);
      try {
        await server.#ready();
        return server;
      } catch (error) {
        // Somebody may have taken the port since it was found free.
        if (attempt < 3 && server.log().includes('EADDRINUSE')) continue;
        await server[Symbol.asyncDispose]();
        throw error;
      }
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Of the running process; undefined when there is none. */
  get pid(): number | undefined {
    return this.#isRunning() ? this.#child.pid : undefined;
  }

  /** What the server wrote so far, over all its lives. */
  log(): string {
    return readFileSync(join(this.dataDir, 'server.log'), 'utf8');
  }

  /** As a power cut for the process: nothing gets written any more. */
  async kill9(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** As an operator stops it. Resolves with its exit code; null when it had to be killed. */
  async stop(): Promise<number | null> {
    await this.#end('SIGTERM');
    return this.#child.exitCode;
  }

  /** Starts it again, on the same port and data. */
  async restart(): Promise<void> {
    await this.stop();
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
  const { url } = own.use(await createDatabase(server));
  return { DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') };
}

/** A port that nobody had a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('No port');
  return address.port;
}
