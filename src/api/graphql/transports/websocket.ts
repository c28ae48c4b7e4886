import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { GraphQLError, getOperationAST } from 'graphql';
import { CloseCode, type Context, makeServer, type SubscribePayload } from 'graphql-ws';
import { type App, chargedAccountOf, type RequestCtx } from '../../../access/context.ts';
import { UnauthorizedError } from '../../../access/errors.ts';
import { type ShownSession, signIn } from '../../../access/sign-in.ts';
import type { EventStream } from '../../../events/stream.ts';
import {
  BadRequestError,
  ChatError,
  OrganizationMovedError,
  RateLimitHitError,
  RequestTimeoutError,
} from '../../../platform/errors.ts';
import { observeRefusal } from '../../../platform/metrics.ts';
import { currentRequest, type RequestNote, tookMs } from '../../../platform/request-note.ts';
import { answerBare } from '../../bare-answer.ts';
import { warnOfProxy } from '../../proxy-warning.ts';
import { countAddress, countRefusal } from '../../rate-limits.ts';
import { sessionShownBy } from '../../sessions.ts';
import { readDocument } from '../documents/persisted-documents.ts';
import { admit, beginOperation, executeOperation } from '../execution/operation.ts';
import { presentError } from '../schema/errors.ts';
import { Deliveries } from './deliveries.ts';
import type { GraphQLParts } from './server.ts';
import { SocketLimits } from './socket-limits.ts';
import { createSocketServer, dismiss, RESTARTING, type SocketExtra, TRY_AGAIN } from './socket-server.ts';
import { SocketSink } from './socket-sink.ts';
import { isOver, MAX_UNREAD_BYTES, openSubscription, prepareSubscription, type Subscription } from './subscriptions.ts';

/** Limits of each socket. `keepAliveMs` is the interval of pings. */
const LIMITS = { maxMessageBytes: 256 * 1024, maxUnreadBytes: MAX_UNREAD_BYTES, keepAliveMs: 20_000 };
const CONNECTION_INIT_MS = 5_000;
const MAX_OPERATIONS = 100;
/**
 * Maximum number of queues in `positions`: ten times the number of queues that a user can have. More are refused with
 * `BadRequestError`. Clients may also send positions of ended queues. Even then, they reach the limit only after a long time.
 */
const MAX_POSITIONS = 1_000;
/**
 * Maximum delay between an event and the ping that follows it, in milliseconds. The pong confirms that the client has read the
 * event. The delay is random, at least half of this value, so that not all recipients are pinged at the same time.
 */
const CONFIRM_MS = 1_000;
/**
 * Number of open sockets above which the delay of pings grows in proportion to the number of sockets, up to `MOST_CONFIRM_MS`.
 * A ping and its pong cost as much as several deliveries. With a constant delay, pings would take more time than deliveries.
 */
const SOCKETS_ASKED = 1_250;
const MOST_CONFIRM_MS = 20_000;

interface Params extends Record<string, unknown> {
  readonly authorization?: unknown;
  /** Last position that the client has received from each queue, by queue id: `{"<queue>": 123}`. */
  readonly positions?: unknown;
}

interface Extra extends SocketExtra {
  state?: ConnectionState;
}

type Ctx = Context<Params, Extra>;

/**
 * The transport of GraphQL over WebSocket (graphql-transport-ws). It carries queries, mutations, and subscriptions to events.
 */
export interface WebSocketTransport {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /**
   * Closes all sockets. The clients reconnect to another node, or to this node after its restart. Resolves within about a
   * second.
   */
  close(): Promise<void>;
}

