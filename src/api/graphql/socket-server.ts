import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { CloseCode, handleProtocols, MessageType, type Server } from 'graphql-ws';
import type { Logger } from 'pino';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { isBusy } from '../../platform/db/errors.ts';
import { parseJson } from '../../platform/json.ts';
import { answering, newRequest } from '../../platform/request-note.ts';
import { answerBare } from '../bare-answer.ts';

/** What the protocol keeps for each socket besides its own state. */
export interface SocketExtra {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
}

/** The standard's codes for "restarting" and "try again later": clients of graphql-ws come back after both. */
export const RESTARTING = 1012;
export const TRY_AGAIN = 1013;

/** What a client may say. The rest of the protocol's messages are the server's. */
const OF_CLIENTS: readonly string[] = [
  MessageType.ConnectionInit,
  MessageType.Subscribe,
  MessageType.Complete,
  MessageType.Ping,
  MessageType.Pong,
];

/**
 * Our choice: who is sent away by the protocol has this long to answer. The socket's own patience is half a minute, in
 * which thousands that say nothing would pile up.
 */
const FAREWELL_MS = 1_000;

interface Limits {
  readonly maxMessageBytes: number;
  /** A client that leaves more than this unread is told to come back, and to no more. */
  readonly maxUnreadBytes: number;
  /** A peer whose network stack does not answer a ping in this time is gone. */
  readonly keepAliveMs: number;
}

/** Carries the messages of GraphQL over WebSocket between sockets of `ws` and the protocol. */
export interface SocketServer {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  readonly sockets: ReadonlySet<WebSocket>;
  close(): void;
}

/**
 * What a client does wrong is told to the client, by close codes: the library's own adapter writes it to standard error,
 * which any client could so fill.
 */
export function createSocketServer<E extends SocketExtra>(
  protocol: Server<E>,
  log: Logger,
  { maxMessageBytes, maxUnreadBytes, keepAliveMs }: Limits,
): SocketServer {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    // The library's own answers to pings pile up without bound where nobody reads them.
    autoPong: false,
    handleProtocols,
  });
  server.on('wsClientError', (error, socket) => {
    answerBare(socket, 400, error.message);
  });
  server.on('connection', (socket: WebSocket, request: IncomingMessage) => {
    const bounded = () => {
      if (socket.bufferedAmount > maxUnreadBytes) socket.close(TRY_AGAIN, 'Too much unread; resume');
    };
    socket.on('ping', (payload) => {
      if (socket.readyState !== socket.OPEN) return;
      socket.pong(payload, false, () => {});
      bounded();
    });
    serve(protocol, log, { socket, request, bounded });
    keepAlive(socket, keepAliveMs);
  });
  return {
    upgrade(request, socket, head) {
      server.handleUpgrade(request, socket, head, (webSocket) => server.emit('connection', webSocket, request));
    },
    sockets: server.clients,
    close: () => server.close(),
  };
}

function serve<E extends SocketExtra>(
  protocol: Server<E>,
  log: Logger,
  { socket, request, bounded }: SocketExtra & { readonly bounded: () => void },
): void {
  // A broken connection or frame: `ws` closes with the right code itself.
  socket.on('error', (err) => log.debug({ err }, 'a socket broke'));
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send(data) {
        socket.send(data, () => {});
        bounded();
      },
      // A close frame holds 123 bytes, and the protocol's reasons name what the client sent.
      close: (code, reason = '') => dismiss(socket, code, Buffer.byteLength(reason) > 123 ? 'Refused' : reason),
      onMessage(handle) {
        socket.on('message', async (data) => {
          // What still comes after the end was said is not carried out.
          if (socket.readyState !== socket.OPEN) return;
          const text = String(data as RawData);
          if (!isFromClient(text)) return dismiss(socket, CloseCode.BadRequest, 'Invalid message received');
          try {
            await answering(newRequest(), () => handle(text));
          } catch (error) {
            closeAfter(error, log, socket);
          }
        });
      },
    },
    { socket, request } as E,
  );
  socket.once('close', (code, reason) => void closed(code, String(reason)));
}

/** Closes a socket, and breaks the connection when the other end does not close it in turn. */
export function dismiss(socket: WebSocket, code?: number, reason?: string): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.close(code, reason);
  const late = setTimeout(() => socket.terminate(), FAREWELL_MS).unref();
  socket.once('close', () => clearTimeout(late));
}

/**
 * Whether this is a message, and one that a client sends, and no deeper than can be answered: the protocol returns what a
 * ping holds. What else it must hold the protocol checks.
 */
function isFromClient(text: string): boolean {
  try {
    return OF_CLIENTS.includes(String((parseJson(text, 'A message') as { type?: unknown } | null)?.type));
  } catch {
    return false;
  }
}

function closeAfter(error: unknown, log: Logger, socket: WebSocket): void {
  if (isBusy(error)) dismiss(socket, TRY_AGAIN, 'Try again later');
  else {
    log.error({ err: error }, 'a message on a socket failed unexpectedly');
    dismiss(socket, CloseCode.InternalServerError, 'Internal server error');
  }
}

function keepAlive(socket: WebSocket, intervalMs: number): void {
  let answered = true;
  const timer = setInterval(() => {
    if (!answered) return socket.terminate();
    answered = false;
    socket.ping();
  }, intervalMs).unref();
  socket.on('pong', () => {
    answered = true;
  });
  socket.once('close', () => clearInterval(timer));
}
