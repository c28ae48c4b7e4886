import { Agent, request } from 'node:http';
import type { Json } from '../helpers/http.ts';
import type { Person } from './demo.ts';

/** Longer than any answer takes that is not lost. */
const PATIENCE_MS = 20_000;

export interface Answer {
  readonly status: number;
  /** Undefined when it is not JSON. */
  readonly body: Json;
}

/** The connection ended before the whole answer was there: whether the change was made is not known, if it was sent. */
export class CutOffError extends Error {
  override name = 'CutOffError';
  readonly sent: boolean;

  constructor(message: string, { sent = true } = {}) {
    super(message);
    this.sent = sent;
  }
}

/** Neither an answer nor an end came. */
export class SilenceError extends Error {
  override name = 'SilenceError';
}

interface Sent {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** From the root. */
  readonly path: string;
  /** Goes into the query of a GET, else into a form; JSON unless it is text. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** In place of `params`: a JSON body. */
  readonly json?: unknown;
  readonly patienceMs?: number;
}

/** Says which organisation is asked, where it is not the demo one. */
export const hostHeader = (url: string, { subdomain }: Person): { readonly host?: string } =>
  subdomain === undefined ? {} : { host: `${subdomain}.localhost:${new URL(url).port}` };

/** Sends requests as one person. Never sends anything twice: after a cut nobody knows what was done. */
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

  /** @throws CutOffError, SilenceError */
  send({ method, path, params = {}, json, patienceMs = PATIENCE_MS }: Sent): Promise<Answer> {
    const form = new URLSearchParams(
      Object.entries(params).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    ).toString();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const target = method === 'GET' && form !== '' ? `${path}?${form}` : path;
    const contentType = json === undefined ? 'application/x-www-form-urlencoded' : 'application/json';
    const outgoing = request(`${this.#url}${target}`, {
      method,
      agent: this.#agent,
      headers: { ...this.#headers, ...(method !== 'GET' && { 'content-type': contentType }) },
    });
    const late = setTimeout(() => {
      reject(new SilenceError(`${method} ${path} was not answered in ${patienceMs / 1000} s`));
      outgoing.destroy();
    }, patienceMs);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        if (incoming.complete) resolve({ status: incoming.statusCode ?? 0, body: parsed(Buffer.concat(chunks)) });
      });
      incoming.on('error', ({ message }) => reject(new CutOffError(message)));
      incoming.on('close', () => reject(new CutOffError('The answer was cut off')));
    });
    outgoing.on('error', (error) => {
      reject(new CutOffError(error.message, { sent: (error as { code?: unknown }).code !== 'ECONNREFUSED' }));
    });
    outgoing.end(method === 'GET' ? undefined : json === undefined ? form : JSON.stringify(json));
    return promise.finally(() => clearTimeout(late));
  }

  rest(method: Sent['method'], path: string, params: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    return this.send({ method, path: `/api/v1${path}`, params });
  }

  graphql(query: string, variables: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    return this.send({ method: 'POST', path: '/graphql', json: { query, variables } });
  }

  /** @throws Error unless the answer is a success. */
  async ask(method: Sent['method'], path: string, params: Readonly<Record<string, unknown>> = {}): Promise<Json> {
    const { status, body } = await this.rest(method, path, params);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Makes a queue, for everything unless `options` say otherwise. */
  async register(options: Readonly<Record<string, unknown>> = {}): Promise<QueueStart> {
    const params = { fetch_event_types: [], idle_queue_timeout: 86_400, ...options };
    const { queue_id, last_event_id } = await this.ask('POST', '/register', params);
    return { queueId: queue_id, startId: last_event_id };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A queue, and the log's end when it was made. */
export interface QueueStart {
  readonly queueId: string;
  readonly startId: number;
}

function parsed(bytes: Buffer): Json {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
