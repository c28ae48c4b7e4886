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

/** How long requests are made before it is looked whether they are enough. */
const STRETCH_SECONDS = 0.1;
/** Where a machine is so busy that there is no end of it. */
const MOST_TIMES = 4;

/** What some work took of a node. */
export interface Taken {
  /** Processor time. */
  readonly cpuSeconds: number;
  readonly seconds: number;
}

/** How neighbours fared beside plain work, and beside a load that takes as much of their node. */
export interface Compared {
  readonly before: Spell;
  readonly meanwhile: Spell;
  /** By the load. */
  readonly taken: Taken;
}

/** A request of somebody that costs next to nothing. */
export function plainRequest({ port, url }: ServerProcess, person: Person): Buffer {
  const { host } = hostHeader(url, person);
  const headers = { ...(host !== undefined && { Host: host }), Authorization: person.basic };
  return requestBytes({ method: 'GET', path: '/api/v1/users/me', port, headers });
}

/** How neighbours fared in several rounds. */
export const faredBeside = (rounds: readonly Compared[]): Fared =>
  faredIn(
    rounds.map(({ before }) => before),
    rounds.map(({ meanwhile }) => meanwhile),
  );

/**
 * Plain requests to a node, of the organisation that brings a load: work that is no burden to others by design. A load that
 * takes processor time by its nature is compared with as much of it, since there is one event loop for all, and whoever
 * comes to it waits for what is before them, whatever that is.
 */
export class PlainWork implements AsyncDisposable {
  readonly #generator = new Worker<typeof generatorTasks>(`${import.meta.dirname}/../bench/generator.ts`);
  readonly #server: ServerProcess;
  readonly #requests: readonly Buffer[];

  /** @param requests One for each client, who makes it again when it is answered. */
  constructor(server: ServerProcess, requests: readonly Buffer[]) {
    this.#server = server;
    this.#requests = requests;
  }

  /** Has neighbours fare beside a load, and then beside as much plain work, made as early as it can be, in as long a time. */
  async beside(neighbours: Neighbours, load: () => Promise<unknown>): Promise<Compared> {
    const { meanwhile, taken } = await this.weigh(neighbours, load);
    const resumed = this.#cpuSeconds;
    const isEnough = () => this.#cpuSeconds - resumed >= taken.cpuSeconds;
    const before = await neighbours.during(this.#make(taken.seconds, isEnough));
    return { before, meanwhile, taken };
  }

  /** Has neighbours fare beside a load, and says what it takes. */
  async weigh(neighbours: Neighbours, load: () => Promise<unknown>): Promise<Omit<Compared, 'before'>> {
    const before = this.#cpuSeconds;
    const meanwhile = await neighbours.during(load());
    const seconds = (meanwhile.until - meanwhile.since) / 1_000;
    return { meanwhile, taken: { cpuSeconds: this.#cpuSeconds - before, seconds } };
  }

  /** Takes as much of the node as something did, evenly, for so many seconds. */
  async asMuch(taken: Taken, seconds: number): Promise<void> {
    const before = this.#cpuSeconds;
    const share = taken.cpuSeconds / taken.seconds;
    await this.#spread(seconds, (elapsed) => this.#cpuSeconds - before < share * elapsed);
  }

  /** Makes so many requests a second, evenly, for so many seconds. */
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

  /** @returns How many requests were answered. */
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
