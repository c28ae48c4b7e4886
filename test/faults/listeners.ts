import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import type { Json } from '../helpers/http.ts';
import type { Person } from './demo.ts';
import { NamedCounters } from './outcome.ts';
import { Client, CutOffError, hostHeader, type QueueStart } from './requests.ts';

/**
 * A subscription document. Draft events contain the presence of the draft's author, which the service must read for each
 * reader. All other selected fields are part of the events.
 */
const SUBSCRIPTION = `subscription Trial($queueId: String!) {
  events(queueId: $queueId) {
    position
    type
    ... on DraftsAddedEvent { drafts { ...Read } }
    ... on DraftUpdatedEvent { draft { ...Read } }
    ... on SavedSnippetAddedEvent { savedSnippet { id content } }
  }
}
fragment Read on Draft { id content author { fullName presence { activeAt } } }`;
/** Pause before a client reconnects, in milliseconds. It is short, so that a trial has time for many cuts. */
const AGAIN_MS = 15;
/** Time without data after which a client closes its connection, in milliseconds. */
const SILENCE_MS = 60_000;

/**
 * Events that one listener received over all its connections. `violations` lists events in the wrong order, unexpected
 * responses, and connection errors other than those that the trial causes by cutting connections.
 */
export class ReceivedEvents {
  /** Event ids, without heartbeats. */
  readonly ids = new Set<number>();
  /** Ids of transient events, which are not stored in the log. */
  readonly passing = new Set<number>();
  readonly violations = new NamedCounters();
  connections = 0;
  duplicates = 0;
  /** Number of events that arrived after an event with a higher id. */
  disordered = 0;
  heartbeats = 0;
  /** Longest time without an event since the start, in milliseconds. */
  longestSilenceMs = 0;
  #lastAt = performance.now();
  /** Highest event id received. The client assumes that it has received all events with lower ids. */
  highest: number;
  /** Whether the listener also receives events about other users' data. */
  readonly hearsOfOthers: boolean;
  #lastOnConnection = -1;

  constructor(startId: number, { hearsOfOthers = false }: { hearsOfOthers?: boolean } = {}) {
    this.highest = startId;
    this.hearsOfOthers = hearsOfOthers;
  }

  /** Records that a connection was accepted or that the first poll on it was answered. */
  connected(): void {
    this.connections++;
    this.#lastOnConnection = -1;
  }

