import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, Server } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/**
 * Number of sockets that accept connections on the port. libuv accepts one connection per socket in each iteration of
 * the event loop (libuv/libuv#3696). With one socket and iterations of 10 ms, a client that opens 100 connections
 * delays the next connection of all other clients by a second.
 */
const ACCEPTORS = 16;

/** A port on which the service listens. */
export interface Listening {
  readonly port: number;
  /**
   * Accepts the connections that wait in the queues of the sockets. The operating system resets those that still wait when the
   * port closes, and a proxy does not send the POST of a reset connection to another node.
   */
  acceptWaiting(): Promise<void>;
  /** Stops accepting connections. Resolves when the accepted ones are closed. */
  close(): Promise<void>;
}

/** The service cannot listen at an address from the configuration. */
export class UnusableAddressError extends Error {
  override name = 'UnusableAddressError';
}

/** Codes for an unknown name, an address of another machine, and an invalid address. */
const NOT_OURS = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL', 'EAFNOSUPPORT']);

/**
 * Checks that the service can listen at an address, before it listens.
 *
 * @param by Variables that configure the address.
 * @throws UnusableAddressError if it cannot.
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
 * Makes a server accept connections on a port. 0: a port that the system chooses.
 *
 * @throws Error with code EADDRINUSE if the port is in use.
 */
export async function listen(server: HttpServer, port: number, host: string): Promise<Listening> {
  // A port that can be shared can be shared by mistake: first check that it is free.
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
 * Returns the port if it is free. 0: a port that the system chooses.
 *
 * Does not listen at the port: the operating system would accept connections for it and reset them, and a proxy does not send
 * the POST of a reset connection to another node.
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
 * Checks that a port can be bound: a client socket that connects to nowhere is bound to it. Unlike a server it accepts nothing.
 *
 * @throws Error with the code of the operating system, such as EADDRINUSE, EADDRNOTAVAIL or EACCES.
 */
async function requireBindable(port: number, address: string): Promise<void> {
  const to = { host: LOOPBACK[address] ?? address, port: UNUSED_PORT };
  const socket = connect({ ...to, localAddress: address, localPort: port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
  } catch (error) {
    // Nothing listens there. By then, the socket was bound.
    if ((error as NodeJS.ErrnoException).syscall === 'bind') throw error;
  } finally {
    socket.destroy();
  }
}

/** Port on which no machine listens: `tcpmux`. */
const UNUSED_PORT = 1;
/** Time to wait if a firewall drops the connection, in milliseconds. */
const CONNECT_MS = 1_000;
/** Addresses of this machine to connect to instead of wildcard addresses. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

async function bindShared(server: HttpServer, at: Readonly<{ port: number; host: string }>): Promise<Server[]> {
  try {
    await bind(server, { ...at, reusePort: true });
  } catch (error) {
    // Some systems cannot share a port.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTSUP') throw error;
    await bind(server, at);
    return [server];
  }
  const servers: Server[] = [server];
  while (servers.length < ACCEPTORS) {
    // The options that Node's HTTP servers use.
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

/** Binds a server to an address. @returns The port. */
async function bind(server: Server, place: ListenAddress): Promise<number> {
  server.listen(place);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * Stops a server from accepting connections. The `close` of HTTP servers would also close connections without a
 * request.
 */
const close = (server: Server): Promise<void> =>
  new Promise((resolve) => void Server.prototype.close.call(server, () => resolve()));

/** Turns of the event loop that `acceptWaiting` waits for at most. */
const MAX_TURNS = 10;
/** Duration of a turn of the event loop, in milliseconds, below which further waiting connections are unlikely. */
const SHORT_TURN_MS = 1;

/** Waits for a short turn of the event loop in which no connection was accepted. */
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
