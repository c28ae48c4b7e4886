import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import type { Json } from '../helpers/http.ts';
import type { Person } from './demo.ts';
import { Tally } from './outcome.ts';
import { Client, CutOffError, hostHeader, type QueueStart } from './requests.ts';

/** Drafts have to be read for their reader, as no event knows of whom they are when they were last there; others not. */
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
/** How long a client waits before it connects again: short, so that many cuts fit into a trial. */
const AGAIN_MS = 15;
/** A connection on which nothing comes for this long is given up by the client. */
const SILENCE_MS = 60_000;

/** What one listener heard over all its connections, and what was wrong with it. */
export class Heard {
  /** Without heartbeats. */
  readonly ids = new Set<number>();
  /** Of these, those that are for the moment, and do not stay in the log. */
  readonly passing = new Set<number>();
  readonly violations = new Tally();
  connections = 0;
  duplicates = 0;
  /** How often something came after what is later. */
  disordered = 0;
  heartbeats = 0;
  /** The longest that nothing came, from when it began to listen on. */
  longestSilenceMs = 0;
  #lastAt = performance.now();
  /** Everything up to here has come, as far as the client can tell. */
  highest: number;
  /** Whether events are of others' things as well. */
  readonly hearsOfOthers: boolean;
  #lastOnConnection = -1;

  constructor(startId: number, { hearsOfOthers = false }: { hearsOfOthers?: boolean } = {}) {
    this.highest = startId;
    this.hearsOfOthers = hearsOfOthers;
  }

  /** A connection was made, or its first poll answered. */
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
      // It was passed over before: a client that goes by the highest id would never have got it.
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

/** A client that listens to one queue for as long as the trial lasts, however often its connection breaks. */
export interface Listener {
  readonly name: string;
  readonly person: Person;
  readonly startId: number;
  readonly heard: Heard;
  stop(): Promise<void>;
}

export const TRANSPORTS = ['long poll', 'WebSocket', 'SSE'] as const;
export type Transport = (typeof TRANSPORTS)[number];

interface Line {
  readonly url: string;
  readonly person: Person;
  readonly queueId: string;
  readonly heard: Heard;
  readonly signal: AbortSignal;
  readonly rest: (() => Promise<unknown>) | undefined;
}

/** How a client listens. */
interface Manner {
  readonly hearsOfOthers?: boolean;
  /** What a slow client does between two polls. */
  readonly rest?: () => Promise<unknown>;
}

const CONNECT: Readonly<Record<Transport, (line: Line) => Promise<void>>> = {
  'long poll': pollOnce,
  WebSocket: socketOnce,
  SSE: streamOnce,
};

/** @param url Where the client connects: the server, or what stands before it. */
export function listen(
  transport: Transport,
  url: string,
  person: Person,
  { queueId, startId, rest, ...hearing }: QueueStart & Manner,
): Listener {
  const heard = new Heard(startId, hearing);
  const stopped = new AbortController();
  const line: Line = { url, person, queueId, heard, signal: stopped.signal, rest };
  const run = async () => {
    while (!stopped.signal.aborted) {
      await CONNECT[transport](line);
      if (!stopped.signal.aborted) await sleep(AGAIN_MS);
    }
  };
  const running = run().catch((error: unknown) => heard.violations.add(String(error)));
  return {
    name: `${transport} of the ${person.role}`,
    person,
    startId,
    heard,
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

/** Says what is wrong with an answer that ends a listener's hope: anything but "try again". */
function refused(heard: Heard, how: string, body: Json): void {
  heard.violations.add(`${how}: ${JSON.stringify(body)}`);
}

/** One connection's life as a long poll: poll after poll, each acknowledging what the last brought. */
async function pollOnce({ url, person, queueId, heard, signal, rest }: Line): Promise<void> {
  const client = new Client(url, person);
  signal.addEventListener('abort', () => client.close(), { once: true });
  try {
    for (let first = true; !signal.aborted; first = false) {
      const params = { queue_id: queueId, last_event_id: heard.highest };
      const path = '/api/v1/events';
      const { status, body } = await client.send({ method: 'GET', path, params, patienceMs: SILENCE_MS });
      if (status === 503) return;
      if (status !== 200 || body === undefined) return refused(heard, `GET /events answered ${status}`, body);
      if (first) heard.connected();
      for (const { id, type } of body.events as { id: number; type: string }[]) heard.take(id, type);
      await rest?.();
    }
  } catch (error) {
    if (!(error instanceof CutOffError) && !signal.aborted) heard.violations.add(String(error));
  } finally {
    client.close();
  }
}

/** One WebSocket. The variables are the first ones, always: the queue, and no position. */
async function socketOnce({ url, person, queueId, heard, signal }: Line): Promise<void> {
  const headers = hostHeader(url, person);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers });
  const say = (message: object) => socket.send(JSON.stringify(message));
  const stop = () => socket.terminate();
  signal.addEventListener('abort', stop, { once: true });
  socket.on('open', () => {
    heard.connected();
    say({ type: 'connection_init', payload: { authorization: person.basic } });
  });
  socket.on('message', (data) => {
    const { type, payload } = JSON.parse(String(data)) as Json;
    if (type === 'connection_ack') {
      say({ id: 'trial', type: 'subscribe', payload: { query: SUBSCRIPTION, variables: { queueId } } });
    } else if (type === 'next' && payload.errors === undefined) takeEvent(payload.data.events, heard);
    else if (type === 'ping') say({ type: 'pong', payload });
    else if (type !== 'pong' && !isPassing(payload)) refused(heard, `the socket said ${type}`, payload);
  });
  socket.on('error', () => {});
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  signal.removeEventListener('abort', stop);
}

/** Whether errors only say that the service cannot answer just now. */
function isPassing(errors: Json): boolean {
  const list = Array.isArray(errors) ? errors : (errors?.errors ?? []);
  return list.length > 0 && list.every((error: Json) => error?.extensions?.code === 'REQUEST_TIMEOUT');
}

/** One event stream. The position goes as browsers send it, in Last-Event-ID. */
async function streamOnce({ url, person, queueId, heard, signal }: Line): Promise<void> {
  const query = new URLSearchParams({ query: SUBSCRIPTION, variables: JSON.stringify({ queueId }) });
  const { promise, resolve } = Promise.withResolvers<void>();
  const headers = {
    accept: 'text/event-stream',
    authorization: person.basic,
    ...hostHeader(url, person),
    ...(heard.ids.size > 0 && { 'last-event-id': String(heard.highest) }),
  };
  const outgoing = get(`${url}/graphql?${query}`, { headers, signal, agent: false }, (incoming) => {
    incoming.on('error', () => {});
    incoming.on('close', () => resolve());
    heard.connected();
    if (incoming.statusCode === 200) readFrames(incoming, heard);
    else void readRefusal(incoming, heard);
  });
  outgoing.on('error', () => resolve());
  outgoing.on('close', () => resolve());
  await promise;
}

function readFrames(incoming: IncomingMessage, heard: Heard): void {
  let rest = '';
  incoming.setEncoding('utf8').on('data', (text: string) => {
    const frames = (rest + text).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) takeFrame(frame, heard);
  });
}

