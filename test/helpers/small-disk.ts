import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether this process can mount file systems. */
export function mayMount(): boolean {
  if (process.platform !== 'linux') return false;
  const folder = mkdtempSync(join(tmpdir(), 'chat-test-'));
  try {
    new SmallDisk(folder, 1)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A small file system for one test, mounted on a folder, that can be filled to the last byte. Requires Linux and root. */
export class SmallDisk implements Disposable {
  readonly folder: string;
  readonly #filling: string;

  constructor(folder: string, megabytes: number) {
    mkdirSync(folder, { recursive: true });
    this.folder = folder;
    this.#filling = join(folder, 'filling');
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' });
  }

  fill(): void {
    const file = openSync(this.#filling, 'a');
    try {
      for (let bytes = 2 ** 20; bytes >= 2 ** 12; bytes /= 2) writeAll(file, Buffer.alloc(bytes));
    } finally {
      closeSync(file);
    }
  }

  makeRoom(): void {
    rmSync(this.#filling, { force: true });
  }

  [Symbol.dispose](): void {
    execFileSync('umount', ['--lazy', this.folder], { stdio: 'ignore' });
  }
}

function writeAll(file: number, block: Buffer): void {
  try {
    for (;;) if (writeSync(file, block) < block.length) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
