// Sockets of many users in a separate process. It records which messages each socket receives, and when the last socket
// receives each.
import { setTimeout as sleep } from 'node:timers/promises';
import type { RawSocket } from '../bench/raw-socket.ts';
import { inBatches, receiving, type Subscriber, subscribe } from '../bench/subscribers.ts';
import { work } from '../bench/workers.ts';

/**
 * Texts around the number in a delivered message of a `SequentialSender`. `MARK` is the text before the number, `END` the byte
 * after it.
 */
const [MARK, END] = ['"content":"sent ', 0x2e];

/** Deliveries of one message to the sockets. */
export interface Arrival {
  /** Number of sockets that have received the message. */
  readonly count: number;
  /** Time of the last delivery so far, in milliseconds since the UNIX epoch, so that other processes can use it. */
  readonly lastAt: number;
}

/** Numbers of differences between the messages that all sockets received and the messages that they should have received. */
export interface ReceiptFaults {
  readonly lost: number;
  readonly repeated: number;
  readonly outOfOrder: number;
  /** Number of messages that a socket received but should not have received. */
  readonly strange: number;
}

const sockets: RawSocket[] = [];
const heard = new Map<RawSocket, number[]>();
const arrivals = new Map<number, Arrival>();

const onText = receiving((socket, bytes, start, end) => {
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

function compare(own: readonly number[], places: ReadonlyMap<number, number>): ReceiptFaults {
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

  /** Waits until a message has reached all sockets, at most `patienceMs` milliseconds. @returns The deliveries so far. */
  async arrival({ number, patienceMs }: { number: number; patienceMs: number }): Promise<Arrival> {
    const deadline = performance.now() + patienceMs;
    while ((arrivals.get(number)?.count ?? 0) < sockets.length && performance.now() < deadline) await sleep(5);
    return arrivals.get(number) ?? { count: 0, lastAt: Number.POSITIVE_INFINITY };
  },

  /** Returns the deliveries of all messages, by the number of the message. */
  arrivals: (): ReadonlyMap<number, Arrival> => arrivals,

  /**
   * Compares the messages that each socket received with those it should have received. @param numbers Numbers of these
   * messages, in the order of the log.
   */
  compare({ numbers }: { numbers: readonly number[] }): ReceiptFaults {
    const places = new Map(numbers.map((number, place) => [number, place]));
    const all = sockets.map((socket) => compare(heard.get(socket) ?? [], places));
    const sum = (name: keyof ReceiptFaults) => all.reduce((total, one) => total + one[name], 0);
    return {
      lost: sum('lost'),
      repeated: sum('repeated'),
      outOfOrder: sum('outOfOrder'),
      strange: sum('strange'),
    };
  },
};

work(tasks);
