import { setTimeout as sleep } from 'node:timers/promises';
import { type DemoService, type Person, startDemo } from './demo.ts';
import { addUp, type Broken, type Fared, longestBetween } from './felt.ts';
import { NamedCounters, some } from './outcome.ts';
import { Client, type ClientReply, CutOffError } from './requests.ts';
import type { Query } from './truth.ts';

/** Pause between two sends of each client of the unaffected organization, in milliseconds. */
const PAUSE_MS = 30;
const WARM_UP_MS = 2_000;
/**
 * Longest accepted p95 of the duration of the unaffected organization's requests, in milliseconds. Requests that wait for the
 * affected organization take longer.
 */
export const MOST_MS = 2_500;

let made = 0;

export interface SenderOptions {
  /** Text appended to each message. */
  readonly more?: string;
  /**
   * Whether a proxy that reloads its configuration is in front of the service. It closes connections that are kept alive, also
   * those on which a request is arriving, so requests without an answer are then no failures.
   */
  readonly isBehindReloads?: boolean;
}

/** A user who sends messages to a channel, one at a time. */
export class SequentialSender {
  readonly #client: Client;
  readonly channelId: number;
  readonly #more: string;
  /** Numbers of requests by their result, which is a status and error code: "200", "503 REQUEST_TIMEOUT", … */
  readonly ends = new NamedCounters();
  readonly failures: string[] = [];
  /** Duration of each answered request, in milliseconds. */
  took: number[] = [];
  /** Time of each acknowledgement, by `performance.now()`. */
  readonly acknowledgedAt: number[] = [];
  /** Contents of the messages that the service acknowledged. `refused` has the contents of those that it refused. */
  readonly acknowledged: string[] = [];
  readonly refused: string[] = [];
  done = 0;
  readonly #isBehindReloads: boolean;

  private constructor(client: Client, channelId: number, { more = '', isBehindReloads = false }: SenderOptions) {
    this.#client = client;
    this.channelId = channelId;
    this.#more = more;
    this.#isBehindReloads = isBehindReloads;
  }

