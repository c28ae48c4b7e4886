import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on a free port of this machine: `await using` it. */
export interface HttpServer extends AsyncDisposable {
  /** URL without a path: `http://127.0.0.1:<port>`. */
  readonly url: string;
}

/** Starts an HTTP server. Its end closes all connections. @param respond Answers each request. */
export async function startHttpServer(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<HttpServer> {
  const server = createServer(respond).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
