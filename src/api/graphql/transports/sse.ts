import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ExecutionResult, GraphQLError, getOperationAST } from 'graphql';
import type { App } from '../../../access/context.ts';
import type { ReaderEnd } from '../../../events/queue.ts';
import type { EventPiece } from '../../../events/rendering.ts';
import type { StreamSink } from '../../../events/stream.ts';
import { expectedError } from '../../../platform/db/errors.ts';
import { BadRequestError, ChatError } from '../../../platform/errors.ts';
import { parseJson } from '../../../platform/json.ts';
import { retryAfterHeader } from '../../bare-answer.ts';
import { challengeOf } from '../../cross-site.ts';
import { setBudgetHeaders } from '../../rate-limits.ts';
import { readBody } from '../../request-body.ts';
import { signInBy } from '../../sessions.ts';
import { readDocument, requireDocument } from '../documents/persisted-documents.ts';
import {
  type Arrival,
  admit,
  admitArrived,
  beginOperation,
  executeOperation,
  type OperationSource,
} from '../execution/operation.ts';
import { browserOf } from '../loading/context.ts';
import { presentError } from '../schema/errors.ts';
import { Deliveries } from './deliveries.ts';
import type { GraphQLParts } from './server.ts';
import { isOver, isTooMuch, openSubscription, prepareSubscription } from './subscriptions.ts';

/**
 * Interval between comments that keep an idle stream open, in milliseconds. Proxies close connections that are silent for a
 * minute.
 */
const KEEP_ALIVE_MS = 15_000;
const MAX_BODY_BYTES = 256 * 1024;
const BROWSER_RETRY_MS = 1_000;

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'private, no-store',
  // Disables buffering in reverse proxies, which would delay events.
  'x-accel-buffering': 'no',
};

/** A GraphQL request, read from the JSON body or from the query string. */
interface Operation {
  readonly query: unknown;
  readonly documentId: unknown;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly extensions: Readonly<Record<string, unknown>>;
  /** The event id in the Last-Event-ID header, which a browser sends when it reconnects. Undefined if there is none. */
  readonly lastEventId: number | undefined;
}

/**
 * Returns a handler that serves an operation as server-sent events, in the distinct connections mode of GraphQL over SSE: each
 * operation has its own connection. The response consists of `next` events with one execution result each, followed by
 * `complete`. The `next` events of a subscription have the id of the chat event. If a new subscription sends `Last-Event-ID`,
 * it continues after that event.
 *
 * Errors of the operation are sent in a `next` event with status 200. If the status were an error status, browsers would hide
 * the content of the response from scripts. An error status is sent if the request is not a GraphQL request or sends a mutation
 * by GET, if the sender is refused, or if the error is temporary. After a temporary error, clients retry.
 *
 * @see https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md
 */
export function createEventStreamTransport(app: App, parts: GraphQLParts) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      if (request.method !== 'GET' && request.method !== 'POST') return refuseSingleConnection(response);
      const arrival: Arrival = {
        signIn: () => signInBy(app, request, { allowBearer: true, answer: response }),
        answer: response,
        onBudget: (budget) => setBudgetHeaders(response, budget),
      };
      const { arrived, sender } = await admitArrived(arriving(request), () => admit(app, request, arrival));
      const sent = readOperation(request, arrived);
      requireDocument(parts.persisted, sent);
      try {
        await serve(app, parts, { sent, sender, response });
      } catch (error) {
        if (isPassing(error)) throw error;
        answerOnce(app, response, { errors: [presentError(error, app.log)] });
      }
    } catch (error) {
      const expected = expectedError(error);
      const wait = expected?.data['retry-after'];
      if (typeof wait === 'number' && !response.headersSent) response.setHeader('retry-after', retryAfterHeader(wait));
      const status = expected?.status ?? (error instanceof GraphQLError ? 400 : 500);
      refuse(response, [presentError(error, app.log)], status);
    }
  };
}