  /** Subscribes a user to the channel to which the sender sends. */
  static async start(url: string, person: Person, options: SenderOptions = {}): Promise<SequentialSender> {
    const client = new Client(url, person);
    await client.ask('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'stuck' }] });
    const { stream_id } = await client.ask('GET', '/get_stream_id', { stream: 'stuck' });
    return new SequentialSender(client, stream_id, options);
  }

  /** Sends one message. @returns Id of the message. Undefined if the service refused it. */
  async send(): Promise<number | undefined> {
    const content = `sent ${++made}.`;
    const params = { type: 'channel', to: this.channelId, topic: 'stuck', content: `${content}${this.#more}` };
    const reply = await this.#note(() => this.#client.rest('POST', '/messages', params));
    // If the connection ended before the answer, the message may have been sent or not.
    if (reply === undefined) return undefined;
    if (reply.status !== 200) {
      this.refused.push(content);
      return undefined;
    }
    this.acknowledged.push(content);
    return reply.body.id;
  }

  async edit(messageId: number): Promise<void> {
    // `compareSent` finds the message by the beginning of its content, which this edit does not change.
    const content = `${this.acknowledged.at(-1)} As of ${this.done}`;
    await this.#note(() => this.#client.rest('PATCH', `/messages/${messageId}`, { content }));
  }

  /** Returns the reply. Undefined if the connection ended before it was complete. */
  async #note(act: () => Promise<ClientReply>): Promise<ClientReply | undefined> {
    const startedAt = performance.now();
    const reply = await act().catch((error: unknown) => {
      if (error instanceof CutOffError) return error;
      throw error;
    });
    if (reply instanceof CutOffError) {
      this.ends.add('cut off');
      if (!this.#isBehindReloads) this.failures.push(String(reply));
      return undefined;
    }
    const { status, body } = reply;
    this.took.push(performance.now() - startedAt);
    this.ends.add(status === 200 ? '200' : `${status} ${body?.code}`);
    if (status === 200) {
      this.done++;
      this.acknowledgedAt.push(performance.now());
    } else if (status !== 503 || body?.code !== 'REQUEST_TIMEOUT' || !(body['retry-after'] > 0)) {
      this.failures.push(`${status} ${JSON.stringify(body)}`);
    }
    return reply;
  }

  async until(isOver: () => boolean, { pauseMs }: { pauseMs: number }): Promise<void> {
    while (!isOver()) {
      await this.send();
      await sleep(pauseMs);
    }
  }

  close(): void {
    this.#client.close();
  }
}

/** Compares the messages in the database with the acknowledgements and refusals of the senders' requests. */
export async function compareSent(query: Query, senders: readonly SequentialSender[]): Promise<Broken> {
  const rows = (await query(
    `SELECT substring(content FROM '^sent \\d+\\.') AS content, id::float8 AS id FROM message
     WHERE content LIKE 'sent %' ORDER BY id`,
    [],
  )) as { readonly content: string; readonly id: number }[];
  const ids = Map.groupBy(rows, ({ content }) => content);
  return addUp(
    senders.map(({ acknowledged, refused }) => {
      const order = acknowledged.map((content) => ids.get(content)?.[0]?.id ?? 0).filter((id) => id > 0);
      return {
        lost: acknowledged.filter((content) => !ids.has(content)).length,
        repeated: acknowledged.filter((content) => (ids.get(content)?.length ?? 0) > 1).length,
        outOfOrder: order.filter((id, i) => id < (order[i - 1] ?? 0)).length,
        refusedButDone: refused.filter((content) => ids.has(content)).length,
      };
    }),
  );
}

/**
 * Returns a sentence for each kind of violation with a number above 0. @param what Plural noun for the sent objects, for the
 * report.
 */
export const brokenBy = ({ lost, repeated, outOfOrder, refusedButDone }: Broken, what = 'messages'): string[] => [
  ...(lost > 0 ? [`${lost} ${what} were acknowledged but are missing`] : []),
  ...(repeated > 0 ? [`${repeated} ${what} exist more than once`] : []),
  ...(outOfOrder > 0 ? [`${outOfOrder} ${what} precede an earlier one of the same sender`] : []),
  ...(refusedButDone > 0 ? [`${refusedButDone} ${what} were refused but exist`] : []),
];

/** Options of a trial that also measures an organization which the fault must not affect. */
export interface WatchedTrial {
  readonly databaseServer: string;
  /**
   * Duration of the measurement before the fault, in seconds. The measurement during the fault is as long, unless it ends by
   * itself.
   */
  readonly seconds: number;
  /** Whether durations are compared with their limits. On a busy machine, the result is not conclusive. */
  readonly isTimed: boolean;
}

/** Returns how often each result of a request occurred, over all senders. */
export function endsOf(senders: readonly SequentialSender[]): NamedCounters {
  const ends = new NamedCounters();
  for (const sender of senders) ends.take(sender.ends);
  return ends;
}

/** Durations of sends during a period, in milliseconds. */
export interface Spell {
  /** Durations of all sends. */
  readonly took: readonly number[];
  /** Longest time without an acknowledgement, in milliseconds. */
  readonly gap: number;
  /** Beginning (`since`) and end (`until`) of the period, by `performance.now()`. */
  readonly since: number;
  readonly until: number;
}

/** Returns the 95th percentile of the durations of all sends, in milliseconds. */
export function p95Of(spells: readonly Spell[]): number {
  const took = spells.flatMap((spell) => spell.took).sort((a, b) => a - b);
  return took[Math.floor(took.length * 0.95)] ?? Number.POSITIVE_INFINITY;
}

/** Returns the measurements of the unaffected organization without the fault (`before`) and with it (`meanwhile`). */
export const faredIn = (before: readonly Spell[], meanwhile: readonly Spell[]): Fared => ({
  before: p95Of(before),
  meanwhile: p95Of(meanwhile),
  gap: Math.max(...meanwhile.map(({ gap }) => gap)),
});

/**
 * An independent service on the same machine. Killing and starting it affects other services only through the load on the
 * machine. It is the baseline for trials that kill the tested service.
 */
export class Stranger implements AsyncDisposable {
  readonly #service: DemoService;

  private constructor(service: DemoService) {
    this.#service = service;
  }

  static async start(databaseServer: string | undefined): Promise<Stranger> {
    return new Stranger(await startDemo(databaseServer));
  }

