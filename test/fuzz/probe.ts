// Module that is loaded into the tested server with --import. It reports the server's memory after a garbage collection.
import { createServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Answer of the probe. Sizes are in bytes. */
export interface MemoryReading {
  /** Size of the JavaScript objects that are in use. */
  readonly heap: number;
  /** Memory outside the JavaScript heap that belongs to JavaScript objects. It includes all memory of an embedded database. */
  readonly external: number;
  /** Resident memory of the process. */
  readonly rss: number;
  /** Names that were added to `Object.prototype`. Must be empty. */
  readonly polluted: readonly string[];
}

const path = process.env['FUZZ_PROBE'];
if (path !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  createServer((connection) => {
    connection.on('error', () => {}).resume();
    // The first collection runs finalizers. The second frees the memory that they released.
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