/** Executes an operation that `admit` has accepted, and sends its results. */
async function serve(
  app: App,
  parts: GraphQLParts,
  { sent, sender, response }: { sent: Operation; sender: OperationSource; response: ServerResponse },
): Promise<void> {
  const { schema, documents } = parts;
  const { operationName, variables, extensions } = sent;
  const request = response.req;
  const { document, errors } = readDocument(parts, sent);
  if (errors !== undefined) return answerOnce(app, response, { errors });
  const operation = getOperationAST(document, operationName);
  // Mutations are refused in GET requests, because a link on a page of any site could send such a request.
  if (operation?.operation === 'mutation' && request.method === 'GET') {
    response.setHeader('allow', 'POST');
    return refuse(response, [badRequest('A mutation must be sent by POST')], 405);
  }
  const cost = documents.cost(document, operationName, variables);
  const scopes = () => documents.scopes(document, operationName);
  const keyHeader = request.headers['idempotency-key'];
  const begun = await beginOperation(app, sender, { cost, scopes, document, extensions, keyHeader });
  const context = { ...begun, browser: browserOf(request, response) };
  if (operation?.operation !== 'subscription') {
    const run = { schema, document, operationName, variableValues: variables, contextValue: context };
    const result = await executeOperation(run);
    const cause = result.data === undefined ? result.errors?.[0]?.originalError : undefined;
    // The operation was not executed, for example because the service is unavailable.
    if (cause instanceof ChatError && isPassing(cause)) throw cause;
    return answerOnce(app, response, result);
  }
  const subscription = prepareSubscription(schema, document, { operationName, variables, log: app.log });
  if ('errors' in subscription) return answerOnce(app, response, { errors: subscription.errors });
  const deliveries = new Deliveries(subscription.operation, context);
  const sink = new ResponseSink(response, deliveries, () => isOver(app, context));
  const stream = await openSubscription(context, subscription, { lastReceived: sent.lastEventId, sink });
  if (response.destroyed) return stream.stop();
  response.once('close', () => stream.stop());
  sink.open();
  await stream.start();
  deliveries.loadAhead();
}

/** Returns whether an error is temporary, so that the request can succeed if it is sent again later. */
function isPassing(error: unknown): boolean {
  if (error instanceof GraphQLError) return false;
  const expected = expectedError(error);
  return expected === undefined || expected.status === 429 || expected.status >= 500;
}

/** Refuses a request of the single connection mode of GraphQL over SSE, in which one connection carries several operations. */
function refuseSingleConnection(response: ServerResponse): void {
  response.setHeader('allow', 'GET, POST');
  const message =
    'The single connection mode of GraphQL over SSE is not supported: send each operation with the header ' +
    '"Accept: text/event-stream", or use a WebSocket for several operations';
  refuse(response, [badRequest(message)], 405);
}

const badRequest = (message: string) => new GraphQLError(message, { extensions: { code: 'BAD_REQUEST' } });

function refuse(response: ServerResponse, errors: readonly GraphQLError[], status: number): void {
  if (response.headersSent || response.destroyed) {
    response.end();
    return;
  }
  response.writeHead(status, {
    'content-type': 'application/graphql-response+json; charset=utf-8',
    'cache-control': 'private, no-store',
    ...(status === 401 && challengeOf(response.req.headers)),
  });
  response.end(JSON.stringify({ errors }));
}

/** Sends a complete response of one `next` event: the result of a query or mutation, or the errors of any operation. */
function answerOnce(app: App, response: ServerResponse, result: ExecutionResult): void {
  if (response.headersSent || response.destroyed) {
    response.end();
    return;
  }
  const errors = result.errors?.map((error) => presentError(error, app.log));
  const shown = errors === undefined ? result : { ...result, errors };
  response.writeHead(200, STREAM_HEADERS);
  response.end(`event: next\ndata: ${JSON.stringify(shown)}\n\nevent: complete\ndata:\n\n`);
}

/** Returns the complete body of a request. Undefined for GET, which has the operation in the query string. */
async function arriving(request: IncomingMessage): Promise<Buffer | undefined> {
  if (request.method === 'GET') return undefined;
  // Any page can send a form or plain text without a preflight request, but not JSON.
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    throw new BadRequestError('The body must be application/json');
  }
  return readBody(request, MAX_BODY_BYTES);
}

