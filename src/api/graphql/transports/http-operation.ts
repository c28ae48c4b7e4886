import type { IncomingMessage, ServerResponse } from 'node:http';
import { type DocumentNode, type ExecutionResult, GraphQLError, type GraphQLSchema, getOperationAST } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import type { App } from '../../../access/context.ts';
import { expectedError } from '../../../platform/db/errors.ts';
import { BadRequestError, ChatError } from '../../../platform/errors.ts';
import { parseJson } from '../../../platform/json.ts';
import { retryAfterHeader } from '../../bare-answer.ts';
import { challengeOf } from '../../cross-site.ts';
import { setBudgetHeaders } from '../../rate-limits.ts';
import { FILE_BODY_LIMIT_BYTES, readBody } from '../../request-body.ts';
import { signInBy } from '../../sessions.ts';
import { checkDocument, type DocumentSources, documentText } from '../documents/persisted-documents.ts';
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
import { isUpload, readUpload } from './uploads.ts';

/**
 * Maximum size of a JSON body, in bytes: several times the longest texts that a mutation accepts. Longer bodies are refused
 * with `BodyTooLargeError`.
 */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

interface Parts extends DocumentSources {
  readonly app: App;
  readonly schema: GraphQLSchema;
}

/** The outcome of a request: the result of its operation, or the errors that prevented the execution. */
export interface HttpOutcome {
  readonly result: ExecutionResult;
  readonly status: number;
  /**
   * HTTP status to use if the media type of the response is application/json. The status is then 200 instead of 400 if the
   * document, its hash or the variables are invalid.
   */
  readonly legacyStatus: number;
}

/**
 * Executes the operation of a POST or GET request. Reads the request, authenticates its sender, counts it towards the sender's
 * rate limit, then validates and executes the operation. Sets the headers of the response, except those of its body. Never
 * rejects: errors are returned as outcomes.
 */
