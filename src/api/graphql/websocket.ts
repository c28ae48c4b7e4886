import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { GraphQLError, getOperationAST } from 'graphql';
import { CloseCode, type Context, makeServer, type SubscribePayload } from 'graphql-ws';
import type { App, RequestCtx } from '../../access/context.ts';
import { UnauthorizedError } from '../../access/errors.ts';
import { type ShownSession, signIn } from '../../access/sign-in.ts';
import type { EventStream } from '../../events/stream.ts';
import { BadRequestError, ChatError, RateLimitHitError, type RequestTimeoutError } from '../../platform/errors.ts';
import { observeRefusal } from '../../platform/metrics.ts';
import { currentRequest, type RequestNote, tookMs } from '../../platform/request-note.ts';
import { answerBare } from '../bare-answer.ts';
import { warnOfProxy } from '../proxy-warning.ts';
import { countAddress, countRefusals } from '../rate-limits.ts';
import { sessionShownBy } from '../sessions.ts';
import { Deliveries } from './deliveries.ts';
import { presentError } from './errors.ts';
import { admit, beginOperation, executeOperation } from './operation.ts';
import { readDocument } from './persisted-documents.ts';
import type { GraphQLParts } from './server.ts';
import { SocketPlaces } from './socket-places.ts';
import { createSocketServer, dismiss, RESTARTING, type SocketExtra, TRY_AGAIN } from './socket-server.ts';
import { SocketSink } from './socket-sink.ts';
import { isOver, MAX_UNREAD_BYTES, openSubscription, prepareSubscription, type Subscription } from './subscriptions.ts';

/** Bounds of one socket: our choice. */
const LIMITS = { maxMessageBytes: 256 * 1024, maxUnreadBytes: MAX_UNREAD_BYTES, keepAliveMs: 20_000 };
const CONNECTION_INIT_MS = 5_000;
const MAX_OPERATIONS = 100;
/** Our choice: ten times the queues of a user. Clients that keep those of queues that are over stay below for long. */
const MAX_POSITIONS = 1_000;
/**
 * How soon after an event the client is asked whether it arrived, at the latest; at the earliest in half the time, at random,
 * so that not all who heard it are asked in the same moment.
 */
const CONFIRM_MS = 1_000;
/** Our choice: for each so many sockets that are open it is as long again. Asking and the answer cost as much as some deliveries. */
const SOCKETS_ASKED = 1_250;
const MOST_CONFIRM_MS = 20_000;

interface Params extends Record<string, unknown> {
  readonly authorization?: unknown;
  /** Of each queue, by its id, the last position the client has seen: `{"<queue>": 123}`. */
  readonly positions?: unknown;
}

interface Extra extends SocketExtra {
  state?: ConnectionState;
}

type Ctx = Context<Params, Extra>;

/** GraphQL over WebSocket (graphql-transport-ws): every operation, and events as they happen. */
export interface WebSocketTransport {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Tells every client to come back, to another node or later. */
  close(): Promise<void>;
}

