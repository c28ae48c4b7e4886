import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './process.ts';

/** Installation folders of PostgreSQL in common distributions. */
const PLACES = ['/usr/lib/postgresql', '/usr/pgsql'];

/** Returns the folder with the commands of the newest PostgreSQL version. Undefined if none is installed. */
export function postgresCommands(): string | undefined {
  const found = PLACES.filter(existsSync).flatMap((place) =>
    readdirSync(place).map((name) => join(place, name, 'bin')),
  );
  return found.filter((folder) => existsSync(join(folder, 'initdb'))).at(-1);
}

/** A PostgreSQL server for one test. Runs as the operating system user "postgres". */
export class PrivatePostgres implements Disposable {
  readonly url: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'chat-test-pg-'));
  readonly #data: string;
  readonly #commands: string;
  readonly #ids: { readonly uid: number; readonly gid: number };

  private constructor(place: string, commands: string, port: number) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })));
    this.#ids = { uid: uid ?? 0, gid: gid ?? 0 };
    this.#commands = commands;
    this.#data = join(place, 'data');
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    for (const folder of [this.#folder, place]) {
      chownSync(folder, this.#ids.uid, this.#ids.gid);
      chmodSync(folder, 0o700);
    }
    const journal = join(this.#folder, 'wal');
    this.#run('initdb', ['-D', this.#data, '--waldir', journal, '-A', 'trust', '-U', 'postgres', '--no-sync']);
    const options = `-p ${port} -k ${this.#folder} -c listen_addresses=127.0.0.1 -c fsync=off`;
    this.#run('pg_ctl', ['-D', this.#data, '-w', '-o', options, '-l', join(this.#folder, 'log'), 'start']);
  }

  /**
   * Starts a server.
   *
   * @param place An empty folder for its tables, for example on a small disk that a test fills. The write-ahead log is in
   *   another folder, because the server stops if it cannot write the log.
   * @throws {Error} If PostgreSQL is not installed.
   */
  static async start(place: string): Promise<PrivatePostgres> {
    const commands = postgresCommands();
    if (commands === undefined) throw new Error('PostgreSQL is not installed here');
    mkdirSync(place, { recursive: true });
    return new PrivatePostgres(place, commands, await freePort());
  }

  [Symbol.dispose](): void {
    this.#run('pg_ctl', ['-D', this.#data, '-m', 'immediate', '-w', 'stop']);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #run(command: string, args: readonly string[]): void {
    execFileSync(join(this.#commands, command), args, { ...this.#ids, cwd: this.#folder, stdio: 'ignore' });
  }
}
