// The script `start`: sets a variable that the C library reads when a process begins, and replaces itself with the service. The
// process id stays the same, so signals reach the service. Systems without execve, and other C libraries, do not need it.
import { join } from 'node:path';

/** Free bytes that glibc keeps at the end of a heap. This is glibc's initial value; if it is set, glibc does not raise it. */
const TRIM = { MALLOC_TRIM_THRESHOLD_: '131072' };

if (process.platform === 'linux' && process.env['MALLOC_TRIM_THRESHOLD_'] === undefined) {
  const command = [process.execPath, ...process.execArgv, join(import.meta.dirname, 'main.ts')];
  process.execve?.(process.execPath, command, { ...process.env, ...TRIM });
}
await import('./main.ts');
