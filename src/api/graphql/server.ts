import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ExecutionArgs, type ExecutionResult, GraphQLError, type GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaInitialContext, type YogaServerOptions } from 'graphql-yoga';
import type { App } from '../../access/context.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { BadRequestError, ChatError } from '../../platform/errors.ts';
import { observeRefusal } from '../../platform/metrics.ts';
import { challengeOf } from '../cross-site.ts';
import type { GraphQLContext } from './context.ts';
import { answerDirectly } from './direct-answer.ts';
import { createDocuments, type Documents } from './documents.ts';
import { presentError } from './errors.ts';
import { HttpOperation, isJson, MAX_BODY_BYTES } from './http-operation.ts';
import { checkDocument, documentText, type PersistedDocuments, readPersistedDocuments } from './persisted-documents.ts';
import { isUpload, NEITHER_JSON_NOR_UPLOAD } from './uploads.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** What the transports share. */
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
  /** Of all features. */
  readonly schema: GraphQLSchema;
  /** Makes what answers requests for server-sent events: GET and POST, and PUT and DELETE, which no other transport has. */
  readonly eventStream: (parts: GraphQLParts) => Handler;
  /** Answers browsers that ask for a page. */
  readonly page: Handler;
}

interface NodeContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly httpOperation: HttpOperation;
}

/**
 * Makes the GraphQL server, served straight from `node:http`: POST with a JSON body, or with files and a header of its own,
 * and GET for queries.
 *
 * What a page of another origin could send unasked is refused: a mutation by GET, and a body that is neither declared as
 * JSON nor comes with a header that a browser asks leave for. No reply may be cached, and none carries CORS headers.
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
      const { accept, 'content-type': type, 'content-length': length } = request.headers;
      const form = wantedForm(accept);
      const { method = '' } = request;
      const upload = isUpload(request);
      if (method === 'POST' && !isJson(type) && !upload) refuseBody(response, 415, NEITHER_JSON_NOR_UPLOAD);
      else if (isForEventStream(method, form)) void streamEvents(request, response);
      else if (form === 'text/html' && method === 'GET') void page(request, response);
      // An upload is measured as it is read.
      else if (!upload && Number(length) > MAX_BODY_BYTES) {
        refuseBody(response, 413, `The body is over ${MAX_BODY_BYTES} bytes`);
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
    // `documents` keeps them, for all transports.
    parserAndValidationCache: false,
    // Every body is measured as it is read: Yoga would do so by another stream around it, at half the requests a second.
    maxRequestBodySize: false,
    extraParamNames: ['documentId'],
    logging: false,
    graphiql: false,
    landingPage: false,
    multipart: false,
    batching: false,
    cors: false,
    // The ending of no address: health has a page of its own.
    healthCheckEndpoint: ' ',
  };
}

const FORMS = ['text/event-stream', 'text/html', 'application/json', 'application/graphql-response+json', '*/*'];

/** The first form the client names of those there are. */
function wantedForm(accept = '*/*'): string | undefined {
  const named = accept.split(',').map((form) => (form.split(';')[0] ?? '').trim().toLowerCase());
  return named.find((form) => FORMS.includes(form));
}

/** No other transport has PUT and DELETE. */
function isForEventStream(method: string, form: string | undefined): boolean {
  if (method === 'PUT' || method === 'DELETE') return true;
  return form === 'text/event-stream' && (method === 'GET' || method === 'POST');
}

function refuseBody(response: ServerResponse, status: number, message: string): void {
  const errors = [{ message, extensions: { code: 'BAD_REQUEST' } }];
  // The connection stays: closed with the body still on its way, it would take this answer with it.
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ errors }));
}

/**
 * In place of Yoga's own reading, which takes JSON however long and deep, takes JSON that is none in a query string for a
 * fault of the server, and believes what it is told of files' places.
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

/** Before anything looks into it: a JSON body may be anything. */
const useObjects: Plugin = {
  onParams({ params }) {
    if (typeof params !== 'object' || params === null) throw refusal(new BadRequestError('The body must be an object'));
  },
};

/** In place of Yoga's own check that there is a document. */
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

/** Nobody knows a document yet, and its client sends it next: no fault of the request, unless the client asks to know. */
function asUnread(error: GraphQLError): GraphQLError {
  const spec = error.extensions['code'] === 'PERSISTED_QUERY_NOT_FOUND';
  error.extensions['http'] = { status: 400, ...(spec && { spec }) };
  return error;
}

/** Documents come read, checked and within limits, or not at all. */
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

/** `spec`: a client that takes application/json alone gets status 200, as GraphQL over HTTP has it for such errors. */
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
  // Nothing was executed: the variables or the idempotency key were wrong, which is a failure of the HTTP request as well.
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
    if (document === undefined) throw new Error('The document was checked before');
    return await httpOperation.context(document, params);
  } catch (error) {
    const expected = expectedError(error);
    if (expected !== undefined) throw refusal(expected, req);
    throw error instanceof GraphQLError ? asInvalid(error) : error;
  }
}

/** A failure before execution, which is a failure of the HTTP request as well. */
function refusal({ message, code, data, status }: ChatError, req?: IncomingMessage): GraphQLError {
  const headers: Record<string, string> = status === 401 ? { ...challengeOf(req?.headers ?? {}) } : {};
  if ('retry-after' in data) headers['retry-after'] = String(data['retry-after']);
  const error = new GraphQLError(message, { extensions: { code, ...data, http: { status, headers } } });
  observeRefusal('graphql', code, error);
  return error;
}

function maskError(app: App, error: unknown): Error {
  const shown = presentError(error, app.log);
  // For Yoga, which gives status 500 when nothing was executed, and leaves the field out.
  if (shown.extensions['code'] === 'INTERNAL_SERVER_ERROR') shown.extensions['unexpected'] = true;
  return shown;
}