export function createWebSocketTransport(app: App, parts: GraphQLParts): WebSocketTransport {
  const places = new SocketPlaces(app.config);
  const protocol = makeServer<Params, Extra>({
    schema: parts.schema,
    connectionInitWaitTimeout: CONNECTION_INIT_MS,
    onConnect: (ctx) => connect(app, places, ctx),
    onSubscribe: (ctx, id, payload) => prepare(app, parts, { ctx, id, payload }),
    execute: (args) => executeOperation(args),
    // What `prepare` made of a subscription is run as it is.
    subscribe: (args) => (args.contextValue as { run: () => AsyncGenerator<never> }).run() as never,
    onNext: (_ctx, _id, _payload, _args, { errors, data, extensions }) =>
      // Without data the operation was not executed: its variables are wrong.
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

/** A subscription that fails is over for the protocol a second time. */
const logged = new WeakSet<RequestNote>();

/** Says in a line how an operation went, as is said of each request over HTTP. */
function logOperation({ log }: App, outcome: 'complete' | 'refused'): void {
  const note = currentRequest();
  if (note === undefined || logged.has(note) || !log.isLevelEnabled('info')) return;
  logged.add(note);
  log.info({ method: 'WEBSOCKET', route: '/graphql', outcome, ms: tookMs(note), user_id: note.userId }, 'request');
}

/** Refusing here closes with 4403; a throw would close with 4500, which clients take for a fault of ours. */
async function connect(app: App, places: SocketPlaces, { connectionParams, extra }: Ctx): Promise<boolean> {
  try {
    const state = new ConnectionState(app, { places, extra }, connectionParams);
    const { viewer } = await countRefusals(app, extra.request, () => state.signIn());
    if (viewer === null) await countAddress(app, extra.request);
    else {
      places.signIn(extra.request, viewer.id);
      app.connections.signIn(extra.request.socket);
      app.unread.hold(viewer.id, extra.request.socket);
    }
    extra.state = state;
    return true;
  } catch (error) {
    if (!(error instanceof ChatError)) throw error;
    // The first close counts: whoever comes too often is to come back, unlike who may not come at all.
    if (error instanceof RateLimitHitError) dismiss(extra.socket, TRY_AGAIN, error.message);
    // A position taken for none would repeat what the client has, and nobody would know why.
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
    return [new GraphQLError(`At most ${MAX_OPERATIONS} operations may run on one socket`)];
  }
  try {
    // Who it is, as of now: an operation is not run with the rights of an hour ago.
    const sender = await admit(app, ctx.extra.request, { signIn: () => state.signIn() });
    const { document, errors } = readDocument(parts, payload);
    if (errors !== undefined) return errors;
    const operationName = payload.operationName ?? undefined;
    const variables = payload.variables ?? {};
    const cost = documents.cost(document, operationName, variables);
    const request = await beginOperation(app, sender, { cost, document, extensions: payload.extensions });
    const args = { schema, document, operationName, variableValues: variables };
    if (getOperationAST(document, operationName)?.operation !== 'subscription') {
      return { ...args, contextValue: request };
    }
    const subscription = prepareSubscription(schema, document, { operationName, variables, log: app.log });
    if ('errors' in subscription) return subscription.errors;
    return { ...args, contextValue: { run: () => state.stream(id, request, subscription) } };
  } catch (error) {
    // The next operation would fare no better, and a client would not know that it is signed out.
    if (state.isInSession && error instanceof UnauthorizedError) {
      dismiss(ctx.extra.socket, CloseCode.Forbidden, 'Forbidden');
    }
    return [presentError(error, app.log)];
  }
}

/**
 * What `connection_init` tells of queues. Clients make it anew for each connection, unlike the variables of operations.
 *
 * @throws BadRequestError when it is no object of event ids, or of too many; the message fits into a close frame.
 */
function positionsIn(sent: unknown): ReadonlyMap<string, number> {
  if (sent === undefined || sent === null) return new Map();
  const positions = typeof sent === 'object' && !Array.isArray(sent) ? Object.entries(sent) : undefined;
  if (positions === undefined || !positions.every(([, position]) => isPosition(position))) {
    throw new BadRequestError('"positions" must be an object of event ids by queue');
  }
  if (positions.length > MAX_POSITIONS) throw new BadRequestError(`"positions" may have at most ${MAX_POSITIONS}`);
  return new Map(positions);
}

/** -1 is the start of the queue. */
const isPosition = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= -1;

/** One socket: who is behind it, its streams, and what of them has arrived. */
class ConnectionState {
  readonly #app: App;
  readonly #places: SocketPlaces;
  readonly #extra: Extra;
  readonly #authorization: string | undefined;
  #session: ShownSession | undefined;
  #isInSession = false;
  readonly #positions: ReadonlyMap<string, number>;
  readonly #streams = new Set<EventStream>();
  /** What the ping under way asks about: what each stream had sent before it. */
  #asked: { token: string; sent: readonly (readonly [EventStream, number])[] } | undefined;
  #pings = 0;
  #confirmTimer: NodeJS.Timeout | undefined;

  /** @throws BadRequestError for positions that are none. */
  constructor(
    app: App,
    { places, extra }: { readonly places: SocketPlaces; readonly extra: Extra },
    { authorization, positions }: Params = {},
  ) {
    this.#app = app;
    this.#places = places;
    this.#extra = extra;
    // Not that of the handshake, which a browser sends by itself, whatever page opens the socket.
    this.#authorization = typeof authorization === 'string' ? authorization : undefined;
    this.#session = sessionShownBy(app.config, extra.request);
    this.#positions = positionsIn(positions);
  }

  /**
   * Who is behind it: as `connection_init` says, else by the session that its handshake showed. Its token is another one
   * an hour later, so that the session's number counts from then on.
   *
   * @throws ChatError when the credentials given are not, or no longer, good.
   */
  async signIn(): Promise<RequestCtx> {
    const { host, 'user-agent': userAgent } = this.#extra.request.headers;
    const facts = { host, userAgent, authorization: this.#authorization, allowBearer: true };
    const signedIn = await signIn(this.#app, { ...facts, session: this.#session });
    const credential = signedIn.viewer?.credential;
    if (this.#isInSession && credential == null) throw new UnauthorizedError();
    if (this.#session !== undefined && credential?.kind === 'session') {
      this.#isInSession = true;
      this.#session = { ...this.#session, by: { realmId: credential.realmId, id: credential.id } };
    }
    return signedIn;
  }

  /** Whether it was opened in a session, which may be over. */
  get isInSession(): boolean {
    return this.#isInSession;
  }

  /**
   * Sends the subscription's events straight to the socket, as bytes made once for all its readers; to the protocol it
   * looks like a generator that yields nothing until it ends. Made by hand: a real one, asleep in an `await`, would not
   * hear `return` before it wakes, and the protocol waits for that when the client leaves.
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
      const sink = new SocketSink(id, this.#extra, new Deliveries(subscription.operation, request), reports);
      const told = this.#positions.get(subscription.queueId);
      const opened = await openSubscription(request, subscription, { told, sink });
      if (over) return;
      stream = opened;
      this.#streams.add(stream);
      await stream.start();
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
   * The client itself, not its network stack, has read everything sent before the ping. Only the pong that returns the
   * ping's payload counts: clients may send others of their own accord.
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
