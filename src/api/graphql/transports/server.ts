import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ExecutionArgs, type ExecutionResult, GraphQLError, type GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaInitialContext, type YogaServerOptions } from 'graphql-yoga';
import type { App } from '../../../access/context.ts';
import { expectedError } from '../../../platform/db/errors.ts';
import { BadRequestError, ChatError } from '../../../platform/errors.ts';
import { observeRefusal } from '../../../platform/metrics.ts';
import { retryAfterHeader } from '../../bare-answer.ts';
import { challengeOf } from '../../cross-site.ts';
import { encodingObjection, foreignCharsetOf } from '../../request-body.ts';
import { createDocuments, type Documents } from '../documents/documents.ts';
import {
  checkDocument,
  documentText,
  type PersistedDocuments,
  readPersistedDocuments,
} from '../documents/persisted-documents.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { presentError } from '../schema/errors.ts';
import { answerDirectly } from './direct-answer.ts';
import { HttpOperation, isJson, MAX_BODY_BYTES } from './http-operation.ts';
import { isUpload, NEITHER_JSON_NOR_UPLOAD } from './uploads.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** The schema and the documents, which all transports of GraphQL share. */
export interface GraphQLParts {
  readonly schema: GraphQLSchema;
  readonly documents: Documents;
  readonly persisted: PersistedDocuments;
}

export interface GraphQLServer extends GraphQLParts {
  /** Answers a request to /graphql. */
  handle(request: IncomingMessage, response: ServerResponse): void;
}

interface Parts {
  /** The schema of all features. */
  readonly schema: GraphQLSchema;
  /**
   * Creates the handler of the event stream transport. It receives GET and POST requests for server-sent events, and all PUT
   * and DELETE requests.
   */
  readonly eventStream: (parts: GraphQLParts) => Handler;
  /** Serves the page for browsers that open /graphql. */
  readonly page: Handler;
}

interface NodeContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly httpOperation: HttpOperation;
}

/**
 * Creates the GraphQL server over `node:http`. It accepts POST with a JSON body, POST with files and a preflight header, and
 * GET for queries.
 *
 * Requests that a page of another origin could send without a preflight request are refused: a mutation by GET, and a body that
 * is neither JSON nor sent with a preflight header. No response can be cached. The server itself sets no CORS headers.
 */
export function createGraphQL(app: App, { schema, eventStream, page }: Parts): GraphQLServer {
  const documents = createDocuments(schema, { hideSuggestions: !app.config.anonymousIntrospection });
  const persisted = readPersistedDocuments(app.config, documents);
  const parts = { schema, documents, persisted };
  const streamEvents = eventStream(parts);
  const yoga = createYoga(optionsFor(app, parts));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const httpOperation = new HttpOperation({ app, documents }, request, response);
    if (await answerDirectly(parts, httpOperation)) return;
    await yoga(request, response, { httpOperation });
  };
  return {
    ...parts,
    handle(request, response) {
      response.setHeader('cache-control', 'private, no-store');
      const { accept, 'content-length': length } = request.headers;
      const form = wantedForm(accept);
      const { method = '' } = request;
      const upload = isUpload(request);
      const objection = method === 'POST' ? objectionTo(request, upload) : undefined;
      if (objection !== undefined) refuseBody(response, 415, objection);
      else if (isForEventStream(method, form)) void streamEvents(request, response);
      else if (form === 'text/html' && method === 'GET') void page(request, response);
      // Uploads have a higher limit. It is checked while the body is read.
      else if (!upload && Number(length) > MAX_BODY_BYTES) {
        refuseBody(response, 413, `The body is larger than ${MAX_BODY_BYTES} bytes`);
      } else void answer(request, response);
    },
  };
}

function optionsFor(app: App, parts: GraphQLParts): YogaServerOptions<NodeContext, GraphQLContext> {
  const { schema, documents, persisted } = parts;
  return {
    schema,
    plugins: [useRequests, useObjects, usePersistedDocuments(persisted), useDocuments(parts), useExecution],
    context: (initial) => makeContext(documents, initial),
    maskedErrors: { maskError: (error) => maskError(app, error) },
    // The cache of Yoga is not used, because `documents` has a cache that all transports share.
    parserAndValidationCache: false,
    // Yoga does not limit the size, because each body is measured while it is read. Yoga would wrap the body in another stream,
    // which halves the requests per second.
    maxRequestBodySize: false,
    extraParamNames: ['documentId'],
    logging: false,
    graphiql: false,
    landingPage: false,
    multipart: false,
    batching: false,
    cors: false,
    // This path matches no request, because the service has its own health checks.
    healthCheckEndpoint: ' ',
  };
}

const FORMS = ['text/event-stream', 'text/html', 'application/json', 'application/graphql-response+json', '*/*'];

/** Returns the first supported media type in an Accept header; undefined if there is none. */
function wantedForm(accept = '*/*'): string | undefined {
  const named = accept.split(',').map((form) => (form.split(';')[0] ?? '').trim().toLowerCase());
  return named.find((form) => FORMS.includes(form));
}

/** Whether the event stream transport handles the request. PUT and DELETE have no meaning in the other transports. */
function isForEventStream(method: string, form: string | undefined): boolean {
  if (method === 'PUT' || method === 'DELETE') return true;
  return form === 'text/event-stream' && (method === 'GET' || method === 'POST');
}

