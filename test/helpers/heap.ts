import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of the heap that this process still holds when all that nobody can come to was let go of. */
export async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // The first finds what finalisers let go of, the second takes it.
  collect();
  await turn();
  collect();
  return process.memoryUsage().heapUsed;
}
