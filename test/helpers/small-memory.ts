import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** Whether this process can limit the memory of other processes. Requires Linux and root. */
export function mayLimitMemory(): boolean {
  try {
    new SmallMemory(64)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

/** A memory limit for processes, as of a container. A process that exceeds it is killed. */
export class SmallMemory implements Disposable {
  static #made = 0;
  readonly #folder: string;

  constructor(megabytes: number) {
    // The files of Linux control groups have different names in version 1 and in version 2.
    const [parent, limit] = existsSync(join(ROOT, 'memory'))
      ? [join(ROOT, 'memory'), 'memory.limit_in_bytes']
      : [ROOT, 'memory.max'];
    this.#folder = join(parent, `chat-test-${process.pid}-${SmallMemory.#made++}`);
    mkdirSync(this.#folder);
    writeFileSync(join(this.#folder, limit), `${megabytes}M`);
  }

  /**
   * Returns a command that starts a program under the limit. The limit must apply from the start, because programs adapt to the
   * available memory.
   */
  within(command: readonly string[]): string[] {
    return ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(this.#folder, 'cgroup.procs'), ...command];
  }

  /** Ids of running processes under the limit. */
  get pids(): readonly number[] {
    return readFileSync(join(this.#folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  }

  /** Removes the control group. Fails while processes are in it. */
  [Symbol.dispose](): void {
    rmdirSync(this.#folder);
  }
}
