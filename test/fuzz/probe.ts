// Module that is loaded into the tested server with --import. On request, it empties the bounded caches, collects garbage and
// reports the memory of the server.
import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { emptyCaches } from './caches.ts';

/** Memory of the server after a garbage collection. Sizes are in bytes. */
export interface MemoryReading {
  /** Size of the JavaScript objects that are in use, without those that only a bounded cache held. */
  readonly heap: number;
  /** Size of the JavaScript objects that only bounded caches and log tails held, before these were emptied. */
  readonly cached: number;
  /** Memory outside the JavaScript heap that belongs to JavaScript objects. It includes all memory of an embedded database. */
  readonly external: number;
  /** Resident memory of the process. */
  readonly rss: number;
  /** Names of properties that were added to `Object.prototype`. Must be empty. */
  readonly polluted: readonly string[];
}

const path = process.env['FUZZ_PROBE'];
if (path !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  /** Collects garbage. The first collection runs finalizers, and the second frees the memory that they released. */
  const measure = async (): Promise<NodeJS.MemoryUsage> => {
    collect();
    await turn();
    collect();
    return process.memoryUsage();
  };
  const read = async (): Promise<MemoryReading> => {
    const { heapUsed: full } = await measure();
    await emptyCaches();
    const { heapUsed, external, rss } = await measure();
    return { heap: heapUsed, cached: full - heapUsed, external, rss, polluted: Object.keys(Object.prototype) };
  };
  createServer((connection) => {
    connection.on('error', () => {}).resume();
    read().then(
      (reading) => connection.end(JSON.stringify(reading)),
      (error: unknown) => connection.end(JSON.stringify({ failure: String(error) })),
    );
  })
    .listen(path)
    .unref();
}
