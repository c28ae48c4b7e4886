import { setTimeout as sleep } from 'node:timers/promises';
import type { tasks as generatorTasks } from '../bench/generator.ts';
import { cpuSecondsOf } from '../bench/measure.ts';
import { requestBytes } from '../bench/raw-http.ts';
import { Worker } from '../bench/workers.ts';
import type { ServerProcess } from '../helpers/process.ts';
import type { Person } from './demo.ts';
import type { Fared } from './felt.ts';
import { faredIn, type Neighbours, type Spell } from './neighbours.ts';
import { hostHeader } from './requests.ts';

/**
 * Duration of one burst of requests, in seconds. After each burst, the amount of work done so far is compared with the intended
 * amount.
 */
const STRETCH_SECONDS = 0.1;
/**
 * Longest duration of the plain work, as a multiple of the load's duration. The limit is needed because on a busy machine the
 * plain work may never use as much CPU time as the load.
 */
const MOST_TIMES = 4;

/** CPU time that a load used on a node, and the duration of the load. */
export interface Taken {
  /** CPU time in seconds. */
  readonly cpuSeconds: number;
  readonly seconds: number;
}

/**
 * Measurements of the unaffected organization while its node handles a load (`meanwhile`), and while it handles simple requests
 * that use the same CPU time (`before`).
 */
export interface Compared {
  readonly before: Spell;
  readonly meanwhile: Spell;
  /** Resources that the load (`meanwhile`) used. */
  readonly taken: Taken;
}

/** Returns a request of a user that takes very little CPU time. */
export function plainRequest({ port, url }: ServerProcess, person: Person): Buffer {
  const { host } = hostHeader(url, person);
  const headers = { ...(host !== undefined && { Host: host }), Authorization: person.basic };
  return requestBytes({ method: 'GET', path: '/api/v1/users/me', port, headers });
}

/** Returns the measurements of the unaffected organization over several comparisons with plain work. */
export const faredBeside = (rounds: readonly Compared[]): Fared =>
  faredIn(
    rounds.map(({ before }) => before),
    rounds.map(({ meanwhile }) => meanwhile),
  );

/**
 * Simple requests to a node, sent by the organization that causes a load. They are the baseline for the effect of that load on
 * other organizations. A node has one event loop, so each request waits for all work before it, of any kind. A load may
 * therefore delay other organizations as much as simple requests that use the same CPU time, but not more.
 */
export class PlainWork implements AsyncDisposable {
  readonly #generator = new Worker<typeof generatorTasks>(`${import.meta.dirname}/../bench/generator.ts`);
  readonly #server: ServerProcess;
  readonly #requests: readonly Buffer[];

  /** @param requests One request for each client. The client repeats its request after each answer. */
  constructor(server: ServerProcess, requests: readonly Buffer[]) {
    this.#server = server;
    this.#requests = requests;
  }

  /**
   * Measures the unaffected organization during a load, then during simple requests that use the same CPU time. The simple
   * requests are sent at the beginning of a period as long as the load.
   */
  async beside(neighbours: Neighbours, load: () => Promise<unknown>): Promise<Compared> {
    const { meanwhile, taken } = await this.weigh(neighbours, load);
    const resumed = this.#cpuSeconds;
    const isEnough = () => this.#cpuSeconds - resumed >= taken.cpuSeconds;
    const before = await neighbours.during(this.#make(taken.seconds, isEnough));
    return { before, meanwhile, taken };
  }

  /** Measures the unaffected organization during a load, and the CPU time of the load. */
  async weigh(neighbours: Neighbours, load: () => Promise<unknown>): Promise<Omit<Compared, 'before'>> {
    const before = this.#cpuSeconds;
    const meanwhile = await neighbours.during(load());
    const seconds = (meanwhile.until - meanwhile.since) / 1_000;
    return { meanwhile, taken: { cpuSeconds: this.#cpuSeconds - before, seconds } };
  }

  /** Makes the node use CPU time for `seconds` seconds, at the average rate of a load, by simple requests. */
  async asMuch(taken: Taken, seconds: number): Promise<void> {
    const before = this.#cpuSeconds;
    const share = taken.cpuSeconds / taken.seconds;
    await this.#spread(seconds, (elapsed) => this.#cpuSeconds - before < share * elapsed);
  }

  /** Sends `perSecond` requests a second, at even intervals, for `seconds` seconds. */
  async asMany(perSecond: number, seconds: number): Promise<void> {
    await this.#spread(seconds, (elapsed, answers) => answers < perSecond * elapsed);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#generator[Symbol.asyncDispose]();
  }

  get #cpuSeconds(): number {
    return cpuSecondsOf(this.#server.pid ?? 0);
  }

  async #make(seconds: number, isEnough: () => boolean): Promise<void> {
    const since = performance.now();
    const elapsed = () => (performance.now() - since) / 1_000;
    while (!isEnough() && elapsed() < MOST_TIMES * seconds) await this.#stretch();
    await sleep(Math.max(0, seconds - elapsed()) * 1_000);
  }

  async #spread(seconds: number, isBehind: (elapsed: number, answers: number) => boolean): Promise<void> {
    const since = performance.now();
    let answers = 0;
    for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - since) / 1_000) {
      if (isBehind(elapsed, answers)) answers += await this.#stretch();
      else await sleep(10);
    }
  }

  /** Sends requests for `STRETCH_SECONDS`. @returns Number of answers received. */
  async #stretch(): Promise<number> {
    const { port } = this.#server;
    const { answers } = await this.#generator.ask('load', {
      port,
      requests: this.#requests,
      seconds: STRETCH_SECONDS,
    });
    return answers;
  }
}
