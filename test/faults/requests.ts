import { Agent, request } from 'node:http';
import type { Json } from '../helpers/http.ts';
import type { Person } from './demo.ts';

/** Timeout of a request, in milliseconds. Every answer arrives sooner, unless it is lost. */
const PATIENCE_MS = 20_000;

export class ClientReply {
  readonly status: number;
  readonly bytes: Buffer;

  constructor(status: number, bytes: Buffer) {
    this.status = status;
    this.bytes = bytes;
  }

  /** Parses the body as JSON, again on each access. Undefined if it is not JSON. */
  get body(): Json {
    try {
      return JSON.parse(this.bytes.toString('utf8'));
    } catch {
      return undefined;
    }
  }
}

/**
 * Thrown if the connection ends before the complete answer has arrived. If the request was sent, the service may have made the
 * change.
 */
export class CutOffError extends Error {
  override name = 'CutOffError';
  readonly sent: boolean;

  constructor(message: string, { sent = true } = {}) {
    super(message);
    this.sent = sent;
  }
}

/** Thrown if neither an answer nor the end of the connection arrives within the timeout. */
export class SilenceError extends Error {
  override name = 'SilenceError';
}

interface Sent {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path of the URL, from the root. */
  readonly path: string;
  /** Query parameters of a GET request, otherwise form fields. Values that are not strings are sent as JSON. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** JSON body, instead of `params`. */
  readonly json?: unknown;
  readonly patienceMs?: number;
}

/** Returns the Host header that selects the user's organization. Empty for the demo organization. */
export const hostHeader = (url: string, { subdomain }: Person): { readonly host?: string } =>
  subdomain === undefined ? {} : { host: `${subdomain}.localhost:${new URL(url).port}` };

/**
 * A client that sends requests as one user. It never repeats a request, because a request without an answer may have been
 * executed.
 */
export class Client {
  readonly person: Person;
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, person: Person) {
    this.#url = url;
    this.person = person;
    this.#headers = { authorization: person.basic, ...hostHeader(url, person) };
  }

  /**
   * Sends a request and reads the whole answer.
   *
   * @throws {CutOffError} If the connection ends before the answer is complete.
   * @throws {SilenceError} If neither happens within `patienceMs`.
   */
  send({ method, path, params = {}, json, patienceMs = PATIENCE_MS }: Sent): Promise<ClientReply> {
    const form = new URLSearchParams(
      Object.entries(params).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    ).toString();
    const { promise, resolve, reject } = Promise.withResolvers<ClientReply>();
    const target = method === 'GET' && form !== '' ? `${path}?${form}` : path;
    const body = json === undefined ? form : JSON.stringify(json);
    const contentType = json === undefined ? 'application/x-www-form-urlencoded' : 'application/json';
    const outgoing = request(`${this.#url}${target}`, {
      method,
      agent: this.#agent,
      headers: {
        ...this.#headers,
        // Without this, Node.js sends the body of a DELETE without Content-Length.
        ...(method !== 'GET' && { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }),
      },
    });
    const late = setTimeout(() => {
      reject(new SilenceError(`${method} ${path} was not answered within ${patienceMs / 1000} s`));
      outgoing.destroy();
    }, patienceMs);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        // A proxy answers this if its connection to the service ended before the answer.
        if (incoming.statusCode === 502) reject(new CutOffError('The service ended before its answer'));
        else if (incoming.complete) resolve(new ClientReply(incoming.statusCode ?? 0, Buffer.concat(chunks)));
      });
      incoming.on('error', ({ message }) => reject(new CutOffError(message)));
      incoming.on('close', () => reject(new CutOffError('The answer was cut off')));
    });
    outgoing.on('error', (error) => {
      reject(new CutOffError(error.message, { sent: (error as { code?: unknown }).code !== 'ECONNREFUSED' }));
    });
    outgoing.end(method === 'GET' ? undefined : body);
    return promise.finally(() => clearTimeout(late));
  }

  rest(method: Sent['method'], path: string, params: Readonly<Record<string, unknown>> = {}): Promise<ClientReply> {
    return this.send({ method, path: `/api/v1${path}`, params });
  }

  graphql(query: string, variables: Readonly<Record<string, unknown>> = {}): Promise<ClientReply> {
    return this.send({ method: 'POST', path: '/graphql', json: { query, variables } });
  }

  /** Sends a REST request that must succeed. @returns The response body. @throws {Error} If the status is not 200. */
  async ask(method: Sent['method'], path: string, params: Readonly<Record<string, unknown>> = {}): Promise<Json> {
    const { status, body } = await this.rest(method, path, params);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Registers an event queue for all events, or for those that `options` select. */
  async register(options: Readonly<Record<string, unknown>> = {}): Promise<QueueStart> {
    const params = { fetch_event_types: [], idle_queue_timeout: 86_400, ...options };
    const { queue_id, last_event_id } = await this.ask('POST', '/register', params);
    return { queueId: queue_id, startId: last_event_id };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** An event queue, and the last event id at the time of its registration. */
export interface QueueStart {
  readonly queueId: string;
  readonly startId: number;
}
