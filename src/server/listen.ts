import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, Server } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/**
 * Number of sockets that accept connections on the port. libuv accepts one connection per socket in each iteration of
 * the event loop (libuv/libuv#3696). With one socket and iterations of 10 ms, a client that opens 100 connections
 * delays the next connection of all other clients by a second.
 *
 * @see src/server/README.md#decisions
 */
const ACCEPTORS = 16;

/** A port on which the service accepts connections. */
export interface Listening {
  readonly port: number;
  /**
   * Waits until the connections that are queued in the operating system are accepted. Connections that are still queued when
   * the port closes are reset, and proxies do not retry a POST on another node after a reset.
   */
  acceptWaiting(): Promise<void>;
  /** Stops accepting connections. Resolves when all accepted connections are closed. */
  close(): Promise<void>;
}

/** The error for a configured host and port at which the service cannot listen. The message names the variable to change. */
export class UnusableAddressError extends Error {
  override name = 'UnusableAddressError';
}

/**
 * Error codes for an address at which this machine cannot listen: an unknown name, the address of another machine, or an
 * invalid address.
 */
const NOT_OURS = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL', 'EAFNOSUPPORT']);

/**
 * Checks that the service can listen at a host and port. Called before the service prepares anything else.
 *
 * @param by Names of the variables that configure the port and the host.
 * @throws UnusableAddressError if the service cannot listen there.
 */
export async function requireAddress(
  { port, host }: Readonly<{ port: number; host: string }>,
  by: Readonly<{ port: string; host: string }>,
): Promise<void> {
  try {
    await freePort(port, host);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const said = NOT_OURS.has(code)
      ? `Cannot listen at ${host} (${code}). Set ${by.host} to an address of this machine, or to 0.0.0.0 for all of ` +
        'them.'
      : REFUSED[code]?.(port, by.port);
    throw said === undefined ? error : new UnusableAddressError(said, { cause: error });
  }
}

const REFUSED: Readonly<Record<string, (port: number, by: string) => string>> = {
  EADDRINUSE: (port, by) => `Port ${port} is in use. Stop the process that uses it, or set ${by} to another port.`,
  EACCES: (port, by) => `No permission to listen at port ${port}. Set ${by} to port 1024 or higher.`,
};

/**
 * Makes a server accept connections on a port. For port 0, the operating system chooses the port.
 *
 * @throws Error with code EADDRINUSE if the port is in use.
 */
export async function listen(server: HttpServer, port: number, host: string): Promise<Listening> {
  // `reusePort` would also allow another process to share the port by mistake, so the port must be free before the sockets are
  // bound.
  const free = await freePort(port, host);
  const servers = await bindShared(server, { port: free, host });
  return {
    port: free,
    acceptWaiting: () => acceptWaiting(server),
    async close() {
      await Promise.all(servers.map(close));
    },
  };
}

/**
 * Checks that a port is free, and returns it. For port 0, the operating system chooses the port.
 *
 * A port other than 0 is checked without listening at it. Otherwise the operating system would accept connections and reset
 * them when the check ends, and proxies do not retry a POST on another node after a reset.
 *
 * @throws Error with code EADDRINUSE if the port is in use.
 */
export async function freePort(port: number, host: string): Promise<number> {
  if (port === 0) {
    const probe = createServer();
    const free = await bind(probe, { port, host });
    await close(probe);
    return free;
  }
  await requireBindable(port, (await lookup(host)).address);
  return port;
}

/**
 * Checks that a port can be bound. For this, it binds a client socket to the port, and connects the socket to a port on which
 * nothing listens. Unlike a server socket, a client socket cannot accept connections.
 *
 * @throws Error with the code of the operating system, such as EADDRINUSE, EADDRNOTAVAIL or EACCES.
 */
async function requireBindable(port: number, address: string): Promise<void> {
  const to = { host: LOOPBACK[address] ?? address, port: UNUSED_PORT };
  const socket = connect({ ...to, localAddress: address, localPort: port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
  } catch (error) {
    // Any other error means that the connection failed after the socket was bound, as expected.
    if ((error as NodeJS.ErrnoException).syscall === 'bind') throw error;
  } finally {
    socket.destroy();
  }
}

/** A port on which usually nothing listens: `tcpmux`. */
const UNUSED_PORT = 1;
/** Timeout of the connection attempt, in milliseconds. If a firewall drops its packets, the attempt does not fail by itself. */
const CONNECT_MS = 1_000;
/** Addresses to connect to if the service listens at a wildcard address. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

async function bindShared(server: HttpServer, at: Readonly<{ port: number; host: string }>): Promise<Server[]> {
  try {
    await bind(server, { ...at, reusePort: true });
  } catch (error) {
    // Some operating systems cannot share a port among sockets. Then one socket accepts all connections.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTSUP') throw error;
    await bind(server, at);
    return [server];
  }
  const servers: Server[] = [server];
  while (servers.length < ACCEPTORS) {
    // HTTP servers in Node set the same socket options by default.
    const acceptor = createServer({ allowHalfOpen: true, noDelay: true });
    acceptor.on('connection', (socket) => server.emit('connection', socket));
    await bind(acceptor, { ...at, reusePort: true });
    servers.push(acceptor);
  }
  return servers;
}

interface ListenAddress {
  readonly port: number;
  readonly host: string;
  readonly reusePort?: boolean;
}

/** Binds a server to a host and port. @returns The port. */
async function bind(server: Server, place: ListenAddress): Promise<number> {
  server.listen(place);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * Stops a server from accepting connections. Resolves when all its connections are closed. Calls the `close` of `net.Server`,
 * because the `close` of HTTP servers also closes idle connections.
 */
const close = (server: Server): Promise<void> =>
  new Promise((resolve) => void Server.prototype.close.call(server, () => resolve()));

/**
 * Maximum number of turns of the event loop that `acceptWaiting` waits for. Afterwards it returns, even if connections are
 * queued.
 */
const MAX_TURNS = 10;
/** Milliseconds below which a turn of the event loop counts as short. After a short turn, hardly any connections are queued. */
const SHORT_TURN_MS = 1;

/** Waits for a turn of the event loop that is short and accepts no connection, but for at most `MAX_TURNS` turns. */
async function acceptWaiting(server: HttpServer): Promise<void> {
  let accepted = 0;
  const count = () => {
    accepted++;
  };
  server.on('connection', count);
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const [startedAt, before] = [performance.now(), accepted];
    await setImmediate();
    if (accepted === before && performance.now() - startedAt < SHORT_TURN_MS) break;
  }
  server.off('connection', count);
}