export function createWebSocketTransport(app: App, parts: GraphQLParts): WebSocketTransport {
  const places = new SocketLimits(app.config);
  const protocol = makeServer<Params, Extra>({
    schema: parts.schema,
    connectionInitWaitTimeout: CONNECTION_INIT_MS,
    onConnect: (ctx) => connect(app, places, ctx),
    onSubscribe: (ctx, id, payload) => prepare(app, parts, { ctx, id, payload }),
    execute: (args) => executeOperation(args),
    // Runs the subscription that `prepare` created.
    subscribe: (args) => (args.contextValue as { run: () => AsyncGenerator<never> }).run() as never,
    onNext: (_ctx, _id, _payload, _args, { errors, data, extensions }) =>
      // `data` is undefined if the operation was not executed, because its variables are invalid.
      errors && {
        ...(data !== undefined && { data }),
        errors: errors.map((error) => presentError(error, app.log).toJSON()),
        ...(extensions !== undefined && { extensions }),
      },
    onError: (_ctx, _id, _payload, errors) => {
      const shown = errors.map((error) => presentError(error, app.log).toJSON());
      logOperation(app, 'refused');
      return shown;
    },
    onComplete: () => logOperation(app, 'complete'),
    onPong: ({ extra }, payload) => extra.state?.confirmed(payload),
    onClose: ({ extra }) => extra.state?.close(),
  });
  const server = createSocketServer(protocol, app.log, LIMITS);
  return {
    upgrade(request, socket, head) {
      try {
        places.take(request, socket);
      } catch (error) {
        if (error instanceof RateLimitHitError) warnOfProxy(app, request);
        const { status, message, code, data } = error as RateLimitHitError | RequestTimeoutError;
        observeRefusal('graphql', code);
        return answerBare(socket, status, message, { code, ...data });
      }
      server.upgrade(request, socket, head);
    },
    async close() {
      for (const socket of server.sockets) socket.close(RESTARTING, 'Service restart');
      const deadline = Date.now() + 1_000;
      while (server.sockets.size > 0 && Date.now() < deadline) await sleep(20);
      for (const socket of server.sockets) socket.terminate();
      server.close();
    },
  };
}

/**
 * Operations whose outcome was logged. The protocol reports the end of a failed subscription twice, but each operation is
 * logged once.
 */
const logged = new WeakSet<RequestNote>();

/** Logs the outcome of an operation in one line, with the same log fields as for an HTTP request. */
function logOperation({ log }: App, outcome: 'complete' | 'refused'): void {
  const note = currentRequest();
  if (note === undefined || logged.has(note) || !log.isLevelEnabled('info')) return;
  logged.add(note);
  log.info({ method: 'WEBSOCKET', route: '/graphql', outcome, ms: tookMs(note), user_id: note.userId }, 'request');
}

/**
 * Authenticates a client that sent `connection_init`. Returns false if the client is refused. After false, the protocol closes
 * the socket with 4403. If this function threw an error instead, the protocol would close the socket with 4500, which clients
 * treat as a server error.
 */
async function connect(app: App, places: SocketLimits, { connectionParams, extra }: Ctx): Promise<boolean> {
  try {
    const state = new ConnectionState(app, { places, extra }, connectionParams);
    const { viewer } = await state.signIn().catch((error: unknown) => countRefusal(app, extra.request, error));
    if (viewer === null) await countAddress(app, extra.request);
    else {
      const account = chargedAccountOf(viewer);
      places.signIn(extra.request, account);
      app.connections.signIn(extra.request.socket);
      app.outboundBacklog.hold(account, extra.request.socket);
    }
    extra.state = state;
    return true;
  } catch (error) {
    if (!(error instanceof ChatError)) throw error;
    // The protocol would close the socket with 4403, the code for clients without access. A client that is refused only for a
    // while should reconnect later, so the socket is closed here first, with another code.
    if (error instanceof RateLimitHitError || error instanceof RequestTimeoutError)
      dismiss(extra.socket, TRY_AGAIN, error.message);
    // A malformed position is refused. If it were ignored, the client would receive events twice without knowing the reason.
    else if (error instanceof BadRequestError) dismiss(extra.socket, CloseCode.BadRequest, error.message);
    return false;
  }
}

