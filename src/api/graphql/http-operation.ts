import type { IncomingMessage, ServerResponse } from 'node:http';
import { type DocumentNode, type ExecutionResult, type GraphQLSchema, getOperationAST } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import type { App } from '../../access/context.ts';
import { BadRequestError, ChatError } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import { setBudgetHeaders } from '../rate-limits.ts';
import { FILE_BODY_LIMIT_BYTES, readBody } from '../request-body.ts';
import { signInBy } from '../sessions.ts';
import { browserOf, type GraphQLContext } from './context.ts';
import type { Documents } from './documents.ts';
import { type Arrival, admit, admitArrived, beginOperation, executeOperation, type Sender } from './operation.ts';
import { isUpload, readUpload } from './uploads.ts';

/** Our choice: several times the longest texts the interface takes, in one mutation. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** A request that has arrived: what it asks for, and who sends it. */
interface Arrived {
  readonly params: GraphQLParams;
  readonly sender: Sender;
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
 * An operation that comes by HTTP, in its steps. Each is made once, whoever asks for it: what was counted, begun or executed
 * is so, also where somebody else is to say how it ended.
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

  /** Whether it comes in a form there is. */
  get hasForm(): boolean {
    return formOf(this.request) !== undefined;
  }

  /**
   * What is asked for. Whoever sends the request is signed in and counted when it is there, and nothing of it was looked at.
   *
   * @throws ChatError for whom is not let in, and what cannot be read.
   */
  async params(): Promise<GraphQLParams> {
    this.#arrived ??= this.#arrive();
    return (await this.#arrived).params;
  }

  async #arrive(): Promise<Arrived> {
    const [app, request, response] = [this.#app, this.request, this.response];
    const form = formOf(request);
    if (form === undefined) throw new Error('A request of no form arrived');
    const arrival: Arrival = {
      signIn: () => signInBy(app, request, { allowBearer: true, answer: response }),
      answer: response,
      told: (budget) => setBudgetHeaders(response, budget),
    };
    const { arrived, sender } = await admitArrived(form.arriving(), () => admit(app, request, arrival));
    return { params: await form.read(arrived), sender };
  }

  /**
   * What its resolvers are given.
   *
   * @throws ChatError, GraphQLError for what is not executed.
   */
  context(document: DocumentNode, params: GraphQLParams): Promise<GraphQLContext> {
    this.#context ??= this.#begin(document, params);
    return this.#context;
  }

  async #begin(document: DocumentNode, { operationName, variables, extensions }: GraphQLParams) {
    const [app, request] = [this.#app, this.request];
    if (getOperationAST(document, operationName)?.operation === 'subscription') {
      throw new BadRequestError('Subscriptions run over WebSocket, or with "Accept: text/event-stream"');
    }
    const cost = this.#documents.cost(document, operationName, variables);
    if (this.#arrived === undefined) throw new Error('An operation begins that has not arrived');
    const { sender } = await this.#arrived;
    const keyHeader = request.headers['idempotency-key'];
    const context = await beginOperation(app, sender, { cost, document, extensions, keyHeader });
    return { ...context, browser: browserOf(request, this.response) };
  }

  /** What comes of it: where nothing was executed, errors alone. */
  result({ schema, document, context, params }: Execution): Promise<ExecutionResult> {
    this.#result ??= executeOperation({
      ...{ schema, document, contextValue: context },
      operationName: params.operationName ?? null,
      variableValues: params.variables ?? null,
    });
    return this.#result;
  }
}

/** How a request holds what it asks for. */
interface RequestForm {
  /** Resolves when all that is to be read is there. */
  arriving(): Promise<Buffer>;
  /** What is no object is refused before anything looks into it. */
  read(arrived: Buffer): GraphQLParams | Promise<GraphQLParams>;
}

/** Undefined for a request of no form there is. */
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
/** Bytes that are no UTF-8 are replaced, and a byte order mark is left out. */
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