  take(id: number, type: string): void {
    const now = performance.now();
    this.longestSilenceMs = Math.max(this.longestSilenceMs, now - this.#lastAt);
    this.#lastAt = now;
    if (id <= this.#lastOnConnection) this.#note(`${id} came after ${this.#lastOnConnection}`);
    this.#lastOnConnection = id;
    if (this.ids.has(id)) {
      this.duplicates++;
      return;
    }
    if (type === 'heartbeat') this.heartbeats++;
    else {
      // The client has already received a higher id, so it would have missed this event if it had resumed after that id.
      if (id <= this.highest) this.#note(`${id} came late, after ${this.highest}`);
      this.ids.add(id);
      if (type === 'presence' || type === 'typing') this.passing.add(id);
    }
    this.highest = Math.max(this.highest, id);
  }

  #note(disorder: string): void {
    this.disordered++;
    this.violations.add(disorder);
  }
}

/** A client that listens to one event queue during the whole trial, and reconnects whenever its connection breaks. */
export interface Listener {
  readonly name: string;
  readonly person: Person;
  readonly startId: number;
  readonly received: ReceivedEvents;
  stop(): Promise<void>;
}

export const TRANSPORTS = ['long poll', 'WebSocket', 'SSE'] as const;
export type Transport = (typeof TRANSPORTS)[number];

interface Connection {
  readonly url: string;
  readonly person: Person;
  readonly queueId: string;
  readonly received: ReceivedEvents;
  readonly signal: AbortSignal;
  readonly rest: (() => Promise<unknown>) | undefined;
}

/** Options that determine the behavior of a listener. */
interface Manner {
  readonly hearsOfOthers?: boolean;
  /** Pause between two polls. Undefined for clients that are not slow. */
  readonly rest?: () => Promise<unknown>;
}

const CONNECT: Readonly<Record<Transport, (line: Connection) => Promise<void>>> = {
  'long poll': pollOnce,
  WebSocket: socketOnce,
  SSE: streamOnce,
};

/**
 * Starts a listener.
 *
 * @param url Address to which the client connects: the server, or a proxy in front of it.
 */
export function listen(
  transport: Transport,
  url: string,
  person: Person,
  { queueId, startId, rest, ...hearing }: QueueStart & Manner,
): Listener {
  const received = new ReceivedEvents(startId, hearing);
  const stopped = new AbortController();
  const line: Connection = { url, person, queueId, received, signal: stopped.signal, rest };
  const run = async () => {
    while (!stopped.signal.aborted) {
      await CONNECT[transport](line);
      if (!stopped.signal.aborted) await sleep(AGAIN_MS);
    }
  };
  const running = run().catch((error: unknown) => received.violations.add(String(error)));
  return {
    name: `${transport} of the ${person.role}`,
    person,
    startId,
    received,
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

/** Records an error response as a violation, unless it means that the service is temporarily unavailable. */
function refused(received: ReceivedEvents, how: string, body: Json): void {
  received.violations.add(`${how}: ${JSON.stringify(body)}`);
}

/** Polls on one connection until the connection ends. Each poll acknowledges the events of the previous poll. */
async function pollOnce({ url, person, queueId, received, signal, rest }: Connection): Promise<void> {
  const client = new Client(url, person);
  signal.addEventListener('abort', () => client.close(), { once: true });
  try {
    for (let first = true; !signal.aborted; first = false) {
      const params = { queue_id: queueId, last_event_id: received.highest };
      const path = '/api/v1/events';
      const { status, body } = await client.send({ method: 'GET', path, params, patienceMs: SILENCE_MS });
      if (status === 503) return;
      if (status !== 200 || body === undefined)
        return refused(received, `GET /events was answered with ${status}`, body);
      if (first) received.connected();
      for (const { id, type } of body.events as { id: number; type: string }[]) received.take(id, type);
      await rest?.();
    }
  } catch (error) {
    if (!(error instanceof CutOffError) && !signal.aborted) received.violations.add(String(error));
  } finally {
    client.close();
  }
}

/**
 * Listens on one WebSocket until it closes. Subscribes with the same variables after each reconnect: the queue id, without a
 * position.
 */
async function socketOnce({ url, person, queueId, received, signal }: Connection): Promise<void> {
  const headers = hostHeader(url, person);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers });
  const say = (message: object) => socket.send(JSON.stringify(message));
  const stop = () => socket.terminate();
  signal.addEventListener('abort', stop, { once: true });
  socket.on('open', () => {
    received.connected();
    say({ type: 'connection_init', payload: { authorization: person.basic } });
  });
  socket.on('message', (data) => {
    const { type, payload } = JSON.parse(String(data)) as Json;
    if (type === 'connection_ack') {
      say({ id: 'trial', type: 'subscribe', payload: { query: SUBSCRIPTION, variables: { queueId } } });
    } else if (type === 'next' && payload.errors === undefined) takeEvent(payload.data.events, received);
    else if (type === 'ping') say({ type: 'pong', payload });
    else if (type !== 'pong' && !isPassing(payload)) refused(received, `the socket sent ${type}`, payload);
  });
  socket.on('error', () => {});
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  signal.removeEventListener('abort', stop);
}

/** Returns whether all errors mean that the service is temporarily unavailable. */
function isPassing(errors: Json): boolean {
  const list = Array.isArray(errors) ? errors : (errors?.errors ?? []);
  return list.length > 0 && list.every((error: Json) => error?.extensions?.code === 'REQUEST_TIMEOUT');
}

/**
 * Listens on one event stream until it closes. Sends the last received position in the header Last-Event-ID, as browsers do.
 */
async function streamOnce({ url, person, queueId, received, signal }: Connection): Promise<void> {
  const query = new URLSearchParams({ query: SUBSCRIPTION, variables: JSON.stringify({ queueId }) });
  const { promise, resolve } = Promise.withResolvers<void>();
  const headers = {
    accept: 'text/event-stream',
    authorization: person.basic,
    ...hostHeader(url, person),
    ...(received.ids.size > 0 && { 'last-event-id': String(received.highest) }),
  };
  const outgoing = get(`${url}/graphql?${query}`, { headers, signal, agent: false }, (incoming) => {
    incoming.on('error', () => {});
    incoming.on('close', () => resolve());
    received.connected();
    if (incoming.statusCode === 200) readFrames(incoming, received);
    else void readRefusal(incoming, received);
  });
  outgoing.on('error', () => resolve());
  outgoing.on('close', () => resolve());
  await promise;
}

function readFrames(incoming: IncomingMessage, received: ReceivedEvents): void {
  let rest = '';
  incoming.setEncoding('utf8').on('data', (text: string) => {
    const frames = (rest + text).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) takeFrame(frame, received);
  });
}

