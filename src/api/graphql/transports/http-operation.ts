import type { IncomingMessage, ServerResponse } from 'node:http';
import { type DocumentNode, type ExecutionResult, type GraphQLSchema, getOperationAST } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import type { App } from '../../../access/context.ts';
import { BadRequestError, ChatError } from '../../../platform/errors.ts';
import { parseJson } from '../../../platform/json.ts';
import { setBudgetHeaders } from '../../rate-limits.ts';
import { FILE_BODY_LIMIT_BYTES, readBody } from '../../request-body.ts';
import { signInBy } from '../../sessions.ts';
import type { Documents } from '../documents/documents.ts';
import {
  type Arrival,
  admit,
  admitArrived,
  beginOperation,
  executeOperation,
  type OperationSource,
} from '../execution/operation.ts';
import { browserOf, type GraphQLContext } from '../loading/context.ts';
import { isUpload, readUpload } from './uploads.ts';

/** Limit of a JSON body: several times the longest texts that a mutation accepts. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** A request that has arrived completely: its parameters and its sender. */
interface Arrived {
  readonly params: GraphQLParams;
  readonly sender: OperationSource;
}

interface Execution {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly context: GraphQLContext;
  readonly params: {
    readonly operationName?: string | null | undefined;
    readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
  };
}

/**
 * An operation over HTTP, in steps: read the request, create the context, execute. Each step runs once and stores its outcome.
 * If `answerDirectly` cannot respond, Yoga continues with the stored outcomes, so that nothing is counted or executed twice.
 */
export class HttpOperation {
  readonly #app: App;
  readonly #documents: Documents;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  #arrived: Promise<Arrived> | undefined;
  #context: Promise<GraphQLContext> | undefined;
  #result: Promise<ExecutionResult> | undefined;

  constructor(
    { app, documents }: { readonly app: App; readonly documents: Documents },
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    this.#app = app;
    this.#documents = documents;
    this.request = request;
    this.response = response;
  }

  /** Whether the method and content type are supported. */
  get hasForm(): boolean {
    return formOf(this.request) !== undefined;
  }

  /**
   * Returns the parsed request. The sender is authenticated and counted after the body has arrived and before it is parsed.
   *
   * @throws ChatError if the sender is refused or the request cannot be parsed.
   */
  async params(): Promise<GraphQLParams> {
    this.#arrived ??= this.#arrive();
    return (await this.#arrived).params;
  }

  async #arrive(): Promise<Arrived> {
    const [app, request, response] = [this.#app, this.request, this.response];
    const form = formOf(request);
    if (form === undefined) throw new Error('The method or content type is not supported');
    const arrival: Arrival = {
      signIn: () => signInBy(app, request, { allowBearer: true, answer: response }),
      answer: response,
      onBudget: (budget) => setBudgetHeaders(response, budget),
    };
    const { arrived, sender } = await admitArrived(form.arriving(), () => admit(app, request, arrival));
    return { params: await form.read(arrived), sender };
  }

  /**
   * Returns the context for the resolvers of the operation. Counts the cost of the operation on the first call.
   *
   * @throws ChatError or GraphQLError if the operation must not be executed.
   */
  context(document: DocumentNode, params: GraphQLParams): Promise<GraphQLContext> {
    this.#context ??= this.#begin(document, params);
    return this.#context;
  }

  async #begin(document: DocumentNode, { operationName, variables, extensions }: GraphQLParams) {
    const [app, request] = [this.#app, this.request];
    if (getOperationAST(document, operationName)?.operation === 'subscription') {
      throw new BadRequestError('Subscriptions require a WebSocket, or the header "Accept: text/event-stream"');
    }
    const cost = this.#documents.cost(document, operationName, variables);
    if (this.#arrived === undefined) throw new Error('The operation was started before its request was read');
    const { sender } = await this.#arrived;
    const keyHeader = request.headers['idempotency-key'];
    const context = await beginOperation(app, sender, { cost, document, extensions, keyHeader });
    return { ...context, browser: browserOf(request, this.response) };
  }

  /** Executes the operation once, and returns its result. If nothing could be executed, the result contains only errors. */
  result({ schema, document, context, params }: Execution): Promise<ExecutionResult> {
    this.#result ??= executeOperation({
      ...{ schema, document, contextValue: context },
      operationName: params.operationName ?? null,
      variableValues: params.variables ?? null,
    });
    return this.#result;
  }
}

/** Reads requests of one kind: GET with a query string, POST with JSON, or POST with files. */
interface RequestForm {
  /** Resolves when the body has arrived completely. */
  arriving(): Promise<Buffer>;
  /** Parses the body. The result can be any JSON value: callers refuse it if it is not an object. */
  read(arrived: Buffer): GraphQLParams | Promise<GraphQLParams>;
}

/** Returns the reader for the method and content type of a request; undefined if they are not supported. */
function formOf(request: IncomingMessage): RequestForm | undefined {
  const { 'content-type': type = '' } = request.headers;
  if (request.method === 'GET') {
    return { arriving: async () => NOTHING, read: () => readQueryString(request.url ?? '') };
  }
  if (isUpload(request)) {
    return { arriving: () => readBody(request, FILE_BODY_LIMIT_BYTES), read: (body) => readUpload(body, type) };
  }
  if (request.method !== 'POST' || !isJson(type)) return undefined;
  return {
    arriving: () => readBody(request, MAX_BODY_BYTES),
    read: (body) => readJson(UTF8.decode(body), 'The body') as GraphQLParams,
  };
}

export const isJson = (contentType = ''): boolean => /^application\/json *(;|$)/i.test(contentType);

const NOTHING = Buffer.alloc(0);
/** Decodes UTF-8. Invalid bytes are replaced, and a byte order mark is removed. */
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
