import { totalmem } from 'node:os';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

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

/**
 * Gives back at once what nothing refers to any more, for work that has left much: the collector looks at JavaScript's own
 * heap, and may wait for half a minute to find the buffers it holds on to. Stops the process for about 0.1 s.
 */
export function freeUnused(): void {
  // Node has it only where an option asks for it.
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
