import { EventStream, type StreamOptions, webSocketClient } from './events.ts';
import { withGlobalIds } from './global-ids.ts';
import { type Json, type Reply, send } from './http.ts';
import { holdsFile, multipart, multipartOperation, PREFLIGHT } from './multipart.ts';

/** The response of a REST endpoint. */
export interface RestReply extends Omit<Reply, 'text'> {
  readonly body: Json;
}

/** The response of GraphQL. */
export interface GraphQLReply {
  readonly status: number;
  readonly data: Json;
  readonly errors?: Json[];
  readonly extensions?: Json;
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT' | 'HEAD' | 'OPTIONS';
/**
 * Parameters of a request. Strings are sent unchanged, bytes as files, other values as JSON. Undefined values are
 * omitted.
 */
export type Parameters = Readonly<Record<string, unknown>>;

export interface RestOptions {
  /** Headers in addition to those of the visitor. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters of the query string, with any method. */
  readonly query?: Parameters;
  /** Body and content type to send instead of a form. */
  readonly body?: { readonly type: string; readonly content: string | Buffer };
  readonly signal?: AbortSignal;
}

/** A client of one organization, with or without credentials. Its methods send every kind of request. */
export class Visitor {
  readonly url: string;
  /** The Host header, which selects the organization. */
  readonly host: string;
  readonly authorization: string | undefined;

  constructor({ url, host, authorization }: { url: string; host: string; authorization?: string | undefined }) {
    this.url = url;
    this.host = host;
    this.authorization = authorization;
  }

  /** Returns a visitor of this organization with other credentials. */
  as(authorization: string | undefined): Visitor {
    return new Visitor({ url: this.url, host: this.host, authorization });
  }

  get headers(): Record<string, string> {
    const { host, authorization } = this;
    return { host, ...(authorization !== undefined && { authorization }) };
  }

