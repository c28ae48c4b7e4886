import { totalmem } from 'node:os';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Returns the maximum number of bytes for a cache: a share of the heap limit, so that a small process does not run out of
 * memory.
 *
 * @param share Share of the heap limit, which `--max-old-space-size` or the machine's memory determines.
 * @param atMost Upper bound in bytes. A larger cache would save nothing.
 */
export function shareOfHeap(share: number, atMost = Number.POSITIVE_INFINITY): number {
  return Math.floor(Math.min(atMost, getHeapStatistics().heap_size_limit * share));
}

/**
 * Returns the maximum number of bytes that the process can use: the limit of its container, if it has one, or the machine's
 * memory.
 */
export function memoryLimit(): number {
  // `constrainedMemory` is 0 if the limit is unknown, and larger than the machine's memory if there is no limit.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}

/**
 * Frees unreferenced memory immediately. Call it after work that leaves large unreferenced buffers. The garbage collector
 * measures only the JavaScript heap, and can take half a minute to free buffers outside the heap. Blocks the process for about
 * 0.1 s.
 */
export function freeUnused(): void {
  // Node provides `gc` only with this option.
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
