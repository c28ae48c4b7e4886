// Loaded into the server under trial, beside the service (--import): tells what memory it holds after garbage was collected.
import { createServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What the probe answers, in bytes. */
export interface MemoryReading {
  /** Of JavaScript objects that are in use. */
  readonly heap: number;
  /** What such objects hold outside the heap; of an embedded database all its memory. */
  readonly external: number;
  /** Of the process, as the system counts it. */
  readonly rss: number;
  /** What was added to the prototype of all objects: nothing should be. */
  readonly polluted: readonly string[];
}

const path = process.env['FUZZ_PROBE'];
if (path !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  createServer((connection) => {
    connection.on('error', () => {}).resume();
    // The first finds what finalisers let go of, the second takes it.
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
