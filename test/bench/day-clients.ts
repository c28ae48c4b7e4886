import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DocumentNode, print } from 'graphql';
import {
  AddReactionDocument,
  EventsDocument,
  MarkReadDocument,
  PresencesDocument,
  RecordPresenceDocument,
  RegisterDocument,
  SendMessageDocument,
  SetTypingDocument,
  TimelineDocument,
} from '../../src/web/generated/graphql.ts';
import { NamedCounters } from '../faults/outcome.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { RawEventStream } from './raw-event-stream.ts';
import { RawHttp, requestBytes } from './raw-http.ts';
import type { RawSocket } from './raw-socket.ts';
import { receiving, subscribe } from './subscribers.ts';

/** Kinds of desktop clients. `page`: the chat page. `poll`: REST and long polls. `stream`: GraphQL and server-sent events. */
export type ClientKind = 'page' | 'poll' | 'stream';

/** A person for whom the load generator acts. */
export interface PersonInput {
  readonly id: number;
  readonly email: string;
  readonly basic: string;
  /** Port of the node to which the person's clients connect. */
  readonly port: number;
  readonly kind: ClientKind;
  /** Queue of the desktop client. Undefined: the person signs in during the simulation. */
  readonly queueId: string | undefined;
  /** Queue of the phone. Undefined: the person uses no phone. */
  readonly phoneQueueId: string | undefined;
}

/** The topic of a channel, or the users, to which a message is sent or of which messages are read. */
export type Place = { readonly channelId: number; readonly topic: string } | { readonly to: readonly number[] };

const text = (document: DocumentNode) => print(document);
const [EVENTS, REGISTER, TIMELINE] = [text(EventsDocument), text(RegisterDocument), text(TimelineDocument)];
const [SEND, TYPING, MARK, REACT] = [SendMessageDocument, SetTypingDocument, MarkReadDocument, AddReactionDocument].map(
  text,
) as [string, string, string, string];
const [PRESENCE, PRESENCES] = [text(RecordPresenceDocument), text(PresencesDocument)];

/** Time without use after which a connection is not used again, in milliseconds. The service closes it after 75 s. */
const UNUSED_MS = 30_000;
/** Maximum number of messages that a client marks as read in one request, as the page does. */
const MARKED_AT_ONCE = 200;
/** Marker in the content of some messages. The time of their send request follows it. */
const SENT_AT = Buffer.from('§');

/** Thrown if the service refuses a request. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}

/**
 * Pool of kept-alive connections to a node. All people share it, as behind a proxy, because connections of their own would
 * exceed the number of files that a process may open.
 */
class Connections {
  readonly #port: number;
  readonly #free: { readonly connection: RawHttp; readonly since: number }[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  async ask(request: Buffer): Promise<{ status: number; body: Buffer }> {
    const last = this.#free.pop();
    const isFresh = last !== undefined && performance.now() - last.since < UNUSED_MS;
    if (last !== undefined && !isFresh) last.connection.close();
    const connection = isFresh ? last.connection : await RawHttp.connect(this.#port);
    try {
      const reply = await connection.askBytes(request);
      this.#free.push({ connection, since: performance.now() });
      return reply;
    } catch (error) {
      connection.close();
      throw error;
    }
  }
}

const connections = new Map<number, Connections>();

/** Figures of deliveries to all clients, and the reasons for which clients had to connect again. */
export const deliveries = { count: 0, delays: [] as number[], interruptions: new NamedCounters() };

/** Pause after which a client connects again, and number of attempts. */
const [AGAIN_MS, ATTEMPTS] = [1_000, 30];

/** Returns the text that is appended to the content of a message, so that its recipients can measure the delay. */
export const timeMark = (): string => ` §${Date.now()}`;

const onFrame = receiving((_socket, bytes, start, end) => {
  deliveries.count++;
  // The part of the buffer before `end` is searched. The rest of the buffer belongs to other frames.
  const at = bytes.subarray(start, end).indexOf(SENT_AT);
  if (at === -1) return;
  const from = start + at + SENT_AT.length;
  const sentAt = Number(bytes.toString('latin1', from, from + 13));
  if (sentAt > 0) deliveries.delays.push(Math.max(0, Date.now() - sentAt));
});

/** A person with a desktop client and possibly a phone. */
export class DayPerson {
  readonly input: PersonInput;
  readonly #host: string;
  #queueId: string | undefined;
  #socket: RawSocket | RawEventStream | RawHttp | undefined;
  /** Incremented when the desktop client closes its connection, so that its long poll ends. */
  #connection = 0;
  #position = -1;
  /** -1 is the start of the queue. */
  #phonePosition = -1;
  #presenceVersion: number;
  isOnline = false;
  isOnPhone = false;
  /** Ids of the messages that the person read most recently. */
  seen: number[] = [];