  /** Sends a REST request. @param path Path below /api/v1. */
  async rest(method: Method, path: string, parameters: Parameters = {}, options: RestOptions = {}): Promise<RestReply> {
    const inQuery = method === 'GET' || method === 'HEAD';
    const query = encode({ ...(inQuery && parameters), ...options.query });
    const body = options.body ?? formOf(inQuery ? {} : parameters);
    const { text, status, headers } = await send(this.url, {
      method,
      path: `/api/v1${path}${query === '' ? '' : `?${query}`}`,
      headers: { ...this.headers, ...(body.content !== '' && { 'content-type': body.type }), ...options.headers },
      body: body.content === '' ? undefined : body.content,
      signal: options.signal,
    });
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Sends a REST request that must succeed. @throws {Error} If the status is not 200. */
  async ok(method: Method, path: string, parameters: Parameters = {}, options: RestOptions = {}): Promise<Json> {
    const { status, body } = await this.rest(method, path, parameters, options);
    if (status !== 200) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** Sends an operation over HTTP. */
  async graphql(query: string, variables: Parameters = {}): Promise<GraphQLReply> {
    const { headers, body } = operationBody({ query, variables });
    const { text, status } = await send(this.url, {
      method: 'POST',
      path: '/graphql',
      headers: { ...this.headers, ...headers, accept: 'application/graphql-response+json' },
      body,
    });
    return { status, ...JSON.parse(text) };
  }

  /** Sends one operation over a WebSocket. @throws {Error} If no result arrives. */
  async graphqlOverSocket(query: string, variables: Parameters = {}): Promise<Json> {
    const client = webSocketClient(this);
    try {
      const operation = { query, variables: withGlobalIds(variables) };
      for await (const result of client.iterate(operation)) return result;
      throw new Error('No result came');
    } finally {
      await client.dispose();
    }
  }
}

/** A user with an account and an API key. */
export class Person extends Visitor {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly apiKey: string;
  readonly role: number;

  constructor(
    place: { url: string; host: string },
    account: { id: number; name: string; email: string; apiKey: string; role: number },
  ) {
    super({ ...place, authorization: basic(account.email, account.apiKey) });
    this.id = account.id;
    this.name = account.name;
    this.email = account.email;
    this.apiKey = account.apiKey;
    this.role = account.role;
  }

  /** Calls POST /register. @returns The whole response. */
  register(parameters: Parameters = {}): Promise<Json> {
    return this.ok('POST', '/register', parameters);
  }

  /** Calls GET /events. @returns The events. */
  async poll(queueId: string, lastEventId: number, { dontBlock = false } = {}): Promise<Json[]> {
    const parameters = { queue_id: queueId, last_event_id: lastEventId, ...(dontBlock && { dont_block: true }) };
    return (await this.ok('GET', '/events', parameters)).events;
  }

  /**
   * Registers a queue.
   *
   * @returns A function that reads all events since the registration, without their ids, as a REST client receives them.
   */
  async receiving(parameters: Parameters = {}): Promise<() => Promise<Json[]>> {
    const { queue_id, last_event_id } = await this.register({ fetch_event_types: [], ...parameters });
    return async () => {
      const events = await this.poll(queue_id, last_event_id, { dontBlock: true });
      return events.map(({ id: _, ...event }) => event);
    };
  }

  /**
   * Subscribes to events over GraphQL. Registers a new queue if none is given.
   *
   * @param selection Fields of `Event`, mostly in fragments.
   */
  async events(selection: string, options: Partial<StreamOptions> = {}): Promise<EventStream> {
    const queueId = options.queueId ?? (await this.register({ fetch_event_types: [] })).queue_id;
    return EventStream.open(this, selection, { ...options, queueId });
  }

  /**
   * Runs a mutation with one input, which must succeed.
   *
   * @param selection Fields of the payload.
   * @returns The payload.
   * @throws {Error} If the result is an error.
   */
  async mutate(name: string, input: Parameters, selection: string): Promise<Json> {
    const result = await this.tryMutation(name, input, selection);
    if (!result.__typename.endsWith('Payload')) throw new Error(`${name} ended in ${JSON.stringify(result)}`);
    const { __typename: _, ...payload } = result;
    return payload;
  }

  /**
   * Runs a mutation with one input.
   *
   * @returns The union: `__typename`, and the payload or `code` and `message`.
   * @throws {Error} If the response has errors.
   */
  async tryMutation(name: string, input: Parameters, selection = '__typename'): Promise<Json> {
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
    const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) {
      __typename ... on ${type}Payload { ${selection} } ... on ServiceError { code message }
    } }`;
    const { data, errors } = await this.graphql(query, { input });
    if (errors !== undefined) throw new Error(`${name} failed: ${JSON.stringify(errors)}`);
    return data[name];
  }

  /** Runs a query that must succeed. @returns Its data. @throws {Error} If the response has errors. */
  async query(document: string, variables: Parameters = {}): Promise<Json> {
    const { data, errors } = await this.graphql(document, variables);
    if (errors !== undefined) throw new Error(`The query failed: ${JSON.stringify(errors)}`);
    return data;
  }
}

export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function encode(parameters: Parameters): string {
  const fields = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, textOf(value)]);
  return new URLSearchParams(fields as [string, string][]).toString();
}

function formOf(parameters: Parameters): { readonly type: string; readonly content: string | Buffer } {
  if (!holdsFile(parameters)) return { type: 'application/x-www-form-urlencoded', content: encode(parameters) };
  const fields = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return multipart(fields.map(([name, value]) => [name, value instanceof Uint8Array ? value : textOf(value)]));
}

/** Returns the body of a GraphQL operation and its headers: multipart if its variables contain bytes, otherwise JSON. */
export function operationBody({
  query,
  variables,
  ...rest
}: {
  readonly query: string;
  readonly variables: Parameters;
}) {
  const operation = { ...rest, query, variables: withGlobalIds(variables) };
  if (!holdsFile(operation.variables)) {
    return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(operation) };
  }
  const { type, content } = multipartOperation(operation);
  return { headers: { 'content-type': type, ...PREFLIGHT }, body: content };
}
