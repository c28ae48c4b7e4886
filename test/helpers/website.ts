import type { lookup } from 'node:dns';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { type HttpServer, startHttpServer } from './http-server.ts';

/** Writes the response to a request for a page of a website. */
export type Page = (request: IncomingMessage, response: ServerResponse) => void;

/** A website on this machine: `await using` it. */
export interface Website extends HttpServer {
  /** Path and headers of the requests, in order. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** Adds a page. @returns Its URL. */
  serve(path: string, page: Page): string;
  /** Adds a page with a content type and a body. @returns Its URL. */
  file(
    path: string,
    contentType: string,
    body: string | Uint8Array,
    headers?: Readonly<Record<string, string>>,
  ): string;
  /** Number of requests for a path. */
  count(path: string): number;
}

export async function startWebsite(): Promise<Website> {
  const pages = new Map<string, Page>();
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = await startHttpServer((request, response) => {
    const path = request.url ?? '';
    requests.push({ path, headers: request.headers });
    const page = pages.get(path);
    if (page === undefined) response.writeHead(404).end();
    else page(request, response);
  });
  const serve = (path: string, page: Page) => {
    pages.set(path, page);
    return `${server.url}${path}`;
  };
  return {
    ...server,
    requests,
    serve,
    file: (path, contentType, body, headers = {}) =>
      serve(path, (_, response) => response.writeHead(200, { 'Content-Type': contentType, ...headers }).end(body)),
    count: (wanted) => requests.filter(({ path }) => path === wanted).length,
  };
}

/** Responds with an endless body, as fast as the client reads it. @param everyMs Delay between two chunks. */
export const endless =
  (contentType: string, start: Uint8Array, everyMs = 0): Page =>
  (_, response) => {
    response.writeHead(200, { 'Content-Type': contentType });
    response.write(start);
    const chunk = Buffer.alloc(everyMs === 0 ? 65_536 : 1);
    if (everyMs > 0) {
      const timer = setInterval(() => response.write(chunk), everyMs);
      response.on('close', () => clearInterval(timer));
      return;
    }
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', more);
    more();
  };

/** Returns a resolver of host names that finds the given addresses for every name. */
export const resolving = (...addresses: string[]) =>
  ((_name: string, _options: object, callback: (error: null, found: object[]) => void) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )) as unknown as typeof lookup;

/** A server that writes the same bytes on each connection, whether or not they are HTTP: `await using` it. */
export interface RawServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Starts a server on this machine.
 *
 * @param response Bytes that follow the first bytes of a request.
 * @param ending The server then leaves the connection open, closes or resets it, or repeats the response every 20 ms.
 */
export async function startRawServer(
  response: string,
  ending: 'open' | 'close' | 'reset' | 'repeat',
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createSocketServer((socket) => {
    sockets.add(socket);
    let timer: NodeJS.Timeout | undefined;
    socket.on('close', () => clearInterval(timer)).on('error', () => undefined);
    socket.once('data', () => {
      if (ending === 'repeat') timer = setInterval(() => socket.write(response), 20);
      else if (ending === 'close') socket.end(response);
      else if (ending === 'open') socket.write(response);
      // A reset that follows immediately would discard the bytes that the client has not read.
      else socket.write(response, () => setTimeout(() => socket.resetAndDestroy(), 50));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
