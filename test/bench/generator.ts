// The load generator: minimal clients in a separate process.
import { cpuSeconds } from './measure.ts';
import { RawHttp } from './raw-http.ts';
import { RawSocket } from './raw-socket.ts';
import { inBatches, receiving, type Subscriber, subscribe } from './subscribers.ts';
import { work } from './workers.ts';

/** Timeout of a measured burst, in milliseconds. Every server that works needs less. */
const PATIENCE_MS = 60_000;

/** Result of one measured burst of triggers, which are requests that cause an event. */
export interface Burst {
  /** Time from the first trigger to the last delivery, in milliseconds. */
  readonly wholeMs: number;
  /** Time from the first delivery to the last, in milliseconds. */
  readonly betweenMs: number;
  /**
   * Time from the first indication that the event has happened to the last delivery, in milliseconds. `watch` and
   * `answeredFirst` describe the indications. Without one, the time starts with the first trigger.
   */
  readonly sinceSignMs: number;
  readonly deliveries: number;
  readonly bytes: number;
  /** Text of one delivery. */
  readonly sample: string;
  /** CPU time that the generator used, in seconds. */
  readonly cpuSeconds: number;
}

/** Counts deliveries and measures their times, until the expected number has arrived. */
class Arrivals {
  readonly #expected: number;
  readonly #done = Promise.withResolvers<void>();
  readonly #startedAt = performance.now();
  readonly #cpuBefore = cpuSeconds();
  #count = 0;
  #bytes = 0;
  #signAt = 0;
  #firstAt = 0;
  #lastAt = 0;
  #sample = '';

  constructor(expected: number) {
    this.#expected = expected;
  }

  sign(): void {
    this.#signAt ||= performance.now();
  }

  add(bytes: Buffer, start: number, end: number): void {
    if (this.#count === 0) {
      this.#firstAt = performance.now();
      this.#sample = bytes.toString('utf8', start, end);
    }
    this.#count++;
    this.#bytes += end - start;
    if (this.#count === this.#expected) {
      this.#lastAt = performance.now();
      this.#done.resolve();
    }
  }

  async result(): Promise<Burst> {
    const late = setTimeout(
      () => this.#done.reject(new Error(`Only ${this.#count} of ${this.#expected} deliveries arrived`)),
      PATIENCE_MS,
    );
    await this.#done.promise.finally(() => clearTimeout(late));
    return {
      wholeMs: this.#lastAt - this.#startedAt,
      betweenMs: this.#lastAt - this.#firstAt,
      sinceSignMs: this.#lastAt - (this.#signAt || this.#startedAt),
      deliveries: this.#count,
      bytes: this.#bytes,
      sample: this.#sample,
      cpuSeconds: cpuSeconds() - this.#cpuBefore,
    };
  }
}

const sockets = new Map<string, RawSocket[]>();
const waiting = new Map<string, RawHttp[]>();
const triggers = new Map<number, RawHttp[]>();
/** Sockets whose deliveries only indicate that an event has happened. They do not count as deliveries of the burst. */
const watchers = new WeakSet<RawSocket>();
let arrivals: Arrivals | undefined;
/** Number that makes each request different from all others. */
let count = 0;

const hear = receiving((socket, bytes, start, end) => {
  if (watchers.has(socket)) arrivals?.sign();
  else arrivals?.add(bytes, start, end);
});

interface Triggers {
  readonly port: number;
  readonly triggers: readonly Buffer[];
  readonly inFlight: number;
  /**
   * Whether the server answers a trigger before it sends the deliveries. If so, the answer indicates that the event has
   * happened.
   */
  readonly answeredFirst?: boolean;
}

async function triggerAll({ port, triggers: requests, inFlight, answeredFirst = false }: Triggers): Promise<void> {
  const connections = triggers.get(port) ?? [];
  while (connections.length < inFlight) connections.push(await RawHttp.connect(port));
  triggers.set(port, connections);
  let next = 0;
  const run = async (connection: RawHttp) => {
    for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
      const { status, body } = await connection.ask(Buffer.from(request));
      if (answeredFirst) arrivals?.sign();
      if (status < 200 || status > 299) throw new Error(`The trigger was answered with ${status}: ${body}`);
    }
  };
  await Promise.all(connections.slice(0, inFlight).map(run));
}

