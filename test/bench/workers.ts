import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** Functions that a worker process can run, by name. */
export type Tasks = Readonly<Record<string, (input: never) => unknown>>;

interface Question {
  readonly number: number;
  readonly task: string;
  readonly input: unknown;
}

interface Reply {
  readonly number: number;
  readonly result?: unknown;
  readonly error?: string;
}

/**
 * A child process of the benchmark, which runs tasks on request. It competes for the processor cores as any other process does.
 */
export class Worker<T extends Tasks> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;

  /** @param path A module that calls `work` with the tasks `T`. */
  constructor(path: string) {
    this.#child = fork(path, { execArgv: ['--disable-warning=ExperimentalWarning'], serialization: 'advanced' });
    this.#child.on('message', ({ number, result, error }: Reply) => {
      const waiting = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error));
    });
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`${path} ended with ${code}`));
    });
  }

  /** Runs a task in the child process and resolves with its result. */
  ask<N extends keyof T & string>(task: N, input: Parameters<T[N]>[0]): Promise<Awaited<ReturnType<T[N]>>> {
    const number = ++this.#asked;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(number, waiting);
    this.#child.send({ number, task, input } satisfies Question);
    return waiting.promise as Promise<Awaited<ReturnType<T[N]>>>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** Makes this process a worker: it runs `tasks` on request and exits when its parent process disconnects. */
export function work<T extends Tasks>(tasks: T): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async ({ number, task, input }: Question) => {
    const run = tasks[task] as ((input: unknown) => unknown) | undefined;
    try {
      if (run === undefined) throw new Error(`No such task: ${task}`);
      process.send?.({ number, result: await run(input) } satisfies Reply);
    } catch (error) {
      process.send?.({ number, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
}
