// Sockets of many people, in a process of their own: which messages each of them hears, and when the last of them does.
import { setTimeout as sleep } from 'node:timers/promises';
import type { RawSocket } from '../bench/raw-socket.ts';
import { hearing, inBatches, type Subscriber, subscribe } from '../bench/subscribers.ts';
import { work } from '../bench/workers.ts';

/** What a delivery has of a message that a `Sender` sent, before its number, and after. */
const [MARK, END] = ['"content":"sent ', 0x2e];

/** How a message came to the sockets. */
export interface Arrival {
  /** To how many of them. */
  readonly count: number;
  /** When it came to the last so far, in milliseconds, by a clock that all processes have. */
  readonly lastAt: number;
}

/** What is wrong with what all sockets heard together. */
export interface Misheard {
  readonly lost: number;
  readonly repeated: number;
  readonly outOfOrder: number;
  /** What was not for them. */
  readonly strange: number;
}

const sockets: RawSocket[] = [];
const heard = new Map<RawSocket, number[]>();
const arrivals = new Map<number, Arrival>();

const onText = hearing((socket, bytes, start, end) => {
  const delivery = bytes.subarray(start, end);
  const at = delivery.indexOf(MARK);
  if (at === -1) return;
  let number = 0;
  for (let i = at + MARK.length; delivery[i] !== END; i++) number = number * 10 + ((delivery[i] as number) - 0x30);
  const own = heard.get(socket);
  if (own === undefined) heard.set(socket, [number]);
  else own.push(number);
  const count = (arrivals.get(number)?.count ?? 0) + 1;
  arrivals.set(number, { count, lastAt: performance.timeOrigin + performance.now() });
});

function compare(own: readonly number[], places: ReadonlyMap<number, number>): Misheard {
  const known = own.map((number) => places.get(number)).filter((place) => place !== undefined);
  const once = new Set(known);
  return {
    lost: places.size - once.size,
    repeated: known.length - once.size,
    outOfOrder: known.filter((place, i) => place < (known[i - 1] ?? 0)).length,
    strange: own.length - known.length,
  };
}

export const tasks = {
  async open(input: { port: number; query: string; subscribers: readonly Subscriber[] }): Promise<void> {
    const { port, query, subscribers } = input;
    sockets.push(...(await inBatches(subscribers, (subscriber) => subscribe({ port, query, onText }, subscriber))));
  },

  /** Waits until a message has come to all sockets, but not for ever. */
  async arrival({ number, patienceMs }: { number: number; patienceMs: number }): Promise<Arrival> {
    const deadline = performance.now() + patienceMs;
    while ((arrivals.get(number)?.count ?? 0) < sockets.length && performance.now() < deadline) await sleep(5);
    return arrivals.get(number) ?? { count: 0, lastAt: Number.POSITIVE_INFINITY };
  },

  /** All messages, by their numbers. */
  arrivals: (): ReadonlyMap<number, Arrival> => arrivals,

  /** @param numbers Of the messages that each socket was to hear, in their order in the log. */
  compare({ numbers }: { numbers: readonly number[] }): Misheard {
    const places = new Map(numbers.map((number, place) => [number, place]));
    const all = sockets.map((socket) => compare(heard.get(socket) ?? [], places));
    const sum = (name: keyof Misheard) => all.reduce((total, one) => total + one[name], 0);
    return {
      lost: sum('lost'),
      repeated: sum('repeated'),
      outOfOrder: sum('outOfOrder'),
      strange: sum('strange'),
    };
  },
};

work(tasks);