async function prepare(
  app: App,
  parts: GraphQLParts,
  { ctx, id, payload }: { ctx: Ctx; id: string; payload: SubscribePayload },
) {
  const { schema, documents } = parts;
  const { state } = ctx.extra;
  if (state === undefined) return [new GraphQLError('Not connected')];
  if (Object.keys(ctx.subscriptions).length > MAX_OPERATIONS) {
    return [new GraphQLError(`At most ${MAX_OPERATIONS} operations can run on one socket`)];
  }
  try {
    // The user is authenticated again for each operation, because their rights may have changed since the socket was opened.
    const sender = await admit(app, ctx.extra.request, { signIn: () => state.signIn() });
    const { document, errors } = readDocument(parts, payload);
    if (errors !== undefined) return errors;
    const operationName = payload.operationName ?? undefined;
    const variables = payload.variables ?? {};
    const cost = documents.cost(document, operationName, variables);
    const scopes = () => documents.scopes(document, operationName);
    const request = await beginOperation(app, sender, { cost, scopes, document, extensions: payload.extensions });
    const args = { schema, document, operationName, variableValues: variables };
    if (getOperationAST(document, operationName)?.operation !== 'subscription') {
      return { ...args, contextValue: request };
    }
    const subscription = prepareSubscription(schema, document, { operationName, variables, log: app.log });
    if ('errors' in subscription) return subscription.errors;
    return { ...args, contextValue: { run: () => state.stream(id, request, subscription) } };
  } catch (error) {
    // Every later operation would fail as well. The socket is closed, so that the client notices that it is signed out.
    if (state.isInSession && error instanceof UnauthorizedError) {
      dismiss(ctx.extra.socket, CloseCode.Forbidden, 'Forbidden');
    }
    // The client reconnects, through the proxy, to a node of the other database.
    if (error instanceof OrganizationMovedError) dismiss(ctx.extra.socket, TRY_AGAIN, error.message);
    return [presentError(error, app.log)];
  }
}

/**
 * Returns the positions that a client sent in `connection_init`, by queue id. They are newer than positions in the variables of
 * operations: clients repeat these variables, but create a new `connection_init` for each connection.
 *
 * @throws BadRequestError if the value is not an object of event ids, or has too many entries. The message is short enough for
 *   a close frame.
 */
function positionsIn(sent: unknown): ReadonlyMap<string, number> {
  if (sent === undefined || sent === null) return new Map();
  const positions = typeof sent === 'object' && !Array.isArray(sent) ? Object.entries(sent) : undefined;
  if (positions === undefined || !positions.every(([, position]) => isPosition(position))) {
    throw new BadRequestError('"positions" must be an object of event ids by queue id');
  }
  if (positions.length > MAX_POSITIONS)
    throw new BadRequestError(`"positions" can have at most ${MAX_POSITIONS} entries`);
  return new Map(positions);
}

/** Returns whether a value can be the position of an event queue. -1 is the position before the first event of a queue. */
const isPosition = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= -1;

/** The state of a socket: its user, its event streams, and the last events that the client has confirmed. */
class ConnectionState {
  readonly #app: App;
  readonly #places: SocketLimits;
  readonly #extra: Extra;
  readonly #authorization: string | undefined;
  #session: ShownSession | undefined;
  #isInSession = false;
  readonly #positions: ReadonlyMap<string, number>;
  readonly #streams = new Set<EventStream>();
  /**
   * The last ping, if the client has not answered it yet. `sent` contains the id of the last event that each stream had sent
   * before the ping.
   */
  #asked: { token: string; sent: readonly (readonly [EventStream, number])[] } | undefined;
  #pings = 0;
  #confirmTimer: NodeJS.Timeout | undefined;

  /** @throws BadRequestError if the positions are malformed. */
  constructor(
    app: App,
    { places, extra }: { readonly places: SocketLimits; readonly extra: Extra },
    { authorization, positions }: Params = {},
  ) {
    this.#app = app;
    this.#places = places;
    this.#extra = extra;
    // The Authorization header of the handshake is ignored, because a browser sends it by itself, whatever page opens the
    // socket.
    this.#authorization = typeof authorization === 'string' ? authorization : undefined;
    this.#session = sessionShownBy(app.config, extra.request);
    this.#positions = positionsIn(positions);
  }

