import { randomUUID } from 'node:crypto';
import { type OnText, RawSocket } from './raw-socket.ts';

/** Maximum number of connections that are opened concurrently. */
const AT_ONCE = 64;

/** An event queue to read over a WebSocket, with the credentials of its owner. */
export interface Subscriber {
  readonly authorization: string;
  readonly queueId: string;
  /** Host header. Undefined: the IP address, which selects the demo organization. */
  readonly host?: string | undefined;
}

/** Callbacks for protocol messages, by socket. A protocol message is a message that is not a delivery of an event. */
const onProtocol = new WeakMap<RawSocket, (type: string) => void>();

/** Runs an async function for each item, in batches of `AT_ONCE`. */
export async function inBatches<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(i, i + AT_ONCE).map(run))));
  }
  return results;
}

/** Returns a handler that passes deliveries to `onDelivery` and replies to messages of the protocol. */
export const receiving =
  (onDelivery: OnText): OnText =>
  (socket, bytes, start, end) => {
    // Protocol messages begin with {"type", deliveries with {"id".
    if (bytes[start + 2] !== 0x74) return onDelivery(socket, bytes, start, end);
    const { type, payload } = JSON.parse(bytes.toString('utf8', start, end)) as { type: string; payload?: unknown };
    if (type === 'ping') socket.send(JSON.stringify({ type: 'pong', payload }));
    else onProtocol.get(socket)?.(type);
  };

/**
 * Opens a WebSocket, authenticates and subscribes.
 *
 * @param onText Handler that `receiving` returned.
 */
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
