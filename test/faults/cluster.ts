import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../helpers/process.ts';
import { asOwner, type Owner, postgresProgram } from './postgres-programs.ts';

const run = promisify(execFile);

/** PostgreSQL server settings. Data need not survive a power failure, and all connections come from this machine. */
const SETTINGS = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'shared_buffers=32MB'];

/** Recovery mode of a PostgreSQL server that is started from a back-up. `changeTo` describes the modes. */
export type Recovery = 'none' | 'point in time';

/**
 * A PostgreSQL cluster of its own that can be backed up and restored. Its host and port never change. PostgreSQL's programs
 * refuse to run as root: if this process is root, they run as the user "postgres".
 */
export class Cluster implements AsyncDisposable {
  readonly #port: number;
  readonly #folder: string;
  readonly #owner: Owner;
  readonly #settings: readonly string[];
  #data: string;
  #copies = 0;

  private constructor(port: number, folder: string, owner: Owner, settings: readonly string[]) {
    this.#settings = [...SETTINGS, ...settings];
    this.#port = port;
    this.#folder = folder;
    this.#owner = owner;
    this.#data = join(folder, 'first');
  }

  /** Starts a server. @param settings Further settings: `name=value`. */
  static async start(settings: readonly string[] = []): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'chat-cluster-'));
    const cluster = new Cluster(await freePort(), folder, ownerOf(folder), settings);
    try {
      await cluster.program('initdb', ['-D', cluster.#data, '-U', 'postgres', '--auth=trust', '--no-sync']);
      await cluster.#start(cluster.#data, cluster.#port);
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  get url(): string {
    return this.#urlAt(this.#port);
  }

  /** Returns the path of a file in the folder of this cluster, in which PostgreSQL's programs can write. */
  path(name: string): string {
    return join(this.#folder, name);
  }

  /** Runs one of PostgreSQL's programs. @returns Its output. */
  async program(name: string, args: readonly string[]): Promise<string> {
    const { stdout } = await run(postgresProgram(name), args, { ...this.#owner, cwd: this.#folder });
    return stdout;
  }

  /** Copies the cluster in its current state. @returns The folder of the copy, for `changeTo`. */
  async backUp(): Promise<string> {
    const copy = this.path(`copy-${++this.#copies}`);
    await this.program('pg_basebackup', ['-D', copy, '-d', this.url, '--checkpoint=fast', '--no-sync']);
    return copy;
  }

  /**
   * Stops the server and starts a copy in its place.
   *
   * @param recovery `point in time`: replays the write-ahead log only until the copy is consistent.
   */
  async changeTo(copy: string, recovery: Recovery = 'none'): Promise<void> {
    await this.#stop(this.#data);
    this.#data = copy;
    const settings = join(copy, 'postgresql.auto.conf');
    if (recovery === 'point in time') {
      // Recovers until the copy is consistent, then promotes.
      writeFileSync(join(copy, 'recovery.signal'), '');
      writeFileSync(
        settings,
        ["restore_command = 'false'", "recovery_target = 'immediate'", "recovery_target_action = 'promote'"].join('\n'),
      );
    }
    await this.#start(copy, this.#port);
    // Removes these settings again. Otherwise, a copy made later would contain them and stop its recovery where it becomes
    // consistent.
    writeFileSync(settings, '');
  }

  /**
   * Starts a standby of this server at another port. @returns A function that stops the primary and puts the promoted standby
   * in its place.
   */
  async follow(): Promise<() => Promise<void>> {
    const [copy, port] = [this.path(`copy-${++this.#copies}`), await freePort()];
    await this.program('pg_basebackup', ['-D', copy, '-d', this.url, '--checkpoint=fast', '--no-sync', '-R']);
    await this.#start(copy, port);
    return async () => {
      // In a fast shutdown, the primary sends all remaining changes to the standby before it ends.
      await this.#stop(this.#data);
      await this.program('pg_ctl', ['promote', '-w', '-D', copy]);
      await this.#stop(copy);
      this.#data = copy;
      await this.#start(copy, this.#port);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop(this.#data, 'immediate').catch(() => {});
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #urlAt(port: number): string {
    return `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  async #start(data: string, port: number): Promise<void> {
    const options = [...this.#settings, `port=${port}`].map((setting) => `-c ${setting}`).join(' ');
    await this.program('pg_ctl', ['start', '-w', '-D', data, '-l', this.path('log'), '-o', options]);
  }

  async #stop(data: string, mode = 'fast'): Promise<void> {
    await this.program('pg_ctl', ['stop', '-w', '-D', data, '-m', mode]);
  }
}

/**
 * Makes the user that runs PostgreSQL's programs the owner of a folder, and hides the folder from other users. @returns That
 * user.
 */
function ownerOf(folder: string): Owner {
  const owner = asOwner();
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  return owner;
}