  /**
   * Authenticates the user of the socket by the credentials in `connection_init`, or else by the session cookie of the
   * handshake. Called for each operation. The token in the cookie changes after an hour, so later calls use the id of the
   * session.
   *
   * @throws ChatError if the credentials are invalid or have expired.
   */
  async signIn(): Promise<RequestCtx> {
    const { host, 'user-agent': userAgent } = this.#extra.request.headers;
    const credentials = { host, userAgent, authorization: this.#authorization, allowBearer: true };
    const signedIn = await signIn(this.#app, { ...credentials, session: this.#session });
    const credential = signedIn.viewer?.credential;
    if (this.#isInSession && credential == null) throw new UnauthorizedError();
    if (this.#session !== undefined && credential?.kind === 'session') {
      this.#isInSession = true;
      this.#session = { ...this.#session, by: { organizationId: credential.organizationId, id: credential.id } };
    }
    return signedIn;
  }

  /** Whether the user was authenticated by a session, which may have ended since then. */
  get isInSession(): boolean {
    return this.#isInSession;
  }

  /**
   * Starts a subscription. Its events are written directly to the socket, as bytes that all recipients of the event share. The
   * protocol receives a generator that yields nothing, and completes when the stream ends.
   *
   * The generator is not an `async function*`, because that handles `return` only after a pending `await` has resolved. When
   * the client unsubscribes, the protocol calls `return` and awaits its result.
   */
  stream(id: string, request: RequestCtx, subscription: Subscription): AsyncGenerator<never, undefined> {
    const ended = Promise.withResolvers<IteratorReturnResult<undefined>>();
    ended.promise.catch(() => {});
    let stream: EventStream | undefined;
    let over = false;
    const finish = (error?: unknown): void => {
      over = true;
      if (stream !== undefined) this.#streams.delete(stream);
      stream?.stop();
      if (error === undefined) ended.resolve({ done: true, value: undefined });
      else ended.reject(error);
    };
    const open = async (): Promise<void> => {
      const userIsOver = () => isOver(this.#app, request);
      const reports = { sent: () => this.#confirmSoon(), ended: finish, userIsOver };
      const deliveries = new Deliveries(subscription.operation, request);
      const sink = new SocketSink(id, this.#extra, deliveries, reports);
      const lastReceived = this.#positions.get(subscription.queueId);
      const opened = await openSubscription(request, subscription, { lastReceived, sink });
      if (over) return;
      stream = opened;
      this.#streams.add(stream);
      await stream.start();
      deliveries.loadAhead();
    };
    let started = false;
    return {
      next() {
        if (!started) open().catch(finish);
        started = true;
        return ended.promise;
      },
      async return() {
        finish();
        return { done: true, value: undefined };
      },
      async throw(error) {
        finish();
        throw error;
      },
      [Symbol.asyncIterator]() {
        return this;
      },
      async [Symbol.asyncDispose]() {
        finish();
      },
    };
  }

  #confirmSoon(): void {
    if (this.#asked !== undefined) return;
    const times = Math.max(1, this.#places.count / SOCKETS_ASKED);
    const latest = Math.min(MOST_CONFIRM_MS, CONFIRM_MS * times);
    const delay = latest * (0.5 + Math.random() / 2);
    this.#confirmTimer ??= setTimeout(() => {
      this.#confirmTimer = undefined;
      const sent = [...this.#streams].map((stream) => [stream, stream.lastSent] as const);
      const token = String(++this.#pings);
      this.#asked = { token, sent };
      this.#extra.socket.send(JSON.stringify({ type: 'ping', payload: { token } }));
    }, delay).unref();
  }

  /**
   * Acknowledges all events that were sent before the ping that a pong answers. The pong shows that the client itself has read
   * these events, and not only its network stack. Only a pong with the payload of the ping counts, because clients can send
   * other pongs at any time.
   */
  confirmed(payload: unknown): void {
    const asked = this.#asked;
    if (asked === undefined || (payload as { token?: unknown } | undefined)?.token !== asked.token) return;
    this.#asked = undefined;
    for (const [stream, id] of asked.sent) if (this.#streams.has(stream)) stream.queue.acknowledge(id);
    if (asked.sent.some(([stream, id]) => stream.lastSent > id)) this.#confirmSoon();
  }

  close(): void {
    clearTimeout(this.#confirmTimer);
    for (const stream of this.#streams) stream.stop();
    this.#streams.clear();
  }
}
