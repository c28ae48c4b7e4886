import { setImmediate as turn } from 'node:timers/promises';
import { freeUnused } from '../../src/platform/memory.ts';

/** Returns the heap size of this process, in bytes, after unreachable objects were collected. */
export async function heldBytes(): Promise<number> {
  // The first collection runs finalizers, the second frees what they released.
  freeUnused();
  await turn();
  freeUnused();
  return process.memoryUsage().heapUsed;
}
