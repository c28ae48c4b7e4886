import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';

const SOURCES = new URL('../../src/', import.meta.url);

/** A function of `src` that ran, for example `messages/sending/send.ts:58 sendMessage`. */
export interface ExecutedFunction {
  /** Path in `src`. */
  readonly file: string;
  readonly line: number;
  /** Name of the function. Empty if the function has no name. */
  readonly name: string;
}

/**
 * Records which functions of `src` run in this process, by the coverage of V8. Functions of modules outside `src`, and modules
 * that are imported meanwhile, are not included.
 */
export class FunctionRecorder implements Disposable {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** Forgets the functions that ran so far. */
  clear(): void {
    this.#session.post('Profiler.takePreciseCoverage');
  }

  /** Returns the functions that ran since the last call, in the order of their files and lines. Synchronous. */
  take(): ExecutedFunction[] {
    const executed: ExecutedFunction[] = [];
    let failure: Error | null = null;
    this.#session.post('Profiler.takePreciseCoverage', (error, reply) => {
      failure = error;
      for (const { url, functions } of (reply?.result ?? []).filter((script) => script.url.startsWith(SOURCES.href))) {
        const source = readFileSync(fileURLToPath(url), 'utf8');
        for (const { functionName: name, ranges } of functions) {
          const [{ count, startOffset } = { count: 0, startOffset: 0 }] = ranges;
          if (count === 0) continue;
          const line = source.slice(0, startOffset).split('\n').length;
          executed.push({ file: url.slice(SOURCES.href.length), line, name });
        }
      }
    });
    if (failure !== null) throw failure;
    return executed.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  }

  [Symbol.dispose](): void {
    this.#session.disconnect();
  }
}
