// The script of `npm start`. It sets an environment variable that the C library reads when a process begins, and then replaces
// the process by the service. The process id stays the same, so signals reach the service. On systems without execve, the
// service starts without the variable, which only glibc uses.
import { join } from 'node:path';

/**
 * Number of free bytes that glibc keeps at the end of a heap. The value is the default of glibc. If it is set explicitly, glibc
 * does not raise it at run time.
 */
const TRIM = { MALLOC_TRIM_THRESHOLD_: '131072' };

if (process.platform === 'linux' && process.env['MALLOC_TRIM_THRESHOLD_'] === undefined) {
  const command = [process.execPath, ...process.execArgv, join(import.meta.dirname, 'main.ts')];
  process.execve?.(process.execPath, command, { ...process.env, ...TRIM });
}
await import('./main.ts');
