// Loaded into the tested server with --import. Reports its memory after a garbage collection.
import { createServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Answer of the probe. Sizes are in bytes. */
export interface MemoryReading {
  /** Size of the JavaScript objects in use. */
  readonly heap: number;
  /** Memory outside the heap that belongs to JavaScript objects. Includes all memory of an embedded database. */
  readonly external: number;
  /** Resident memory of the process. */
  readonly rss: number;
  /** Names added to the prototype of all objects. Must be empty. */
  readonly polluted: readonly string[];
}

const path = process.env['FUZZ_PROBE'];
if (path !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  createServer((connection) => {
    connection.on('error', () => {}).resume();
    // The first collection runs finalizers, the second frees what they released.
    collect();
    setImmediate(() => {
      collect();
      const { heapUsed, external, rss } = process.memoryUsage();
      const polluted = Object.keys(Object.prototype);
      connection.end(JSON.stringify({ heap: heapUsed, external, rss, polluted } satisfies MemoryReading));
    });
  })
    .listen(path)
    .unref();
}
