import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

interface Ended {
  readonly code: number;
  readonly said: string;
}

/** A folder of the test's own. */
export function testFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'chat-test-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/**
 * Runs what the operator runs, to its end, in a working directory of its own and with no environment but this.
 *
 * @param args The program in `src`, and its arguments.
 */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = testFolder(),
): Promise<Ended> {
  const [script = '', ...rest] = args;
  const command = ['--disable-warning=ExperimentalWarning', join(ROOT, 'src', script), ...rest];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd, env, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), said: `${stdout}${stderr}`.trim() });
    });
  });
}
