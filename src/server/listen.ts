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
