import { setTimeout as sleep } from 'node:timers/promises';
import { type DemoService, type Person, startDemo } from './demo.ts';
import { addUp, type Broken, type Fared, longestBetween } from './felt.ts';
import { some, Tally } from './outcome.ts';
import { type Answer, Client } from './requests.ts';
import type { Query } from './truth.ts';

/** How long a neighbour pauses between two sends. */
const PAUSE_MS = 30;
const WARM_UP_MS = 2_000;
/** Whoever waits for the organisation that is hit waits for seconds. */
export const MOST_MS = 2_500;

let made = 0;

/** Somebody who sends to a channel of their own, one message after the other. */
export class Sender {
  readonly #client: Client;
  readonly channelId: number;
  readonly #more: string;
  /** How they ended: "200", "503 REQUEST_TIMEOUT", … */
  readonly ends = new Tally();
  readonly failures: string[] = [];
  /** How long each took that was answered, in milliseconds. */
  took: number[] = [];
  /** When each was acknowledged, by `performance.now()`. */
  readonly acknowledgedAt: number[] = [];
  /** What was sent, and what the service said that it did not send. */
  readonly acknowledged: string[] = [];
  readonly refused: string[] = [];
  done = 0;

  private constructor(client: Client, channelId: number, more: string) {
    this.#client = client;
    this.channelId = channelId;
    this.#more = more;
  }

