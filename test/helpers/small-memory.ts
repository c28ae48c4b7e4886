import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** Whether this process may hold others to a share of the machine's memory: Linux, as root. */
export function mayLimitMemory(): boolean {
  try {
    new SmallMemory(64)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

/** So much memory as a container has, for what runs in it: who takes more is killed. */
export class SmallMemory implements Disposable {
  static #made = 0;
  readonly #folder: string;

  constructor(megabytes: number) {
    // The first and the second version of the kernel's control groups.
    const [parent, limit] = existsSync(join(ROOT, 'memory'))
      ? [join(ROOT, 'memory'), 'memory.limit_in_bytes']
      : [ROOT, 'memory.max'];
    this.#folder = join(parent, `chat-test-${process.pid}-${SmallMemory.#made++}`);
    mkdirSync(this.#folder);
    writeFileSync(join(this.#folder, limit), `${megabytes}M`);
  }

  /** The command that runs another in it, from its first moment on: what a process may use decides what it does. */
  within(command: readonly string[]): string[] {
    return ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(this.#folder, 'cgroup.procs'), ...command];
  }

  /** Of those in it that still run. */
  get pids(): readonly number[] {
    return readFileSync(join(this.#folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  }

  /** When nobody is in it any more. */
  [Symbol.dispose](): void {
    rmdirSync(this.#folder);
  }
}
