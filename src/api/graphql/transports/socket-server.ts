import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { CloseCode, handleProtocols, MessageType, type Server } from 'graphql-ws';
import type { Logger } from 'pino';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { isBusy } from '../../../platform/db/errors.ts';
import { parseJson } from '../../../platform/json.ts';
import { answering, newRequest } from '../../../platform/request-note.ts';
import { answerBare } from '../../bare-answer.ts';

/** The data of a socket that this service adds to the state of the graphql-ws protocol. */
export interface SocketExtra {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
}

/**
 * Standard WebSocket close codes: 1012 for "service restart", and 1013 for "try again later". Clients of graphql-ws reconnect
 * after both.
 */
export const RESTARTING = 1012;
export const TRY_AGAIN = 1013;

/** Message types that clients can send. The other types of the protocol are sent only by the server. */
const OF_CLIENTS: readonly string[] = [
  MessageType.ConnectionInit,
  MessageType.Subscribe,
  MessageType.Complete,
  MessageType.Ping,
  MessageType.Pong,
];

/**
 * Milliseconds in which a client must complete a closing handshake that the server starts. The timeout of `ws` is half a
 * minute, in which thousands of silent sockets could accumulate.
 */
const FAREWELL_MS = 1_000;

interface Limits {
  readonly maxMessageBytes: number;
  /** Limit of the outbound backlog of a socket. Above it, the socket is closed, and its client reconnects. */
  readonly maxUnreadBytes: number;
  /**
   * Interval between pings, in milliseconds. If the client has not answered a ping when the next one is due, the connection is
   * terminated.
   */
  readonly keepAliveMs: number;
}

/** Carries the messages of the graphql-ws protocol over WebSockets of the `ws` library. */
export interface SocketServer {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  readonly sockets: ReadonlySet<WebSocket>;
  close(): void;
}

/**
 * Creates a socket server. If the protocol fails, the socket is closed with a code that names the reason. The adapter of
 * graphql-ws would also write the error to standard error, which any client could flood.
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
    // Pongs are sent below, with a limit. The automatic pongs of `ws` accumulate without limit if the client does not read.
    autoPong: false,
    handleProtocols,
  });
  server.on('wsClientError', (error, socket) => {
    answerBare(socket, 400, error.message);
  });
  server.on('connection', (socket: WebSocket, request: IncomingMessage) => {
    const bounded = () => {
      if (socket.bufferedAmount > maxUnreadBytes)
        socket.close(TRY_AGAIN, 'Outbound backlog too large; reconnect and resume');
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
  // If the connection or a frame is broken, `ws` itself closes the socket with the right code.
  socket.on('error', (err) => log.debug({ err }, 'socket error'));
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send(data) {
        socket.send(data, () => {});
        bounded();
      },
      // A close frame holds 123 bytes, and the protocol's reasons contain data from the client.
      close: (code, reason = '') => dismiss(socket, code, Buffer.byteLength(reason) > 123 ? 'Refused' : reason),
      onMessage(handle) {
        socket.on('message', async (data) => {
          // Messages that arrive after the close frame was sent are ignored.
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

/** Closes a socket, and terminates the connection if the client does not complete the closing handshake. */
export function dismiss(socket: WebSocket, code?: number, reason?: string): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.close(code, reason);
  const late = setTimeout(() => socket.terminate(), FAREWELL_MS).unref();
  socket.once('close', () => clearTimeout(late));
}

/**
 * Whether a text is a message of a type that clients can send. It must not be nested too deeply for serialization, because the
 * protocol sends the payload of a ping back. The protocol validates everything else.
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
    log.error({ err: error }, 'socket message failed');
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