  /** @param more What each message says besides. */
  static async start(url: string, person: Person, more = ''): Promise<Sender> {
    const client = new Client(url, person);
    await client.ask('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'stuck' }] });
    const { stream_id } = await client.ask('GET', '/get_stream_id', { stream: 'stuck' });
    return new Sender(client, stream_id, more);
  }

  /** @returns The message's id; undefined when it was refused. */
  async send(): Promise<number | undefined> {
    const content = `sent ${++made}.`;
    const params = { type: 'channel', to: this.channelId, topic: 'stuck', content: `${content}${this.#more}` };
    const body = await this.#note(() => this.#client.rest('POST', '/messages', params));
    if (body === undefined) this.refused.push(content);
    else this.acknowledged.push(content);
    return body?.id;
  }

  async edit(messageId: number): Promise<void> {
    // By its beginning it is looked for in the end.
    const content = `${this.acknowledged.at(-1)} As of ${this.done}`;
    await this.#note(() => this.#client.rest('PATCH', `/messages/${messageId}`, { content }));
  }

  async #note(act: () => Promise<Answer>): Promise<Answer['body']> {
    const startedAt = performance.now();
    const { status, body } = await act();
    this.took.push(performance.now() - startedAt);
    this.ends.add(status === 200 ? '200' : `${status} ${body?.code}`);
    if (status === 200) {
      this.done++;
      this.acknowledgedAt.push(performance.now());
    } else if (status !== 503 || body?.code !== 'REQUEST_TIMEOUT' || !(body['retry-after'] > 0)) {
      this.failures.push(`${status} ${JSON.stringify(body)}`);
    }
    return status === 200 ? body : undefined;
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

/** What is there in the end of what some people sent. */
export async function compareSent(query: Query, senders: readonly Sender[]): Promise<Broken> {
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

/** A sentence for each kind of promise that was not kept. @param what Of what kind they are. */
export const brokenBy = ({ lost, repeated, outOfOrder, refusedButDone }: Broken, what = 'messages'): string[] => [
  ...(lost > 0 ? [`${lost} ${what} were acknowledged, and are not there`] : []),
  ...(repeated > 0 ? [`${repeated} ${what} are there more than once`] : []),
  ...(outOfOrder > 0 ? [`${outOfOrder} ${what} came before an earlier one of the same sender`] : []),
  ...(refusedButDone > 0 ? [`${refusedButDone} ${what} were refused, and are there`] : []),
];

/** What a trial is given that watches the neighbours of who is hit. */
export interface WatchedTrial {
  readonly databaseServer: string;
  /** How long they are watched before and, where the fault does not end by itself, meanwhile. */
  readonly seconds: number;
  /** Whether the time that things take counts, which on a busy machine says little. */
  readonly isTimed: boolean;
}

/** How the sends of several ended, together. */
export function endsOf(senders: readonly Sender[]): Tally {
  const ends = new Tally();
  for (const sender of senders) ends.take(sender.ends);
  return ends;
}

/** How sends went for a while, in milliseconds. */
export interface Spell {
  /** How long each took. */
  readonly took: readonly number[];
  /** The longest time in which none was acknowledged. */
  readonly gap: number;
  /** From when to when, by `performance.now()`. */
  readonly since: number;
  readonly until: number;
}

/** How long 95 of 100 took at the most. */
export function p95Of(spells: readonly Spell[]): number {
  const took = spells.flatMap((spell) => spell.took).sort((a, b) => a - b);
  return took[Math.floor(took.length * 0.95)] ?? Number.POSITIVE_INFINITY;
}

/** How they fared, from what was measured without the fault and with it. */
export const faredIn = (before: readonly Spell[], meanwhile: readonly Spell[]): Fared => ({
  before: p95Of(before),
  meanwhile: p95Of(meanwhile),
  gap: Math.max(...meanwhile.map(({ gap }) => gap)),
});

/**
 * A service that has nothing to do with the one that is tried, on the same machine: what neighbours notice when that one is
 * killed and starts, they notice of the machine.
 */
export class Stranger implements AsyncDisposable {
  readonly #service: DemoService;

  private constructor(service: DemoService) {
    this.#service = service;
  }

  static async start(databaseServer: string | undefined): Promise<Stranger> {
    return new Stranger(await startDemo(databaseServer));
  }

  /** Killed with kill -9, and started again. */
  async fall(): Promise<void> {
    await this.#service.server.kill9();
    await this.#service.server.restart();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#service[Symbol.asyncDispose]();
  }
}

/** How neighbours fare while a stranger falls, so many times. */
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

/** Another organisation, on a node that runs: its people send now and then, and somebody asks the node whether it is ready. */
export class Neighbours {
  readonly #url: string;
  readonly senders: readonly Sender[];
  readonly notReady: string[] = [];

  private constructor(url: string, senders: readonly Sender[]) {
    this.#url = url;
    this.senders = senders;
  }

  static async start(url: string, person: Person): Promise<Neighbours> {
    const senders: Sender[] = [];
    while (senders.length < 3) senders.push(await Sender.start(url, person));
    const neighbours = new Neighbours(url, senders);
    // What has not run yet is slow the first times, which would pass for how it is without a fault.
    await neighbours.during(sleep(WARM_UP_MS));
    return neighbours;
  }

  get ends(): Tally {
    const ends = new Tally();
    for (const sender of this.senders) ends.take(sender.ends);
    return ends;
  }

  /** Go about their business as long as `work` lasts. */
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
      const response = await fetch(`${this.#url}/readyz`);
      const text = await response.text();
      if (response.status !== 200) this.notReady.push(text.trim());
      await sleep(100);
    }
  }

  /**
   * What is wrong with how they fared.
   *
   * @param options.isTimed Whether the time that things take counts, which on a busy machine says little.
   */
  complaints(fared: Fared, options: { readonly isTimed: boolean }): string[] {
    const failures = this.senders.flatMap((sender) => sender.failures);
    return [
      ...(failures.length > 0 ? [`neighbours were told ${some(failures)}`] : []),
      ...(this.notReady.length > 0 ? [`the node was not ready: ${some(this.notReady)}`] : []),
      ...delaysOf('neighbours', fared, options),
    ];
  }

  close(): void {
    for (const sender of this.senders) sender.close();
  }
}

/** What is wrong with how long it took those whom the fault is not to touch. */
export const delaysOf = (
  who: string,
  { before, meanwhile }: Fared,
  { isTimed }: { readonly isTimed: boolean },
): string[] => [
  ...(isTimed && meanwhile > 2 * before ? [`the p95 of ${who} went from ${ms(before)} to ${ms(meanwhile)}`] : []),
  ...(meanwhile > MOST_MS ? [`${who} waited ${ms(meanwhile)}`] : []),
];

/** A time, as it is told. */
export const ms = (time: number): string => `${Math.round(time)} ms`;

/** What a trial tells of them. */
export const toldOf = (neighbours: Neighbours, { before, meanwhile }: Fared) => ({
  "neighbours' p95": `${ms(before)} before, ${ms(meanwhile)} meanwhile`,
  'sends of neighbours': neighbours.ends.toString(),
});
