import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Environment with the folder of compiled modules, which all processes of a run share. Without it, a command compiles all modules
 * of the service, which takes most of its time.
 */
export const COMPILED: Readonly<Record<string, string | undefined>> = {
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};

interface Ended {
  readonly code: number;
  readonly said: string;
}

/** Creates a folder that is removed at the end of the test. */
export function testFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'chat-test-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/**
 * Runs a program of the operator until it ends, by default in a new working directory, with only the given environment and
 * the folder of compiled modules.
 *
 * @param args Path of the program in `src`, and its arguments.
 */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = testFolder(),
): Promise<Ended> {
  const [script = '', ...rest] = args;
  const command = ['--disable-warning=ExperimentalWarning', join(ROOT, 'src', script), ...rest];
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      command,
      { cwd, env: { ...COMPILED, ...env }, timeout: 150_000 },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), said: `${stdout}${stderr}`.trim() });
      },
    );
  });
}
