import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** The middle of some numbers. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** @param p 0 to 100. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (p / 100) * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN];
  return low + (high - low) * (place - Math.floor(place));
}

/** The least and the most, as parts of the median: "-8 % … +5 %". */
export function spread(values: readonly number[]): string {
  const middle = median(values);
  const part = (value: number) => `${value >= middle ? '+' : ''}${Math.round((value / middle - 1) * 100)} %`;
  return `${part(Math.min(...values))} … ${part(Math.max(...values))}`;
}

/** CPU time of this process, in seconds. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** CPU time of all threads of another process, in seconds; not a number where the system does not tell. */
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

/** How many files and sockets a process may have open here, as Node takes what it is allowed; endless where nobody tells. */
export function mostOpenFiles(): number {
  try {
    const [, most] = /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(most ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Memory of another process that is in RAM, in bytes. */
export function residentBytesOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}