function takeFrame(frame: string, heard: Heard): void {
  const fields = new Map(
    frame.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  if (fields.get('event') === 'complete') refused(heard, 'the event stream', 'complete');
  const data = fields.get('data');
  // A comment, the wish for a pause, or the end: none of them is an event.
  if (data === undefined || data === '') return;
  const { data: result, errors } = JSON.parse(data) as Json;
  if (errors !== undefined) refused(heard, 'the event stream', errors);
  else if (String(result.events.position) !== fields.get('id')) refused(heard, `the frame ${fields.get('id')}`, result);
  else takeEvent(result.events, heard);
}

function takeEvent(event: Json, heard: Heard): void {
  const { position, type, drafts = [], draft } = event;
  // None is deleted in a trial: what could not be read must not have come. Another's is nothing to see.
  const read: Json[] = [...drafts, ...(draft === undefined ? [] : [draft])];
  const isWhole = (one: Json) => (one === null ? heard.hearsOfOthers : typeof one.author?.fullName === 'string');
  if (!read.every(isWhole)) refused(heard, `the event ${position}`, event);
  heard.take(position, type.toLowerCase());
}

async function readRefusal(incoming: IncomingMessage, heard: Heard): Promise<void> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch {
    return;
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (incoming.complete && incoming.statusCode !== 503)
    refused(heard, `the event stream answered ${incoming.statusCode}`, text);
}

/** Whose connection did not last, where none was to break. */
export const reconnectedOf = (listeners: readonly Listener[]): string[] =>
  listeners
    .filter(({ heard }) => heard.connections > 1)
    .map(({ name, heard }) => `${name} took ${heard.connections} connections`);

/** Waits until `done`, at most `patienceMs`. Returns whether it came to be. */
export async function eventually(done: () => boolean, patienceMs: number): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (!done()) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

/** How long nobody must have heard anything for all to have heard everything. */
const QUIET_MS = 1_500;
const CATCH_UP_MS = 20_000;

/** Gives the listeners the time to get what is left for them, then ends them. */
export async function quieten(listeners: readonly Listener[]): Promise<void> {
  let last = { heard: -1, at: performance.now() };
  await eventually(() => {
    const heard = listeners.reduce((sum, listener) => sum + listener.heard.ids.size, 0);
    if (heard !== last.heard) last = { heard, at: performance.now() };
    return performance.now() - last.at > QUIET_MS;
  }, CATCH_UP_MS);
  await Promise.all(listeners.map((listener) => listener.stop()));
}