  /** Kills the service with kill -9 and starts it again. */
  async fall(): Promise<void> {
    await this.#service.server.kill9();
    await this.#service.server.restart();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#service[Symbol.asyncDispose]();
  }
}

/** Measures the unaffected organization while the process of an independent service is killed and restarted, `times` times. */
export async function besideStranger(
  neighbours: Neighbours,
  databaseServer: string | undefined,
  times: number,
): Promise<Spell[]> {
  await using stranger = await Stranger.start(databaseServer);
  const spells: Spell[] = [];
  while (spells.length < times) spells.push(await neighbours.during(stranger.fall()));
  return spells;
}

/**
 * Another organization on a running node, which the fault must not affect. Three senders send continuously, and a client polls
 * /readyz.
 */
export class Neighbours {
  readonly #url: string;
  readonly senders: readonly SequentialSender[];
  readonly notReady: string[] = [];

  private constructor(url: string, senders: readonly SequentialSender[]) {
    this.#url = url;
    this.senders = senders;
  }

  static async start(url: string, person: Person, options: SenderOptions = {}): Promise<Neighbours> {
    const senders: SequentialSender[] = [];
    while (senders.length < 3) senders.push(await SequentialSender.start(url, person, options));
    const neighbours = new Neighbours(url, senders);
    // Warms up the JIT compiler, because slow first requests would distort the baseline.
    await neighbours.during(sleep(WARM_UP_MS));
    return neighbours;
  }

  get ends(): NamedCounters {
    const ends = new NamedCounters();
    for (const sender of this.senders) ends.take(sender.ends);
    return ends;
  }

  /** Sends messages and polls /readyz until `work` is done. @returns The measurements of this period. */
  async during(work: Promise<unknown>): Promise<Spell> {
    let isOver = false;
    for (const sender of this.senders) sender.took = [];
    const since = performance.now();
    const running = [
      ...this.senders.map((sender) => sender.until(() => isOver, { pauseMs: PAUSE_MS })),
      this.#askWhetherReady(() => isOver),
    ];
    await work.finally(() => {
      isOver = true;
    });
    await Promise.all(running);
    const moments = this.senders.flatMap((sender) => sender.acknowledgedAt);
    const took = this.senders.flatMap((sender) => sender.took);
    return { took, gap: longestBetween(moments, since), since, until: performance.now() };
  }

  async #askWhetherReady(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const response = await fetch(`${this.#url}/readyz`, { headers: { connection: 'close' } });
      const text = await response.text();
      if (response.status !== 200) this.notReady.push(text.trim());
      await sleep(100);
    }
  }

  /**
   * Returns the violations in the measurements of the unaffected organization, one sentence each.
   *
   * @param options.isTimed Whether durations are compared with their limits. On a busy machine, the result is not conclusive.
   */
  complaints(fared: Fared, options: { readonly isTimed: boolean }): string[] {
    const failures = this.senders.flatMap((sender) => sender.failures);
    return [
      ...(failures.length > 0 ? [`requests of neighbours failed: ${some(failures)}`] : []),
      ...(this.notReady.length > 0 ? [`the node was not ready: ${some(this.notReady)}`] : []),
      ...delaysOf('neighbours', fared, options),
    ];
  }

  close(): void {
    for (const sender of this.senders) sender.close();
  }
}

/** Returns the violations in the durations of requests that the fault must not affect, one sentence each. */
export const delaysOf = (
  who: string,
  { before, meanwhile }: Fared,
  { isTimed }: { readonly isTimed: boolean },
): string[] => [
  ...(isTimed && meanwhile > 2 * before ? [`the p95 of ${who} went from ${ms(before)} to ${ms(meanwhile)}`] : []),
  ...(meanwhile > MOST_MS ? [`${who} waited ${ms(meanwhile)}`] : []),
];

/** Formats a duration in milliseconds, rounded. */
export const ms = (time: number): string => `${Math.round(time)} ms`;

/** Returns the measurements of the unaffected organization as text, for the `facts` of a trial's outcome. */
export const neighbourFigures = (neighbours: Neighbours, { before, meanwhile }: Fared) => ({
  "neighbours' p95": `${ms(before)} before, ${ms(meanwhile)} meanwhile`,
  'sends of neighbours': neighbours.ends.toString(),
});
