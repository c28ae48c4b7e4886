import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../helpers/process.ts';
import { asOwner, postgresProgram } from './postgres-programs.ts';

const run = promisify(execFile);

const START_MS = 30_000;

/** PostgreSQL server configuration. It disables fsync, because all trials share a disk and do not test power failures. */
const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
synchronous_commit = on
dynamic_shared_memory_type = mmap
max_connections = 60
`;

/** A PostgreSQL server with a data folder of its own. */
class DatabaseServer {
  readonly port: number;
  readonly #folder: string;
  readonly #pid: number;
  readonly #ended: Promise<unknown>;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.port = port;
    const log = openSync(`${folder}.log`, 'a');
    const server = spawn(
      postgresProgram('postgres'),
      ['-D', folder, '-p', String(port), '-c', `cluster_name=at${port}`],
      {
        ...asOwner(),
        stdio: ['ignore', log, log],
      },
    );
    this.#pid = server.pid ?? 0;
    this.#ended = once(server, 'exit');
  }

  /** Starts a server with the data in a folder. Resolves when it answers queries. */
  static async start(folder: string): Promise<DatabaseServer> {
    const server = new DatabaseServer(folder, await freePort());
    for (const startedAt = performance.now(); ; ) {
      const isUp = await server.ask('SELECT 1').then(
        () => true,
        () => false,
      );
      if (isUp) return server;
      if (performance.now() - startedAt > START_MS) throw new Error(readFileSync(`${folder}.log`, 'utf8'));
    }
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async ask(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query(sql)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Kills all processes of the server. */
  async kill(): Promise<void> {
    this.#signal('SIGKILL');
    await this.#ended;
    // Removes the shared memory segment that a killed server leaves in the kernel.
    const memory = /(\d+)\s*$/.exec(
      readFileSync(join(this.#folder, 'postmaster.pid'), 'utf8').split('\n')[6] ?? '',
    )?.[1];
    if (memory !== undefined) await run('ipcrm', ['-m', memory]).catch(() => {});
  }

  /** Stops the server's processes with SIGSTOP. Its connections stay open and silent. */
  pause(): void {
    this.#signal('SIGSTOP');
  }

  /** Promotes a standby. Resolves when it accepts changes. */
  async promote(): Promise<void> {
    await run(postgresProgram('pg_ctl'), ['promote', '-w', '-D', this.#folder], asOwner());
  }

  /** Starts a synchronous standby of this server. From then on, every commit waits for the standby. */
  async standby(folder: string): Promise<DatabaseServer> {
    const source = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postgres'];
    await run(postgresProgram('pg_basebackup'), [...source, '-D', folder, '-R', '-c', 'fast', '-N'], asOwner());
    const standby = await DatabaseServer.start(folder);
    await this.ask(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await this.ask('SELECT pg_reload_conf()');
    const startedAt = performance.now();
    while ((await this.ask(`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`)).length === 0) {
      if (performance.now() - startedAt > START_MS) throw new Error('The standby does not replicate');
    }
    return standby;
  }

  /** Sends a signal to all processes of the server. The postmaster gets it first, because it forks all other processes. */
  #signal(signal: NodeJS.Signals): void {
    const children = readFileSync(`/proc/${this.#pid}/task/${this.#pid}/children`, 'utf8').trim().split(' ');
    for (const pid of [this.#pid, ...children.filter(Boolean).map(Number)]) process.kill(pid, signal);
  }
}

/** A primary and its synchronous standby. */
export class Cluster implements AsyncDisposable {
  primary: DatabaseServer;
  standby: DatabaseServer;
  readonly #folder: string;
  readonly #running: Set<DatabaseServer>;
  #made = 2;

  private constructor(folder: string, primary: DatabaseServer, standby: DatabaseServer) {
    this.#folder = folder;
    this.primary = primary;
    this.standby = standby;
    this.#running = new Set([primary, standby]);
  }

  static async start(): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
    const { uid, gid } = asOwner();
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
    const first = join(folder, '0');
    const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '-N'];
    await run(postgresProgram('initdb'), ['-D', first, ...options], asOwner());
    appendFileSync(join(first, 'postgresql.conf'), SETTINGS);
    const primary = await DatabaseServer.start(first);
    return new Cluster(folder, primary, await primary.standby(join(folder, '1')));
  }

  async kill(): Promise<void> {
    this.#running.delete(this.primary);
    await this.primary.kill();
  }

  /** Promotes the standby to primary, without a new standby. */
  async promote(): Promise<void> {
    await this.standby.promote();
    this.primary = this.standby;
  }

  /** Adds a new standby to the primary. */
  async renew(): Promise<void> {
    this.standby = await this.primary.standby(join(this.#folder, String(this.#made++)));
    this.#running.add(this.standby);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#running) await server.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
