import { writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { lostLogLines } from './metrics.ts';

const WARN = 40;
/** Interval, in milliseconds, of the attempts to write to the log again after lines were lost. */
const RETRY_MS = 1_000;
/**
 * Maximum number of attempts to write to a full pipe, and pause between two attempts in milliseconds. After the last attempt,
 * the lines are lost. The process is blocked during the pauses.
 */
const [FULL_ATTEMPTS, FULL_PAUSE_MS] = [10, 10];

/**
 * Writes some or all of the given bytes to the log.
 *
 * @param waits Whether to wait a short time if the output is a pipe that is full.
 * @returns The number of bytes that were written.
 */
export type WriteBytes = (bytes: Uint8Array, waits: boolean) => number;

/** Returns a function that writes to a file descriptor synchronously, so that nothing is lost if the process is killed. */
export const toDescriptor =
  (fd: number): WriteBytes =>
  (bytes, waits) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return writeSync(fd, bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || !waits || attempt === FULL_ATTEMPTS) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PAUSE_MS);
      }
    }
  };

const NEWLINE = 0x0a;

function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (const byte of bytes) if (byte === NEWLINE) lines++;
  return lines;
}

/**
 * The output of the log. If it cannot be written (full disk, full pipe, pipe without a reader), lines are dropped and counted,
 * and the process continues. When writing succeeds again, a line with the number of dropped lines is written first. Until then
 * no write waits: a reader that stopped would block the process at each line.
 */
export class LogOutput {
  readonly #write: WriteBytes;
  #lost = 0;
  #lostSince = 0;
  /** Whether only a part of the last log line was written. */
  #isCut = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: WriteBytes) {
    this.#write = write;
  }

  /** Writes one or more whole lines. Counts lines that cannot be written as lost. */
  write(text: string): void {
    const bytes = Buffer.from(text);
    if (this.#lost > 0 && !this.#report()) {
      this.#lose(bytes);
      return;
    }
    const written = this.#writeAll(bytes);
    if (written < bytes.length) this.#lose(bytes.subarray(written));
  }

  /** Writes a line with the number of lost lines. @returns Whether the whole line was written. */
  #report(): boolean {
    const fields = { pid: process.pid, hostname: hostname(), lost_lines: this.#lost, since: this.#lostSince };
    const line = JSON.stringify({ level: WARN, time: Date.now(), ...fields, msg: 'log lines were lost' });
    const bytes = Buffer.from(`${this.#isCut ? '\n' : ''}${line}\n`);
    if (this.#writeAll(bytes) < bytes.length) return false;
    this.#lost = 0;
    clearInterval(this.#timer);
    this.#timer = undefined;
    return true;
  }

  /** Writes bytes until all are written or an attempt fails. @returns The number of bytes that were written. */
  #writeAll(bytes: Uint8Array): number {
    let written = 0;
    try {
      while (written < bytes.length) written += this.#write(bytes.subarray(written), this.#lost === 0);
    } catch {
      // The caller counts the lost lines.
    }
    if (written > 0) this.#isCut = bytes[written - 1] !== NEWLINE;
    return written;
  }

  #lose(bytes: Uint8Array): void {
    if (this.#lost === 0) this.#lostSince = Date.now();
    const lines = countLines(bytes);
    this.#lost += lines;
    lostLogLines.inc(lines);
    this.#timer ??= setInterval(() => this.#report(), RETRY_MS).unref();
  }
}