function readOperation(request: IncomingMessage, body: Buffer | undefined): Operation {
  const params: Record<string, unknown> =
    body === undefined
      ? Object.fromEntries(new URL(request.url ?? '/', 'http://local').searchParams)
      : readBodyJson(body.toString('utf8'));
  const { query, documentId, operationName } = params;
  if (operationName != null && typeof operationName !== 'string')
    throw new BadRequestError('"operationName" must be a string');
  return {
    query,
    documentId,
    operationName: operationName ?? undefined,
    variables: objectIn(params, 'variables'),
    extensions: objectIn(params, 'extensions'),
    lastEventId: lastEventId(request),
  };
}

/**
 * Returns a parameter that must be an object, such as `variables`; an empty object if the parameter is absent. In a query
 * string, its value is JSON text.
 */
function objectIn(params: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const sent = params[name];
  const value = typeof sent === 'string' ? readJsonText(sent, `"${name}"`) : (sent ?? {});
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadRequestError(`"${name}" must be an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function readBodyJson(text: string): Record<string, unknown> {
  const body = readJsonText(text, 'The body');
  if (typeof body !== 'object' || body === null) throw new BadRequestError('The body must be an object');
  return body as Record<string, unknown>;
}

function readJsonText(text: string, name: string): unknown {
  try {
    return parseJson(text, name);
  } catch (error) {
    throw error instanceof BadRequestError ? error : new BadRequestError('Malformed JSON');
  }
}

/**
 * Returns the event id in the Last-Event-ID header, which contains the last `id:` that a browser received. Undefined if there
 * is none.
 */
function lastEventId(request: IncomingMessage): number | undefined {
  const header = request.headers['last-event-id'];
  if (typeof header !== 'string' || header === '') return undefined;
  const id = Number(header);
  if (!Number.isSafeInteger(id) || id < 0) throw new BadRequestError('Last-Event-ID must be an event id');
  return id;
}

class ResponseSink implements StreamSink {
  readonly #response: ServerResponse;
  readonly #deliveries: Deliveries;
  readonly #userIsOver: () => boolean;
  #keepAlive: NodeJS.Timeout | undefined;

  /** @param userIsOver Returns whether the total outbound backlog of all the user's clients is too large. */
  constructor(response: ServerResponse, deliveries: Deliveries, userIsOver: () => boolean) {
    this.#userIsOver = userIsOver;
    this.#response = response;
    this.#deliveries = deliveries;
  }

  open(): void {
    this.#response.writeHead(200, STREAM_HEADERS);
    this.#response.write(`retry: ${BROWSER_RETRY_MS}\n\n`);
    this.#keepAlive = setInterval(() => this.#response.write(':\n\n'), KEEP_ALIVE_MS).unref();
    this.#response.once('close', () => clearInterval(this.#keepAlive));
  }

  isReady(pieces: readonly EventPiece[]): boolean {
    return this.#deliveries.isReady(pieces);
  }

  prepare(pieces: readonly EventPiece[]): Promise<number> {
    return this.#deliveries.prepare(pieces);
  }

  send(pieces: readonly EventPiece[]): void {
    const frame = (piece: EventPiece) => `id: ${piece.id}\nevent: next\ndata: ${this.#deliveries.resultOf(piece)}\n\n`;
    this.#response.write(pieces.map(frame).join(''));
    if (isTooMuch(this.#response.writableLength, this.#userIsOver)) this.#response.destroy();
  }

  async writable(): Promise<void> {
    const { signal, abort } = abortOnClose(this.#response);
    try {
      if (this.#response.writableNeedDrain) await once(this.#response, 'drain', { signal });
    } catch {
      // The client has disconnected. The `close` event of the response also stops the stream.
    } finally {
      abort();
    }
  }

  /**
   * Ends the response. If the client cannot continue the stream by reconnecting, `complete` is sent first. Without `complete`,
   * the client reconnects and sends the last event id.
   */
  end(why: ReaderEnd): void {
    clearInterval(this.#keepAlive);
    if (why instanceof Error) {
      const error = { message: why.message, extensions: { code: why.code, ...why.data } };
      this.#response.write(`event: next\ndata: ${JSON.stringify({ errors: [error] })}\n\n`);
    }
    const complete = why instanceof Error || why === 'deleted' || why === 'revoked';
    this.#response.end(complete ? 'event: complete\ndata:\n\n' : undefined);
  }
}

function abortOnClose(response: ServerResponse): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  response.once('close', abort);
  return { signal: controller.signal, abort: () => response.off('close', abort) };
}
