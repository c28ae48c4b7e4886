import { randomUUID } from 'node:crypto';
import { type OnText, RawSocket } from './raw-socket.ts';

/** How many connections are opened at a time. */
const AT_ONCE = 64;

/** A queue that is read over a socket. */
export interface Subscriber {
  readonly authorization: string;
  readonly queueId: string;
  /** The Host header; absent: the address itself, where the demo organisation is. */
  readonly host?: string | undefined;
}

/** Told of each message that is no delivery, for those who wait for it. */
const onProtocol = new WeakMap<RawSocket, (type: string) => void>();

/** Does the same for each of many, some at a time. */
export async function inBatches<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(i, i + AT_ONCE).map(run))));
  }
  return results;
}

/** What a socket does with what comes: deliveries are handed on, messages of the protocol answered. */
export const hearing =
  (onDelivery: OnText): OnText =>
  (socket, bytes, start, end) => {
    // Messages of the protocol begin with {"type", deliveries with {"id".
    if (bytes[start + 2] !== 0x74) return onDelivery(socket, bytes, start, end);
    const { type, payload } = JSON.parse(bytes.toString('utf8', start, end)) as { type: string; payload?: unknown };
    if (type === 'ping') socket.send(JSON.stringify({ type: 'pong', payload }));
    else onProtocol.get(socket)?.(type);
  };

/** Opens a socket, signs in and subscribes. @param onText From `hearing`. */
export async function subscribe(
  { port, query, onText }: { readonly port: number; readonly query: string; readonly onText: OnText },
  { authorization, queueId, host }: Subscriber,
): Promise<RawSocket> {
  const socket = await RawSocket.connect(port, '/graphql', onText, host);
  const acknowledged = new Promise<void>((resolve) => {
    onProtocol.set(socket, (type) => type === 'connection_ack' && resolve());
  });
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization } }));
  await acknowledged;
  const payload = { query, variables: { queueId } };
  socket.send(JSON.stringify({ id: randomUUID(), type: 'subscribe', payload }));
  return socket;
}
