import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from './http.ts';
import type { ServerProcess } from './process.ts';

/** A runner of shell code as printed on the pages of a demo. The code runs in a temporary folder. */
export class PrintedCalls implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'printed-'));
  readonly #env: Record<string, string | undefined>;

  constructor({ url, dataDir }: ServerProcess) {
    const { users } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));
    this.#env = { PATH: process.env['PATH'], URL: url, EMAIL: users[0].email, KEY: users[0].api_key };
  }

  /** Runs code. The code is killed after 60 s. @param shell The shell with its flags. Default: bash. @returns The output. */
  run(code: string, shell: readonly string[] = ['bash', '-c']): { stdout: string; stderr: string } {
    const [program = '', ...flags] = shell;
    const quiet = code.replaceAll(/\bcurl (?!-s)/g, 'curl -sS ');
    return spawnSync(program, [...flags, quiet], {
      cwd: this.#folder,
      env: this.#env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** Returns the response of a call, which is the last line of its output. @throws {Error} If that line is not JSON. */
export const replyOf = ({ stdout, stderr }: { stdout: string; stderr: string }): Json => {
  try {
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  } catch {
    throw new Error(`No reply:\n${stdout}\n${stderr}`);
  }
};

/** Maximum number of elements of a list in the reference: enough to show that the value is a list. */
const MAX_ROWS = 2;

/** Returns a response as the reference shows it: without secrets and test ports, and with lists shortened. */
export function shownReply(value: unknown, name = ''): unknown {
  if (typeof value === 'string') {
    return name === 'api_key' ? 'THEIR_API_KEY' : value.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:4000');
  }
  if (Array.isArray(value)) {
    // An array with elements of several types is a tuple, not a list.
    const isList = value.every((row) => typeof row === typeof value[0]);
    return value.slice(0, isList ? MAX_ROWS : undefined).map((row) => shownReply(row));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shownReply(inner, key)]));
}
