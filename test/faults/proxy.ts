import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that cuts connections while the server sends an answer. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** Number of connections that the proxy has cut so far. */
  readonly cuts: number;
}

/**
 * Starts a proxy.
 *
 * @param cuts Number of bytes from the server after which each connection is closed at both ends. The first entry applies to
 * the first accepted connection. Connections after the last entry are not cut.
 */
export async function startProxy(targetPort: number, cuts: readonly number[]): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let accepted = 0;
  let cutOff = 0;
  const server = createServer((client) => {
    let left = cuts[accepted++] ?? Number.POSITIVE_INFINITY;
    const upstream = connect(targetPort, '127.0.0.1');
    const close = () => {
      client.destroy();
      upstream.destroy();
      open.delete(client);
    };
    open.add(client);
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', close);
      socket.on('close', close);
    }
    client.on('data', (bytes) => upstream.write(bytes));
    upstream.on('data', (bytes) => {
      if (bytes.length < left) {
        left -= bytes.length;
        client.write(bytes);
        return;
      }
      cutOff++;
      upstream.pause();
      // The bytes before the cut are delivered. Then the TCP connection closes, without a closing handshake of the application
      // protocol.
      client.end(bytes.subarray(0, left), close);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cutOff;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A TCP proxy whose target can be changed. It simulates an address that moves from one machine to another. */
export interface Switch extends AsyncDisposable {
  readonly port: number;
  /** Sets the target of new connections. Existing connections stay connected to the previous target. */
  turn(targetPort: number): void;
  /** Stops forwarding permanently on existing connections, and on new connections until `turn` is called. */
  fallSilent(): void;
}

export async function startSwitch(targetPort: number): Promise<Switch> {
  const open = new Set<{ isSilent: boolean; close(): void }>();
  let target = targetPort;
  let isSilent = false;
  const server = createServer((client) => {
    const upstream = isSilent ? undefined : connect(target, '127.0.0.1');
    const line = {
      isSilent,
      close() {
        // A silent connection does not forward that the other end has closed it.
        if (line.isSilent && client.writable) return;
        open.delete(line);
        client.destroy();
        upstream?.destroy();
      },
    };
    open.add(line);
    for (const socket of [client, upstream]) socket?.setNoDelay(true).on('error', line.close).on('close', line.close);
    client.on('data', (bytes) => {
      if (!line.isSilent) upstream?.write(bytes);
    });
    upstream?.on('data', (bytes) => {
      if (!line.isSilent) client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    turn(port) {
      target = port;
      isSilent = false;
    },
    fallSilent() {
      isSilent = true;
      for (const line of open) line.isSilent = true;
    },
    async [Symbol.asyncDispose]() {
      for (const line of [...open]) {
        line.isSilent = false;
        line.close();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
