/**
 * Returns the processor time that `work` takes in this thread, in milliseconds. Unlike its duration, it does not depend on
 * other processes.
 */
export function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