/** @returns The reason why the body of a request is refused; undefined if it is accepted. */
function objectionTo(request: IncomingMessage, isUpload: boolean): string | undefined {
  const { 'content-type': type = '' } = request.headers;
  if (isUpload) return encodingObjection(request);
  if (!isJson(type)) return NEITHER_JSON_NOR_UPLOAD;
  const charset = foreignCharsetOf(type);
  if (charset !== undefined) return `The body must have the charset utf-8, not ${JSON.stringify(charset)}`;
  return encodingObjection(request);
}

function refuseBody(response: ServerResponse, status: number, message: string): void {
  const errors = [{ message, extensions: { code: 'BAD_REQUEST' } }];
  // The connection stays open. If it were closed while the body arrives, this response would be lost.
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ errors }));
}

/**
 * Replaces Yoga's parser of requests. That parser accepts JSON of any length and depth, and does not check the paths of files.
 * It reports invalid JSON in a query string as a server error.
 */
const useRequests: Plugin<object, NodeContext> = {
  onRequestParse({ serverContext: { req, httpOperation }, setRequestParser }) {
    if (!httpOperation.hasForm) return;
    setRequestParser(async () => {
      try {
        return await httpOperation.params();
      } catch (error) {
        const expected = expectedError(error);
        throw expected === undefined ? error : refusal(expected, req);
      }
    });
  },
};

/** Refuses a body that is not an object. JSON can be any value, so this runs before the other plugins read the parameters. */
const useObjects: Plugin = {
  onParams({ params }) {
    if (typeof params !== 'object' || params === null) throw refusal(new BadRequestError('The body must be an object'));
  },
};

/** Replaces Yoga's check that the request contains a document, because it can also name a persisted document. */
function usePersistedDocuments(persisted: PersistedDocuments): Plugin {
  return {
    onParams({ params, setParams }) {
      try {
        setParams({ ...params, query: documentText(persisted, params) });
      } catch (error) {
        throw error instanceof GraphQLError ? asUnread(error) : error;
      }
    },
  };
}

/**
 * Sets the HTTP status of an error about a missing document: 400. If the client named a document that is not registered yet,
 * `spec` is set, as in `asInvalid`. The request has not failed then, because the client sends the document next.
 */
function asUnread(error: GraphQLError): GraphQLError {
  const spec = error.extensions['code'] === 'PERSISTED_QUERY_NOT_FOUND';
  error.extensions['http'] = { status: 400, ...(spec && { spec }) };
  return error;
}

/** Replaces Yoga's parsing and validation by `checkDocument`, which also applies the limits. */
function useDocuments(parts: GraphQLParts): Plugin<YogaInitialContext> {
  return {
    onParse({ params, context, setParsedDocument }) {
      const { document, errors } = checkDocument(parts, params.source.toString(), context.params);
      if (errors !== undefined) throw new AggregateError(errors.map(asInvalid));
      setParsedDocument(document);
    },
    onValidate({ setResult }) {
      setResult([]);
    },
  };
}

/**
 * Sets the HTTP status of an error in an operation: 400. Because of `spec`, Yoga uses 200 instead for clients that accept only
 * application/json, as the GraphQL over HTTP specification requires.
 */
function asInvalid(error: GraphQLError): GraphQLError {
  error.extensions['http'] = { spec: true, status: 400 };
  return error;
}

const useExecution: Plugin<GraphQLContext> = {
  onExecute({ setExecuteFn }) {
    setExecuteFn(executeForHttp);
  },
};

async function executeForHttp(args: ExecutionArgs): Promise<ExecutionResult> {
  const { schema, document, operationName, variableValues: variables } = args;
  const context = args.contextValue as GraphQLContext & NodeContext;
  const result = await context.httpOperation.result({
    schema,
    document,
    context,
    params: { operationName, variables },
  });
  if (result.data !== undefined || result.errors === undefined) return result;
  // Nothing was executed, because the variables or the idempotency key were invalid. The HTTP request therefore gets an error
  // status.
  const asRefusal = (error: GraphQLError) =>
    error.originalError instanceof ChatError ? refusal(error.originalError, context.req) : asInvalid(error);
  return { ...result, errors: result.errors.map(asRefusal) };
}

async function makeContext(
  documents: Documents,
  { req, params, httpOperation }: YogaInitialContext & NodeContext,
): Promise<GraphQLContext> {
  try {
    const { document } = documents.check(params.query ?? '');
    if (document === undefined) throw new Error('The document must have been validated before');
    return await httpOperation.context(document, params);
  } catch (error) {
    const expected = expectedError(error);
    if (expected !== undefined) throw refusal(expected, req);
    throw error instanceof GraphQLError ? asInvalid(error) : error;
  }
}

/** Returns an error that occurred before execution, with the status of the HTTP response. */
function refusal({ message, code, data, status }: ChatError, req?: IncomingMessage): GraphQLError {
  const headers: Record<string, string> = status === 401 ? { ...challengeOf(req?.headers ?? {}) } : {};
  const { 'retry-after': wait } = data;
  if (typeof wait === 'number') headers['retry-after'] = retryAfterHeader(wait);
  const error = new GraphQLError(message, { extensions: { code, ...data, http: { status, headers } } });
  observeRefusal('graphql', code, error);
  return error;
}

function maskError(app: App, error: unknown): Error {
  const shown = presentError(error, app.log);
  // `unexpected` makes Yoga respond with status 500 if nothing was executed. Yoga removes the field from the response.
  if (shown.extensions['code'] === 'INTERNAL_SERVER_ERROR') shown.extensions['unexpected'] = true;
  return shown;
}
