import { setImmediate as turn } from 'node:timers/promises';
import { freeUnused } from '../../src/platform/memory.ts';

/** Bytes of the heap that this process still holds when all that nobody can come to was let go of. */
export async function heldBytes(): Promise<number> {
  // The first finds what finalisers let go of, the second takes it.
  freeUnused();
  await turn();
  freeUnused();
  return process.memoryUsage().heapUsed;
}