export async function executeRequest(
  parts: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<HttpOutcome> {
  try {
    const { params, sender } = await arrive(parts.app, request, response);
    requireObject(params);
    const text = documentText(parts.persisted, params);
    requireTypes(params);
    const { document, errors } = checkDocument(parts, text, params);
    if (errors !== undefined) return failure(parts.app, response, { errors });
    const result = await execute(parts, { document, params, sender, response });
    if (result.errors === undefined) return { result, status: 200, legacyStatus: 200 };
    const { data, errors: failed, ...rest } = result;
    if (data === undefined) return failure(parts.app, response, { errors: failed, ...rest });
    const shown = failed.map((error) => presentError(error, parts.app.log));
    return { result: { ...result, errors: shown }, status: 200, legacyStatus: 200 };
  } catch (error) {
    return failure(parts.app, response, { errors: [error] });
  }
}

/**
 * Reads a request. After the body has arrived, and before it is parsed, the sender is authenticated and the request is counted
 * towards the sender's rate limit.
 *
 * @throws ChatError if the sender is refused or the request cannot be parsed.
 */
async function arrive(app: App, request: IncomingMessage, response: ServerResponse) {
  const form = formOf(request);
  const arrival: Arrival = {
    signIn: () => signInBy(app, request, { allowBearer: true, answer: response }),
    answer: response,
    onBudget: (budget) => setBudgetHeaders(response, budget),
  };
  const { arrived, sender } = await admitArrived(form.arriving(), () => admit(app, request, arrival));
  return { params: await form.read(arrived), sender };
}

interface Execution {
  readonly document: DocumentNode;
  readonly params: GraphQLParams;
  readonly sender: OperationSource;
  readonly response: ServerResponse;
}

async function execute(
  { app, schema, documents }: Parts,
  { document, params, sender, response }: Execution,
): Promise<ExecutionResult> {
  const { operationName, variables, extensions } = params;
  const request = response.req;
  requireKind(document, operationName, response);
  const cost = documents.cost(document, operationName, variables);
  const scopes = () => documents.scopes(document, operationName);
  const keyHeader = request.headers['idempotency-key'];
  const context = await beginOperation(app, sender, { cost, scopes, document, extensions, keyHeader });
  return executeOperation({
    ...{ schema, document, contextValue: { ...context, browser: browserOf(request, response) } },
    operationName: operationName ?? null,
    variableValues: variables ?? null,
  });
}

function requireObject(params: unknown): asserts params is GraphQLParams {
  if (Array.isArray(params)) throw new BadRequestError('Batching is not supported.');
  if (typeof params !== 'object' || params === null) throw new BadRequestError('The body must be an object');
}

const PARAMS: ReadonlySet<string> = new Set(['query', 'documentId', 'operationName', 'variables', 'extensions']);

function requireTypes(params: GraphQLParams): void {
  for (const [name, value] of Object.entries(params)) {
    if (value == null) continue;
    if (!PARAMS.has(name)) throw new BadRequestError(`Unexpected parameter "${name}" in the request body.`);
    if (name !== 'variables' && name !== 'extensions') continue;
    const type = Array.isArray(value) ? 'array' : typeof value;
    if (type === 'object') continue;
    throw new BadRequestError(`Expected "${name}" param to be empty or an object, but given ${type}.`);
  }
}

/**
 * Refuses operations that cannot be executed over HTTP. A mutation must not be sent by GET, because a link on a page of any
 * site could send such a request.
 *
 * @throws GraphQLError if the document does not contain the operation.
 * @throws BadRequestError for a mutation by GET, and for a subscription.
 */
function requireKind(document: DocumentNode, operationName: string | undefined, response: ServerResponse): void {
  const kind = getOperationAST(document, operationName)?.operation;
  if (kind === undefined) {
    const extensions = { code: 'OPERATION_RESOLUTION_FAILURE' };
    throw new GraphQLError('Could not determine what operation to execute.', { extensions });
  }
  if (kind === 'mutation' && response.req.method === 'GET') {
    response.setHeader('allow', 'POST');
    throw new MethodNotAllowedError('Can only perform a mutation operation from a POST request.');
  }
  if (kind === 'subscription') {
    throw new BadRequestError('Subscriptions require a WebSocket, or the header "Accept: text/event-stream"');
  }
}

class MethodNotAllowedError extends BadRequestError {
  override readonly status = 405;
}

/** Error codes of requests that are not well-formed. Other error codes of GraphQL errors concern the operation. */
const MALFORMED: ReadonlySet<unknown> = new Set([
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_IN_LIST',
  'PERSISTED_QUERY_REQUIRED',
]);

interface Failed extends Pick<ExecutionResult, 'extensions'> {
  readonly errors: readonly unknown[];
}

/** Returns the outcome of a request that failed before execution. Sets `Retry-After` and `WWW-Authenticate` if they apply. */
export function failure(app: App, response: ServerResponse, { errors, ...rest }: Failed): HttpOutcome {
  const [cause] = errors;
  const refusal = expectedError(cause instanceof GraphQLError ? (cause.originalError ?? cause) : cause);
  const isMalformed = cause instanceof GraphQLError && MALFORMED.has(cause.extensions['code']);
  const shown = errors.map((error) => presentError(error, app.log));
  const result = { errors: shown, ...rest };
  if (refusal !== undefined) {
    const { status, data } = refusal;
    const { 'retry-after': wait } = data;
    if (typeof wait === 'number') response.setHeader('retry-after', retryAfterHeader(wait));
    if (status === 401) response.setHeaders(new Map(Object.entries(challengeOf(response.req.headers))));
    return { result, status, legacyStatus: status };
  }
  if (shown[0]?.extensions['code'] === 'INTERNAL_SERVER_ERROR') return { result, status: 500, legacyStatus: 500 };
  return { result, status: 400, legacyStatus: isMalformed ? 400 : 200 };
}

/** The methods that read one form of request: GET with a query string, POST with JSON, or POST with files. */
interface RequestForm {
  /** Resolves when the body has arrived completely. */
  arriving(): Promise<Buffer>;
  /** Parses the body, or the query string of a GET request. The result can be any JSON value. */
  read(arrived: Buffer): unknown;
}

/** Returns the methods that read a request of this form. The content type was checked before. */
function formOf(request: IncomingMessage): RequestForm {
  if (request.method === 'GET') {
    return { arriving: async () => NOTHING, read: () => readQueryString(request.url ?? '') };
  }
  if (isUpload(request)) {
    const { 'content-type': type = '' } = request.headers;
    return { arriving: () => readBody(request, FILE_BODY_LIMIT_BYTES), read: (body) => readUpload(body, type) };
  }
  return {
    arriving: () => readBody(request, MAX_BODY_BYTES),
    read: (body) => readJson(UTF8.decode(body), 'The body'),
  };
}

const NOTHING = Buffer.alloc(0);
/** A decoder for UTF-8. It replaces invalid bytes, and removes a byte order mark. */
const UTF8 = new TextDecoder();

function readJson(text: string, name: string): unknown {
  try {
    return parseJson(text, name);
  } catch (error) {
    throw error instanceof ChatError ? error : new BadRequestError(`${name} is not valid JSON`);
  }
}

function readQueryString(url: string): GraphQLParams {
  const fields = new URLSearchParams(url.slice(url.indexOf('?') + 1));
  const text = (name: string) => fields.get(name) || undefined;
  const json = (name: string) => {
    const value = text(name);
    return value === undefined ? undefined : readJson(value, `"${name}"`);
  };
  return Object.fromEntries(
    Object.entries({
      query: text('query'),
      documentId: text('documentId'),
      operationName: text('operationName'),
      variables: json('variables'),
      extensions: json('extensions'),
    }).filter(([, value]) => value !== undefined),
  );
}
