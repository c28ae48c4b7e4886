import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga';
import type { App } from '../../../access/context.ts';
import { BadRequestError } from '../../../platform/errors.ts';
import { encodingObjection, foreignCharsetOf, mediaTypeOf, UnsupportedBodyError } from '../../request-body.ts';
import { createDocuments } from '../documents/documents.ts';
import { type DocumentSources, readPersistedDocuments } from '../documents/persisted-documents.ts';
import { executeRequest, failure, type HttpOutcome } from './http-operation.ts';
import { formFor, type ResponseForm, respond } from './http-response.ts';
import { isUpload, NEITHER_JSON_NOR_UPLOAD } from './uploads.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** The schema and the sources of documents, which all transports of GraphQL share. */
export interface GraphQLParts extends DocumentSources {
  readonly schema: GraphQLSchema;
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
}

/**
 * Creates the GraphQL server over `node:http`. It accepts POST with a JSON body, POST with files and a preflight header, and
 * GET for queries.
 *
 * Every POST is answered by `executeRequest` and `respond`, whatever its result. For GET, `executeRequest` executes the
 * operation, and Yoga chooses the media type and writes the response. Yoga also refuses all other methods except PUT and
 * DELETE.
 *
 * Requests that a page of another origin could send without a preflight request are refused. These are mutations by GET, and
 * bodies other than JSON without a preflight header. Responses must not be cached. This function sets no CORS headers.
 *
 * @see src/api/graphql/README.md#over-http
 */
export function createGraphQL(app: App, { schema, eventStream, page }: Parts): GraphQLServer {
  const documents = createDocuments(schema, { hideSuggestions: !app.config.anonymousIntrospection });
  const persisted = readPersistedDocuments(app.config, documents);
  const parts = { schema, documents, persisted };
  const streamEvents = eventStream(parts);
  const execute: Execute = (request, response) => executeRequest({ app, ...parts }, request, response);
  const yoga = createYoga<NodeContext>({
    plugins: [useExecution(execute)],
    logging: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    // This path matches no request, because the service has its own health checks.
    healthCheckEndpoint: ' ',
  });
  const post = async (request: IncomingMessage, response: ServerResponse, form: ResponseForm | undefined) =>
    respond(response, await execute(request, response), form);
  return {
    ...parts,
    handle(request, response) {
      response.setHeader('cache-control', 'private, no-store');
      const { method = '' } = request;
      const form = formFor(method, request.headers.accept);
      const refusal = method === 'POST' || method === 'GET' ? refusalOf(request, form) : undefined;
      if (refusal !== undefined) void respond(response, failure(app, response, { errors: [refusal] }), form);
      else if (isForEventStream(method, form)) void streamEvents(request, response);
      else if (method === 'POST') void post(request, response, form);
      else if (form === 'text/html') void page(request, response);
      else void yoga(request, response);
    },
  };
}

type Execute = (request: IncomingMessage, response: ServerResponse) => Promise<HttpOutcome>;

/** Replaces Yoga's parsing, validation and execution by `execute`. */
function useExecution(execute: Execute): Plugin<object, NodeContext> {
  return {
    onRequestParse({ setRequestParser }) {
      setRequestParser(() => ({ query: '' }));
    },
    async onParams({ context, setResult }) {
      const { req, res } = context as YogaInitialContext & NodeContext;
      const { result, status, legacyStatus } = await execute(req, res);
      const [error] = result.errors ?? [];
      // Yoga reads the status from `extensions.http`, and removes that field from the response. `spec` means that the status is
      // 200 for application/json.
      if (error !== undefined && status !== 200) error.extensions['http'] = { status, spec: legacyStatus === 200 };
      setResult(result);
    },
  };
}

/**
 * Returns whether the event stream transport handles the request. This transport also refuses PUT and DELETE requests, which
 * no other transport uses.
 */
function isForEventStream(method: string, form: ResponseForm | undefined): boolean {
  if (method === 'PUT' || method === 'DELETE') return true;
  return form === 'text/event-stream' && (method === 'GET' || method === 'POST');
}

/**
 * Returns the error for a POST or GET request whose body or response has an unsupported type; undefined if both are supported.
 */
function refusalOf(request: IncomingMessage, form: ResponseForm | undefined): BadRequestError | undefined {
  const objection = request.method === 'POST' ? objectionTo(request) : undefined;
  if (objection !== undefined) return new UnsupportedBodyError(objection);
  return form === undefined ? new NotAcceptableError() : undefined;
}

/** Returns the reason why the body of a request is refused; undefined if the body is accepted. */
function objectionTo(request: IncomingMessage): string | undefined {
  const { 'content-type': type = '' } = request.headers;
  if (isUpload(request)) return encodingObjection(request);
  if (mediaTypeOf(type) !== 'application/json') return NEITHER_JSON_NOR_UPLOAD;
  const charset = foreignCharsetOf(type);
  if (charset !== undefined) return `The body must have the charset utf-8, not ${JSON.stringify(charset)}`;
  return encodingObjection(request);
}

class NotAcceptableError extends BadRequestError {
  override readonly status = 406;

  constructor() {
    super('The header "Accept" must contain application/graphql-response+json, application/json or text/event-stream');
  }
}
