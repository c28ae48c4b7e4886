import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';

/** Returns the median. NaN if there are no values. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Returns a percentile by linear interpolation. NaN if there are no values. @param p 0 to 100. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (p / 100) * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN];
  return low + (high - low) * (place - Math.floor(place));
}

/** Returns the minimum and maximum relative to the median: "-8 % … +5 %". */
export function spread(values: readonly number[]): string {
  const middle = median(values);
  const part = (value: number) => `${value >= middle ? '+' : ''}${Math.round((value / middle - 1) * 100)} %`;
  return `${part(Math.min(...values))} … ${part(Math.max(...values))}`;
}

/** Returns the CPU time that this process has used, in seconds. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Returns the CPU time that all threads of another process have used, in seconds. NaN if /proc is not available. */
export function cpuSecondsOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = threads.map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
    );
    return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e9;
  } catch {
    return Number.NaN;
  }
}

/** Returns the CPU time that the main thread of another process has used, in seconds. NaN if /proc is not available. */
export function mainThreadSecondsOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9;
  } catch {
    return Number.NaN;
  }
}

/** Returns the time for which all cores together were in use since the start of the machine, in seconds. NaN without /proc. */
export function machineSeconds(): number {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
    const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(/ +/).map(Number);
    return (user + nice + system + irq + softirq + steal) / 100;
  } catch {
    return Number.NaN;
  }
}

/** Returns the memory of a process in bytes. Memory that processes share is divided among them. NaN if it cannot be read. */
export function proportionalBytesOf(pid: number): number {
  try {
    return Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}

/**
 * Starts a measurement of the CPU time of PostgreSQL, and returns a function that ends it: it returns the seconds that the
 * connections to the database have used meanwhile, without those that were closed. NaN if the database is on another machine.
 */
export async function measureDatabaseCpu(db: pg.Client): Promise<() => Promise<number>> {
  const read = async () => {
    const { rows } = await db.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return rows.map(({ pid }) => [pid, cpuSecondsOf(pid)] as const);
  };
  const before = new Map(await read());
  return async () => (await read()).reduce((sum, [pid, seconds]) => sum + seconds - (before.get(pid) ?? 0), 0);
}

/**
 * Returns the maximum number of open files of this process: the hard limit, to which Node.js raises its soft limit. Infinity if
 * unknown.
 */
export function mostOpenFiles(): number {
  try {
    const [, most] = /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(most ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Returns the resident memory of another process, in bytes. */
export function residentBytesOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}