function takeFrame(frame: string, received: ReceivedEvents): void {
  const fields = new Map(
    frame.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  if (fields.get('event') === 'complete') refused(received, 'the event stream', 'complete');
  const data = fields.get('data');
  // A comment, the reconnection delay or the end of the stream is not an event.
  if (data === undefined || data === '') return;
  const { data: result, errors } = JSON.parse(data) as Json;
  if (errors !== undefined) refused(received, 'the event stream', errors);
  else if (String(result.events.position) !== fields.get('id'))
    refused(received, `the frame ${fields.get('id')}`, result);
  else takeEvent(result.events, received);
}

function takeEvent(event: Json, received: ReceivedEvents): void {
  const { position, type, drafts = [], draft } = event;
  // Drafts are never deleted in a trial, so each must be readable by its author. Drafts of other users are null.
  const read: Json[] = [...drafts, ...(draft === undefined ? [] : [draft])];
  const isWhole = (one: Json) => (one === null ? received.hearsOfOthers : typeof one.author?.fullName === 'string');
  if (!read.every(isWhole)) refused(received, `the event ${position}`, event);
  received.take(position, type.toLowerCase());
}

async function readRefusal(incoming: IncomingMessage, received: ReceivedEvents): Promise<void> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch {
    return;
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (incoming.complete && incoming.statusCode !== 503 && incoming.statusCode !== 502)
    refused(received, `the event stream was answered with ${incoming.statusCode}`, text);
}

/** Returns a sentence for each listener that had to reconnect, for trials in which no connection should break. */
export const reconnectedOf = (listeners: readonly Listener[]): string[] =>
  listeners
    .filter(({ received }) => received.connections > 1)
    .map(({ name, received }) => `${name} needed ${received.connections} connections`);

/** Waits until `done` returns true, at most `patienceMs` milliseconds. Returns whether it did. */
export async function eventually(done: () => boolean, patienceMs: number): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (!done()) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

/** Time without any event, in milliseconds, after which all events count as received. */
const QUIET_MS = 1_500;
const CATCH_UP_MS = 20_000;

/** Waits until the listeners have received the remaining events, then stops them. */
export async function quieten(listeners: readonly Listener[]): Promise<void> {
  let last = { received: -1, at: performance.now() };
  await eventually(() => {
    const received = listeners.reduce((sum, listener) => sum + listener.received.ids.size, 0);
    if (received !== last.received) last = { received, at: performance.now() };
    return performance.now() - last.at > QUIET_MS;
  }, CATCH_UP_MS);
  await Promise.all(listeners.map((listener) => listener.stop()));
}