  /** @param presenceVersion Number of the last change of a presence that the person's client has read. */
  constructor(
    input: PersonInput,
    { host, presenceVersion }: { readonly host: string; readonly presenceVersion: number },
  ) {
    this.input = input;
    this.#host = host;
    this.#queueId = input.queueId;
    this.#presenceVersion = presenceVersion;
  }

  /** Opens the connection on which the desktop client receives events. Tries again if the service is temporarily unavailable. */
  async connect(): Promise<void> {
    this.isOnline = true;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#open();
      } catch (error) {
        deliveries.interruptions.add(String(error).slice(0, 100));
        if (attempt === ATTEMPTS) throw error;
        await sleep(AGAIN_MS);
      }
    }
  }

  async #open(): Promise<void> {
    const { port, kind, basic } = this.input;
    const queueId = this.#queueId;
    if (queueId === undefined) throw new Error('There is no queue');
    if (kind === 'page') {
      this.#socket = await subscribe(
        { port, query: EVENTS, onText: onFrame },
        { authorization: basic, queueId, host: this.#host },
      );
    } else if (kind === 'stream') {
      const query = new URLSearchParams({ query: EVENTS, variables: JSON.stringify({ queueId }) });
      const request = this.#bytes('GET', `/graphql?${query}`, { Accept: 'text/event-stream' });
      this.#socket = await RawEventStream.open(port, request, (count) => {
        deliveries.count += count;
      });
    } else {
      const connection = await RawHttp.connect(port);
      this.#socket = connection;
      void this.#poll(connection, ++this.#connection);
    }
  }

  disconnect(): void {
    this.#connection++;
    this.#socket?.close();
    this.isOnline = false;
  }

  async #poll(connection: RawHttp, number: number): Promise<void> {
    try {
      while (number === this.#connection) {
        const path = `/api/v1/events?queue_id=${this.#queueId}&last_event_id=${this.#position}`;
        const { status, body } = await connection.askBytes(this.#bytes('GET', path));
        if (status !== 200) {
          deliveries.interruptions.add(`GET /events: ${status} ${body}`);
          await sleep(AGAIN_MS);
          continue;
        }
        const { events } = JSON.parse(body.toString('utf8')) as { events: { id: number }[] };
        deliveries.count += events.length;
        this.#position = events.at(-1)?.id ?? this.#position;
      }
    } catch (error) {
      if (number === this.#connection) deliveries.interruptions.add(`GET /events: ${error}`);
    }
  }

  /**
   * Signs in in the morning: registers a queue with the state that the client shows, connects, and reports presence.
   *
   * @param password Undefined if the client still has a session or a key.
   */
  async signIn(password: string | undefined): Promise<void> {
    const { kind, email } = this.input;
    if (password !== undefined) {
      const path = kind === 'poll' ? '/fetch_api_key' : '/sessions';
      await this.#form('POST', path, { username: email, password }, {});
    }
    if (kind === 'poll') {
      const { queue_id, last_event_id } = await this.#form('POST', '/register', REGISTRATION);
      [this.#queueId, this.#position, this.#presenceVersion] = [queue_id, last_event_id, -1];
    } else {
      await this.#ask(this.#bytes('GET', '/'));
      const { registerEventQueue } = await this.#graphql(REGISTER, { input: { idleTimeoutSeconds: 12 * 60 * 60 } });
      this.#queueId = registerEventQueue.queueId;
    }
    await this.connect();
    await this.presence();
  }

  /** Sends a message. @returns Its id, if the client receives it in the reply. */
  async send(place: Place, content: string): Promise<number | undefined> {
    if (this.input.kind === 'poll') {
      const target =
        'to' in place ? { type: 'direct', to: place.to } : { type: 'channel', to: place.channelId, topic: place.topic };
      const { id } = await this.#form('POST', '/messages', { ...target, content });
      return id;
    }
    const input = { to: targetOf(place), content, localId: randomUUID(), queueId: this.#queueId };
    await this.#graphql(SEND, { input }, KEYED());
    return undefined;
  }

  async typing(place: Place, isStart: boolean): Promise<void> {
    if (this.input.kind === 'poll') {
      const target =
        'to' in place
          ? { type: 'direct', to: place.to }
          : { type: 'channel', stream_id: place.channelId, topic: place.topic };
      await this.#form('POST', '/typing', { ...target, op: isStart ? 'start' : 'stop' });
    } else {
      await this.#graphql(TYPING, { input: { to: targetOf(place), operation: isStart ? 'START' : 'STOP' } });
    }
  }

  /** Reads the messages of a place around the first unread one. @returns Ids of the unread messages. */
  async read(place: Place): Promise<number[]> {
    if (this.input.kind === 'poll') {
      const narrow =
        'to' in place
          ? [{ operator: 'dm', operand: place.to }]
          : [
              { operator: 'channel', operand: place.channelId },
              { operator: 'topic', operand: place.topic },
            ];
      return this.#note(await this.#messages({ anchor: 'first_unread', num_before: 50, num_after: 50, narrow }));
    }
    const narrow =
      'to' in place
        ? { directWith: place.to.map((id) => globalId('User', id)) }
        : { channel: { id: globalId('Channel', place.channelId) }, topicNamed: place.topic };
    return this.#note(await this.#timeline(narrow, 'FIRST_UNREAD'));
  }

  async search(words: string): Promise<void> {
    if (this.input.kind === 'poll') {
      const narrow = [{ operator: 'search', operand: words }];
      await this.#messages({ anchor: 'newest', num_before: 50, num_after: 0, narrow });
    } else {
      await this.#timeline({ search: words }, 'NEWEST', true);
    }
  }

  async markRead(ids: readonly number[]): Promise<void> {
    const messages = ids.slice(0, MARKED_AT_ONCE);
    if (this.input.kind === 'poll') {
      await this.#form('POST', '/messages/flags', { messages, op: 'add', flag: 'read' });
    } else {
      const messageIds = messages.map((id) => globalId('Message', id));
      await this.#graphql(MARK, { input: { messageIds, flag: 'READ', operation: 'ADD' } });
    }
  }

  async react(messageId: number, emoji: string): Promise<void> {
    if (this.input.kind === 'poll') {
      await this.#form('POST', `/messages/${messageId}/reactions`, { emoji_name: emoji });
    } else {
      const input = { messageId: globalId('Message', messageId), emoji: { name: emoji } };
      await this.#graphql(REACT, { input }, KEYED());
    }
  }

  /** Edits a message. Only for people whose client receives the ids of its messages. */
  async edit(messageId: number, content: string): Promise<void> {
    await this.#form('PATCH', `/messages/${messageId}`, { content });
  }

  /** Reports that the person is present, and reads the changes of other people's presence. */
  async presence(): Promise<void> {
    if (this.input.kind === 'poll') {
      const body = await this.#send('POST', '/users/me/presence', {
        ...{ status: 'active', ping_only: false, new_user_input: true, last_update_id: this.#presenceVersion },
      });
      this.#presenceVersion = Number(numberAfter(body, '"presence_last_update_id":') ?? this.#presenceVersion);
      return;
    }
    await this.#graphql(PRESENCE, { input: { status: 'ACTIVE' } });
    const { presences } = await this.#graphql(PRESENCES, { since: { version: this.#presenceVersion } });
    const nodes = presences.nodes as { version: number }[];
    this.#presenceVersion = Math.max(this.#presenceVersion, ...nodes.map(({ version }) => version));
  }

  /**
   * Opens the app on the phone for a time: resumes its queue, reads the newest messages, reports presence, and polls until it is
   * closed. Resolves when the messages are shown.
   */
  async lookAtPhone(openMs: number): Promise<void> {
    this.isOnPhone = true;
    const connection = await RawHttp.connect(this.input.port);
    try {
      while ((await this.#pollOnPhone(connection, '&dont_block=true')) > 0);
      await this.#messages({ anchor: 'newest', num_before: 30, num_after: 0 });
      await this.#send('POST', '/users/me/presence', { status: 'active', ping_only: true, new_user_input: true });
    } catch (error) {
      connection.close();
      this.isOnPhone = false;
      throw error;
    }
    void this.#stayOnPhone(connection, openMs);
  }

  async #stayOnPhone(connection: RawHttp, openMs: number): Promise<void> {
    setTimeout(() => connection.close(), openMs);
    try {
      for (;;) await this.#pollOnPhone(connection, '');
    } catch (error) {
      if (error instanceof RefusedError) deliveries.interruptions.add(error.message);
    }
    this.isOnPhone = false;
  }

  async #pollOnPhone(connection: RawHttp, more: string): Promise<number> {
    const path = `/api/v1/events?queue_id=${this.input.phoneQueueId}&last_event_id=${this.#phonePosition}${more}`;
    const { status, body } = await connection.askBytes(this.#bytes('GET', path));
    if (status !== 200) throw new RefusedError(`GET /events: ${status} ${body}`);
    const { events } = JSON.parse(body.toString('utf8')) as { events: { id: number }[] };
    this.#phonePosition = events.at(-1)?.id ?? this.#phonePosition;
    deliveries.count += events.length;
    return events.length;
  }

  #note({ ids, unread }: { readonly ids: readonly number[]; readonly unread: number[] }): number[] {
    this.seen = ids.slice(-5);
    return unread;
  }

  async #messages(params: Record<string, unknown>): Promise<{ ids: number[]; unread: number[] }> {
    const { messages } = await this.#form('GET', '/messages', { ...params, apply_markdown: true });
    const list = messages as { id: number; flags: string[] }[];
    const unread = list.filter(({ flags }) => !flags.includes('read')).map(({ id }) => id);
    return { ids: list.map(({ id }) => id), unread };
  }

  async #timeline(narrow: object, place: string, isSearch = false): Promise<{ ids: number[]; unread: number[] }> {
    const { messages } = await this.#graphql(TIMELINE, { narrow, anchor: { place }, isSearch });
    const list = messages.nodes as { databaseId: number; viewerHasRead: boolean }[];
    const unread = list.filter(({ viewerHasRead }) => !viewerHasRead).map(({ databaseId }) => databaseId);
    return { ids: list.map(({ databaseId }) => databaseId), unread };
  }

  async #form(
    method: string,
    path: string,
    params: Record<string, unknown>,
    headers = this.#signedIn(),
  ): Promise<Json> {
    return JSON.parse((await this.#send(method, path, params, headers)).toString('utf8'));
  }

  async #send(
    method: string,
    path: string,
    params: Record<string, unknown>,
    headers: Readonly<Record<string, string>> = this.#signedIn(),
  ): Promise<Buffer> {
    const fields = Object.entries(params).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
    const form = new URLSearchParams(fields).toString();
    const isGet = method === 'GET';
    return this.#ask(
      requestBytes({
        ...{ method, path: `/api/v1${path}${isGet && form !== '' ? `?${form}` : ''}`, port: this.input.port },
        headers: { Host: this.#host, ...headers, 'Content-Type': 'application/x-www-form-urlencoded' },
        ...(!isGet && { body: form }),
      }),
    );
  }

  async #graphql(query: string, variables: object, more: Readonly<Record<string, string>> = {}): Promise<Json> {
    const body = await this.#ask(
      requestBytes({
        ...{ method: 'POST', path: '/graphql', port: this.input.port, body: JSON.stringify({ query, variables }) },
        headers: { Host: this.#host, ...this.#signedIn(), 'Content-Type': 'application/json', ...more },
      }),
    );
    const { data, errors } = JSON.parse(body.toString('utf8')) as Json;
    const refused = Object.values((data ?? {}) as Record<string, Json>).find((result) => result?.code !== undefined);
    if (errors !== undefined || refused !== undefined) throw new RefusedError(JSON.stringify(errors ?? refused));
    return data;
  }

  async #ask(request: Buffer): Promise<Buffer> {
    const { port } = this.input;
    const known = connections.get(port) ?? new Connections(port);
    connections.set(port, known);
    const { status, body } = await known.ask(request);
    if (status !== 200)
      throw new RefusedError(`${request.toString('latin1', 0, 40)}: ${status} ${body.toString('utf8', 0, 300)}`);
    return body;
  }

  #signedIn = (): Readonly<Record<string, string>> => ({ Authorization: this.input.basic });

  #bytes(method: string, path: string, headers: Readonly<Record<string, string>> = {}): Buffer {
    const { port } = this.input;
    return requestBytes({ method, path, port, headers: { Host: this.#host, ...this.#signedIn(), ...headers } });
  }
}

/** Parameters of a registration of a desktop client, which requests all data. */
export const REGISTRATION = {
  ...{ apply_markdown: true, include_subscribers: 'partial', slim_presence: true },
  client_capabilities: {
    ...{ notification_settings_null: true, bulk_message_deletion: true, archived_channels: true },
    ...{ user_avatar_url_field_optional: true, empty_topic_name: true, simplified_presence_events: true },
    ...{ include_deactivated_groups: true, individual_emoji_changes: true, stream_typing_notifications: true },
  },
};

const KEYED = () => ({ 'Idempotency-Key': randomUUID() });

const targetOf = (place: Place) =>
  'to' in place
    ? { direct: place.to.map((id) => globalId('User', id)) }
    : { topic: { named: { channel: { id: globalId('Channel', place.channelId) }, name: place.topic } } };

/** Returns the number after a text in a long reply, without parsing the reply. Undefined if the text is not there. */
function numberAfter(body: Buffer, before: string): string | undefined {
  const at = body.indexOf(before);
  return at === -1
    ? undefined
    : /^-?\d+/.exec(body.toString('latin1', at + before.length, at + before.length + 20))?.[0];
}
