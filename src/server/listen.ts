import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';

/**
 * How many sockets of the port connections are taken from. libuv takes one connection of each in a turn of the event
 * loop (libuv/libuv#3696): with one, and turns of 10 ms, whoever opens 100 connections at once has everybody else's next
 * one wait for a second. 16 is our choice.
 */
const ACCEPTORS = 16;

/** A port that is listened at. */
export interface Listening {
  readonly port: number;
  /** Takes no more connections; resolves when those that were taken are gone. */
  close(): Promise<void>;
}

/** Nobody can listen at an address that the configuration names. */
export class UnusableAddressError extends Error {
  override name = 'UnusableAddressError';
}

/** Of a name that is unknown, or an address that another machine has, or that is none. */
const NOT_OURS = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL', 'EAFNOSUPPORT']);

/**
 * Makes sure that the service can listen at an address, which it does not do yet.
 *
 * @param by The variables that name it.
 * @throws UnusableAddressError when it cannot.
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
      ? `Nothing can listen at ${host} (${code}). Name an address of this machine by ${by.host}, or 0.0.0.0 for all it has.`
      : REFUSED[code]?.(port, by.port);
    throw said === undefined ? error : new UnusableAddressError(said, { cause: error });
  }
}

const REFUSED: Readonly<Record<string, (port: number, by: string) => string>> = {
  EADDRINUSE: (port, by) => `Port ${port} is in use. Stop what uses it, or name another one by ${by}.`,
  EACCES: (port, by) => `No permission to listen at port ${port}. Name one from 1024 on by ${by}.`,
};

/**
 * Has a server take its connections from a port; 0: one that the system chooses.
 *
 * @throws Error with code EADDRINUSE when something else has the port.
 */
export async function listen(server: HttpServer, port: number, host: string): Promise<Listening> {
  // A port that is shared can be shared by mistake: first see that nobody has it.
  const free = await freePort(port, host);
  const servers = await bindShared(server, { port: free, host });
  return {
    port: free,
    async close() {
      await Promise.all(servers.map(close));
    },
  };
}

/**
 * The port, when nobody has it; 0: one that the system chooses.
 *
 * @throws Error with code EADDRINUSE when something else has the port.
 */
export async function freePort(port: number, host: string): Promise<number> {
  const probe = createServer();
  const free = await bind(probe, { port, host });
  await close(probe);
  return free;
}

async function bindShared(server: HttpServer, at: Readonly<{ port: number; host: string }>): Promise<Server[]> {
  try {
    await bind(server, { ...at, reusePort: true });
  } catch (error) {
    // Not every system can share a port.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTSUP') throw error;
    await bind(server, at);
    return [server];
  }
  const servers: Server[] = [server];
  while (servers.length < ACCEPTORS) {
    // As HTTP servers of Node take them.
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

/** @returns The port. */
async function bind(server: Server, place: ListenAddress): Promise<number> {
  server.listen(place);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const close = (server: Server): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));
