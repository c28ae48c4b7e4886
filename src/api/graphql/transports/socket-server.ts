import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { CloseCode, handleProtocols, MessageType, type Server } from 'graphql-ws';
import type { Logger } from 'pino';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { isBusy } from '../../../platform/db/errors.ts';
import { parseJson } from '../../../platform/json.ts';
import { answering, newRequest, type RequestNote } from '../../../platform/request-note.ts';
import { type TraceContext, traceContextIn } from '../../../platform/trace-context.ts';
import { beginRequest } from '../../../platform/tracing.ts';
import { answerBare } from '../../bare-answer.ts';

/** The data of a socket that this service adds to the state of the graphql-ws protocol. */
export interface SocketExtra {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
}

/**
 * Standard WebSocket close codes: 1012 for "service restart", and 1013 for "try again later". Clients that use graphql-ws
 * reconnect after either code.
 */
export const RESTARTING = 1012;
export const TRY_AGAIN = 1013;

/** Message types of the protocol that clients can send. Only the server sends the other types. */
const OF_CLIENTS: readonly string[] = [
  MessageType.ConnectionInit,
  MessageType.Subscribe,
  MessageType.Complete,
  MessageType.Ping,
  MessageType.Pong,
];

/**
 * Time in ms in which a client must complete a closing handshake that the server starts. The timeout of `ws` is 30 seconds. In
 * that time, thousands of sockets of unresponsive clients could accumulate.
 */
const FAREWELL_MS = 1_000;

interface Limits {
  readonly maxMessageBytes: number;
  /** Maximum outbound backlog of a socket, in bytes. A socket with more unsent bytes is closed, and its client reconnects. */
  readonly maxUnreadBytes: number;
  /**
   * Interval between pings to a client, in milliseconds. If the client has not answered a ping when the next ping is due, the
   * connection is terminated.
   */
  readonly keepAliveMs: number;
}

/** A server that carries the messages of the graphql-ws protocol over WebSockets of the `ws` library. */
export interface SocketServer {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  readonly sockets: ReadonlySet<WebSocket>;
  close(): void;
}

/**
 * Creates a socket server. If handling a message fails, the socket is closed with a code for the reason. The adapter that
 * graphql-ws provides is not used: it would also write each error to standard error, and any client could cause many errors.
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
  // If the connection breaks or a frame is invalid, `ws` itself closes the socket with the right code.
  socket.on('error', (err) => log.debug({ err }, 'socket error'));
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send(data) {
        socket.send(data, () => {});
        bounded();
      },
      // A close frame can contain a reason of at most 123 bytes, and the protocol's reasons contain data from the client.
      close: (code, reason = '') => dismiss(socket, code, Buffer.byteLength(reason) > 123 ? 'Refused' : reason),
      onMessage(handle) {
        socket.on('message', async (data) => {
          // Messages that arrive after the close frame was sent are ignored.
          if (socket.readyState !== socket.OPEN) return;
          const text = String(data as RawData);
          const message = readMessage(text);
          if (message === undefined) return dismiss(socket, CloseCode.BadRequest, 'Invalid message received');
          const note = newRequest(undefined, message.trace);
          try {
            await answering(note, () => (message.isOperation ? operate(note, () => handle(text)) : handle(text)));
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
 * Handles an operation. If spans are exported, the operation is recorded as a span, which ends with the operation. The span of
 * a subscription ends when the client unsubscribes.
 */
async function operate(note: RequestNote, handle: () => Promise<void>): Promise<void> {
  const span = beginRequest(note, 'WEBSOCKET');
  if (span === undefined) return handle();
  let isError = true;
  try {
    await span.run(handle);
    isError = false;
  } finally {
    const user = note.userId === undefined ? {} : { 'user.id': String(note.userId) };
    span.end({
      name: 'WEBSOCKET /graphql',
      attributes: { 'http.route': '/graphql', 'chat.request_id': note.id, ...user },
      isError,
    });
  }
}

/** A message of a client. `trace` is the trace context in the `extensions` of an operation. */
interface ClientMessage {
  readonly isOperation: boolean;
  readonly trace: TraceContext | undefined;
}

/**
 * Reads a message. Returns undefined unless it is of a type that clients can send. Messages that are nested too deeply to be
 * serialized are refused, because the protocol sends the payload of a ping back. The protocol validates everything else.
 */
function readMessage(text: string): ClientMessage | undefined {
  try {
    const message = parseJson(text, 'A message') as {
      type?: unknown;
      payload?: { extensions?: Record<string, unknown> };
    } | null;
    if (!OF_CLIENTS.includes(String(message?.type))) return undefined;
    const isOperation = message?.type === MessageType.Subscribe;
    return { isOperation, trace: isOperation ? traceContextIn(message.payload?.extensions ?? {}) : undefined };
  } catch {
    return undefined;
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
