import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../helpers/process.ts';
import { asOwner, type Owner, postgresProgram } from './postgres-programs.ts';

const run = promisify(execFile);

/** Nothing here outlives a loss of power, and nobody comes but from this machine. */
const SETTINGS = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'shared_buffers=32MB'];

/** What a server that comes from a back-up is to do: see `Cluster.changeTo`. */
export type Recovery = 'none' | 'point in time';

/**
 * A PostgreSQL cluster of the trial's own, of which back-ups are made and restored: always at the same address. Its programs
 * refuse to run as root: then the user "postgres" runs them.
 */
export class Cluster implements AsyncDisposable {
  readonly #port: number;
  readonly #folder: string;
  readonly #owner: Owner;
  #data: string;
  #copies = 0;

  private constructor(port: number, folder: string, owner: Owner) {
    this.#port = port;
    this.#folder = folder;
    this.#owner = owner;
    this.#data = join(folder, 'first');
  }

  static async start(): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'chat-cluster-'));
    const cluster = new Cluster(await freePort(), folder, ownerOf(folder));
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

  /** A file of the trial's own, that its programs may write. */
  path(name: string): string {
    return join(this.#folder, name);
  }

  /** Runs one of PostgreSQL's programs. @returns What it prints. */
  async program(name: string, args: readonly string[]): Promise<string> {
    const { stdout } = await run(postgresProgram(name), args, { ...this.#owner, cwd: this.#folder });
    return stdout;
  }

  /** Copies the whole cluster, as it is by now. @returns What `changeTo` takes. */
  async backUp(): Promise<string> {
    const copy = this.path(`copy-${++this.#copies}`);
    await this.program('pg_basebackup', ['-D', copy, '-d', this.url, '--checkpoint=fast', '--no-sync']);
    return copy;
  }

  /** Stops, and starts a copy instead. */
  async changeTo(copy: string, recovery: Recovery = 'none'): Promise<void> {
    await this.#stop(this.#data);
    this.#data = copy;
    const settings = join(copy, 'postgresql.auto.conf');
    if (recovery === 'point in time') {
      // Up to where the copy is consistent, and on from there.
      writeFileSync(join(copy, 'recovery.signal'), '');
      writeFileSync(
        settings,
        ["restore_command = 'false'", "recovery_target = 'immediate'", "recovery_target_action = 'promote'"].join('\n'),
      );
    }
    await this.#start(copy, this.#port);
    // Or the next copy would stop following where it is consistent.
    writeFileSync(settings, '');
  }

  /** Has a standby follow, at an address of its own. @returns Has the standby take this one's place, when that is stopped. */
  async follow(): Promise<() => Promise<void>> {
    const [copy, port] = [this.path(`copy-${++this.#copies}`), await freePort()];
    await this.program('pg_basebackup', ['-D', copy, '-d', this.url, '--checkpoint=fast', '--no-sync', '-R']);
    await this.#start(copy, port);
    return async () => {
      // It sends all that it has before it ends.
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
    const options = [...SETTINGS, `port=${port}`].map((setting) => `-c ${setting}`).join(' ');
    await this.program('pg_ctl', ['start', '-w', '-D', data, '-l', this.path('log'), '-o', options]);
  }

  async #stop(data: string, mode = 'fast'): Promise<void> {
    await this.program('pg_ctl', ['stop', '-w', '-D', data, '-m', mode]);
  }
}

/** Gives a folder to who runs PostgreSQL's programs. */
function ownerOf(folder: string): Owner {
  const owner = asOwner();
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  return owner;
}