export const tasks = {
  /** Opens a set of sockets. Sockets to the service authenticate and subscribe. Sockets to a yardstick server only receive. */
  async listen(input: {
    set: string;
    port: number;
    query: string;
    subscribers: readonly Subscriber[];
    silent?: number;
  }): Promise<void> {
    const { set, port, query, subscribers, silent = 0 } = input;
    const bare = Array.from({ length: silent }, () => port);
    const opened = [
      ...(await inBatches(subscribers, (subscriber) => subscribe({ port, query, onText: hear }, subscriber))),
      ...(await inBatches(bare, () => RawSocket.connect(port, '/', hear))),
    ];
    sockets.set(set, [...(sockets.get(set) ?? []), ...opened]);
  },

  /** Opens a socket whose deliveries only indicate that an event has happened, and are not counted. */
  async watch(input: { set: string; port: number; query: string; subscriber: Subscriber }): Promise<void> {
    const { port, query, subscriber } = input;
    const socket = await subscribe({ port, query, onText: hear }, subscriber);
    watchers.add(socket);
    sockets.set(input.set, [socket]);
  },

  /** Opens connections for long polls, and stores them under the name of the set. */
  async connect({ set, port, count }: { set: string; port: number; count: number }): Promise<void> {
    const ports = Array.from({ length: count }, () => port);
    waiting.set(set, await inBatches(ports, (to) => RawHttp.connect(to)));
  },

  /** Sends one long poll on each connection of the set. */
  poll({ set, requests }: { set: string; requests: readonly Buffer[] }): void {
    for (const [i, connection] of (waiting.get(set) ?? []).entries()) {
      connection.onAnswer = (bytes, bodyAt) => arrivals?.add(bytes, bodyAt, bytes.length);
      connection.send(Buffer.from(requests[i] as Buffer));
    }
  },

  /** Sends the triggers, at most `inFlight` at a time, and waits until all deliveries that they cause have arrived. */
  async burst(input: Triggers & { expected: number }): Promise<Burst> {
    arrivals = new Arrivals(input.expected);
    const [result] = await Promise.all([arrivals.result(), triggerAll(input)]);
    return result;
  },

  /** Sends triggers one at a time. @returns The time from each trigger to the delivery that it causes, in milliseconds. */
  async delays(input: { port: number; triggers: readonly Buffer[]; pauseMs: number }): Promise<number[]> {
    const delays: number[] = [];
    for (const trigger of input.triggers) {
      const { wholeMs } = await tasks.burst({ port: input.port, triggers: [trigger], inFlight: 1, expected: 1 });
      delays.push(wholeMs);
      await new Promise((resolve) => setTimeout(resolve, input.pauseMs));
    }
    return delays;
  },

  /**
   * Repeats a request on each connection, each time after the answer to the previous one. If the request contains the text
   * `counted`, it is replaced by a number with as many digits. That number differs in every request.
   */
  async load(input: { port: number; requests: readonly Buffer[]; seconds: number; counted?: string }) {
    const { port, requests, seconds, counted = '' } = input;
    const connections = await inBatches(requests, () => RawHttp.connect(port));
    const cpuBefore = cpuSeconds();
    const startedAt = performance.now();
    const endAt = startedAt + seconds * 1000;
    const took: number[] = [];
    let sample: { head: string; body: string } | undefined;
    const runs = connections.map((connection, i) => {
      const request = Buffer.from(requests[i] as Buffer);
      const countedAt = counted === '' ? -1 : request.indexOf(counted);
      const next = (): Buffer => {
        if (countedAt !== -1) request.write(String(count++).padStart(counted.length, '0'), countedAt);
        return request;
      };
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      let sentAt = performance.now();
      connection.onAnswer = (bytes, bodyAt) => {
        const now = performance.now();
        took.push(now - sentAt);
        if (bytes.toString('latin1', 9, 12) !== '200') return reject(new Error(bytes.toString('utf8')));
        if (i === 0) {
          sample ??= { head: bytes.toString('latin1', 0, bodyAt), body: bytes.toString('utf8', bodyAt) };
        }
        if (now >= endAt) return resolve();
        sentAt = now;
        connection.send(next());
      };
      connection.send(next());
      return promise;
    });
    await Promise.all(runs);
    const elapsed = (performance.now() - startedAt) / 1000;
    for (const connection of connections) connection.close();
    return {
      seconds: elapsed,
      perSecond: took.length / elapsed,
      answers: took.length,
      took: percentiles(took),
      sample: sample as { head: string; body: string },
      cpuSeconds: cpuSeconds() - cpuBefore,
    };
  },

  /** Closes the sockets or connections of a set. */
  close({ set }: { set: string }): void {
    for (const socket of sockets.get(set) ?? []) socket.close();
    for (const connection of waiting.get(set) ?? []) connection.close();
    sockets.delete(set);
    waiting.delete(set);
  },
};

function percentiles(took: number[]): { p50: number; p95: number; p99: number } {
  const sorted = Float64Array.from(took).sort();
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

work(tasks);
