import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { type Client, createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { type Json, open } from './http.ts';

/** Maximum wait for an event, in milliseconds. Long enough while other tests run on the same machine. */
const PATIENCE_MS = 60_000;

export interface StreamOptions {
  readonly queueId: string;
  /** Position in the event log after which the stream starts. Default: the last acknowledged position of the queue. */
  readonly after?: number | undefined;
  /** Transport of the stream. Default: WebSocket. */
  readonly transport?: 'ws' | 'sse' | undefined;
  /** Whether `next` returns heartbeats. Otherwise they are skipped. */
  readonly heartbeats?: boolean | undefined;
  /** Over SSE: the `Last-Event-ID` header that a browser sends when it reconnects. */
  readonly lastEventId?: number | undefined;
}

/** The address of the server and the headers of the user. */
export interface Connection {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The end of a stream: completed by the protocol, failed with errors, or a closed connection. */
export interface StreamEnd {
  readonly how: 'complete' | 'errors' | 'closed';
  readonly errors?: Json;
  /** Close code of a WebSocket. */
  readonly code?: number;
}

interface Arrived {
  readonly event: Json;
  readonly id: number;
  readonly type: string;
}

/** A client's subscription to `events`. Events are kept until the test reads them. */
export class EventStream implements AsyncDisposable {
  readonly ended: Promise<StreamEnd>;
  readonly #heartbeats: boolean;
  readonly #waiting: Arrived[] = [];
  readonly #end = Promise.withResolvers<StreamEnd>();
  #over: StreamEnd | undefined;
  #wake = Promise.withResolvers<void>();
  #lastId: number | undefined;
  #close: () => void = () => {};

  constructor({ heartbeats = false }: Pick<StreamOptions, 'heartbeats'>) {
    this.#heartbeats = heartbeats;
    this.ended = this.#end.promise;
  }

  /** The id of the last event that `next` returned or skipped. */
  get lastId(): number | undefined {
    return this.#lastId;
  }

  /**
   * Opens a subscription to `events`.
   *
   * @param selection Fields of `Event`, mostly in fragments: "id ... on DraftsAddedEvent { drafts { content } }".
   */
  static async open(connection: Connection, selection: string, options: StreamOptions): Promise<EventStream> {
    const stream = new EventStream(options);
    const { queueId, after } = options;
    const query = `subscription ($queueId: String!, $after: LongId) {
      events(queueId: $queueId, after: $after) { _id: position _type: type ${selection} }
    }`;
    const operation = { query, variables: { queueId, ...(after !== undefined && { after }) } };
    if (options.transport === 'sse') await overSse(stream, connection, operation, options.lastEventId);
    else await overWebSocket(stream, connection, operation);
    return stream;
  }

  /**
   * Returns the next event with the selected fields.
   *
   * @throws {Error} If the stream ends, or no event arrives in a minute.
   */
  async next(): Promise<Json> {
    return (await this.#next('an event')).event;
  }

  /** Returns the next `count` events. @throws {Error} If the stream ends, or a minute passes without an event. */
  async take(count: number): Promise<Json[]> {
    const taken: Json[] = [];
    while (taken.length < count) taken.push((await this.#next(`event ${taken.length + 1} of ${count}`)).event);
    return taken;
  }

  /** Closes the connection abruptly, without a closing message. */
  cut(): void {
    this.#close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }

  async #next(what: string): Promise<Arrived> {
    const late = Symbol('late');
    const timeout = AbortSignal.timeout(PATIENCE_MS);
    const expiry = new Promise<typeof late>((resolve) => timeout.addEventListener('abort', () => resolve(late)));
    for (;;) {
      const arrived = this.#waiting.shift();
      if (arrived !== undefined) {
        this.#lastId = arrived.id;
        if (arrived.type === 'HEARTBEAT' && !this.#heartbeats) continue;
        return arrived;
      }
      if (this.#over !== undefined)
        throw new Error(`Expected ${what}, but the stream ended: ${JSON.stringify(this.#over)}`);
      if ((await Promise.race([this.#wake.promise, expiry])) === late) {
        throw new Error(`Expected ${what}, but none came in ${PATIENCE_MS / 1000} s after id ${this.#lastId}`);
      }
    }
  }

  /** Stores a result of the subscription. Called by the transports. */
  arrive(result: Json): void {
    if (result.errors !== undefined) {
      this.finish({ how: 'errors', errors: result.errors });
      return;
    }
    const { _id: id, _type: type, ...event } = result.data.events;
    this.#waiting.push({ id, type, event });
    this.#notify();
  }

  /** Ends the stream. Called by the transports. Calls after the first have no effect. */
  finish(end: StreamEnd): void {
    this.#over ??= end;
    this.#end.resolve(this.#over);
    this.#notify();
  }

  /** Sets the function that closes the connection. Called by the transports. */
  onClose(close: () => void): void {
    this.#close = close;
  }

  #notify(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}

interface Operation {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Creates a graphql-ws client that does not reconnect. Tests reconnect explicitly. */
export function webSocketClient({ url, headers }: Connection, onClosed?: (code: number) => void): Client {
  const { authorization, ...others } = headers;
  class Socket extends WebSocket {
    constructor(address: string, protocol: string) {
      super(address, protocol, { headers: others });
    }
  }
  return createClient({
    url: `${url.replace(/^http/, 'ws')}/graphql`,
    webSocketImpl: Socket,
    retryAttempts: 0,
    ...(authorization !== undefined && { connectionParams: { authorization } }),
    on: { closed: (event) => onClosed?.((event as { code: number }).code) },
  });
}

async function overWebSocket(stream: EventStream, connection: Connection, operation: Operation): Promise<void> {
  const client = webSocketClient(connection, (code) => stream.finish({ how: 'closed', code }));
  const connected = new Promise<void>((resolve) => client.on('connected', () => resolve()));
  client.subscribe(operation, {
    next: (result) => stream.arrive(result),
    error: (error) => stream.finish(Array.isArray(error) ? { how: 'errors', errors: error } : closedBy(error)),
    complete: () => stream.finish({ how: 'complete' }),
  });
  stream.onClose(() => client.terminate());
  await Promise.race([connected, stream.ended]);
}

function closedBy(error: unknown): StreamEnd {
  const { code } = error as { code?: number };
  return code === undefined ? { how: 'closed' } : { how: 'closed', code };
}

async function overSse(
  stream: EventStream,
  { url, headers }: Connection,
  operation: Operation,
  lastEventId: number | undefined,
): Promise<void> {
  const response = await open(url, {
    method: 'POST',
    path: '/graphql',
    headers: {
      ...headers,
      accept: 'text/event-stream',
      'content-type': 'application/json',
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    },
    body: JSON.stringify(operation),
  });
  stream.onClose(() => response.destroy());
  response.on('error', () => stream.finish({ how: 'closed' }));
  // Does not wait for 'close', which is emitted before the last frames have been read.
  void readFrames(stream, response)
    .catch(() => {})
    .finally(() => stream.finish({ how: 'closed' }));
}

async function readFrames(stream: EventStream, response: IncomingMessage): Promise<void> {
  let [event, data] = ['', ''];
  for await (const line of createInterface({ input: response })) {
    if (response.statusCode !== 200) stream.finish({ how: 'errors', errors: JSON.parse(line).errors });
    else if (line.startsWith('event: ')) event = line.slice(7);
    else if (line.startsWith('data: ')) data = line.slice(6);
    else if (line === '') {
      if (event === 'next') stream.arrive(JSON.parse(data));
      if (event === 'complete') stream.finish({ how: 'complete' });
      [event, data] = ['', ''];
    }
  }
}
