import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/**
 * Bytes for something that only saves work: a share of what the process may use, so that a small one does not end of it.
 *
 * @param share Of the heap's limit, as `--max-old-space-size` or the machine's memory sets it.
 * @param atMost More of it would save nothing.
 */
export function shareOfHeap(share: number, atMost = Number.POSITIVE_INFINITY): number {
  return Math.floor(Math.min(atMost, getHeapStatistics().heap_size_limit * share));
}

/** Bytes the process may use at most: of its container, where that has a limit, or of the machine. */
export function memoryLimit(): number {
  // 0 where nothing is known, and more than there is where there is no limit.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}
