// All checks that need no tests, run one after another. If a check fails, the remaining checks still run, and the exit code is
// 1.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const CHECKS = [
  'biome check --error-on-warnings',
  'tsc -p .',
  'tsc -p src/web',
  'eslint --config test/graphql-eslint.config.js --max-warnings 0 schema.graphql src/web',
  'node test/layout.ts',
  'node test/language.ts',
  'node --disable-warning=ExperimentalWarning test/generated.ts',
  'node test/released.ts',
];

/**
 * Runs shell commands one after another, with the programs of `npm run` in the path.
 *
 * @returns The commands that failed.
 */
export function runAll(commands: readonly string[]): string[] {
  return commands.filter((command) => {
    console.log(`> ${command}`);
    const { status } = spawnSync(command, { shell: true, stdio: 'inherit', cwd: join(import.meta.dirname, '..') });
    return status !== 0;
  });
}

if (import.meta.main) {
  const failed = runAll(CHECKS);
  for (const command of failed) console.error(`failed: ${command}`);
  process.exit(failed.length === 0 ? 0 : 1);
}
