// The yardsticks: servers that the service is compared with. Each runs in a separate process, and has the least code that does
// the measured work of the service.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { type WebSocket, WebSocketServer } from 'ws';
import { cpuSeconds } from './measure.ts';
import { type AccountRow, findOneByOne, findTogether, signIn } from './sign-in.ts';
import { UNSIGNED } from './unsigned.ts';
import { work } from './workers.ts';

/** Messages that the broadcast server delivers. On each request, the sockets get these messages in turn, one message each. */
let deliveries: readonly Buffer[] = [Buffer.from('{"id":"x"}')];

async function serve(listener: RequestListener): Promise<{ server: Server; port: number }> {
  const server = createServer({ keepAliveTimeout: 75_000, requestTimeout: 0 }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

const HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
};

function answer(response: ServerResponse, body: Buffer | string, status = 200): void {
  response.writeHead(status, { ...HEADERS, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

interface BareGround {
  readonly organizationId: number;
  readonly senderId: number;
  readonly channelId: number;
}

interface BareSends {
  readonly databaseUrl: string;
  readonly poolSize: number;
  readonly inFlight: number;
  readonly seconds: number;
  /** Channels to which the loop writes messages in turn. Each belongs to another organization. */
  readonly grounds: readonly BareGround[];
  readonly topic: string;
  readonly content: string;
}

const BARE_SEND = `
  WITH counter AS (
    UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = $1 RETURNING last_id
  ), sent AS (
    INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                         client_name, sent_at, sent_event_id, send_token)
    SELECT $1, nextval('message_id_seq'), $2, $3, $3, $4, $5, $6, 'bench', $8, last_id, last_id FROM counter
    RETURNING id, sent_event_id
  )
  INSERT INTO event (realm_id, id, type, payload, channel_ids, user_ids, except_user_ids, public_channel_id, created_at)
  SELECT $1, sent_event_id, 'message', $7::jsonb || jsonb_build_object('id', id), ARRAY[$3::int], ARRAY[$2::int], '{}', $3, $8
  FROM sent`;

/** Returns an event payload that has as many bytes as the service's payload for such a message. */
function bareEvent({ senderId, channelId }: BareGround, { topic, content }: BareSends, html: string): string {
  return JSON.stringify({
    sender: {
      ...{ id: senderId, email: 'bench0@example.com', fullName: 'bench0@example.com', role: 400, isActive: true },
      ...{ botType: null, botOwnerId: null, isImportedStub: false, isDeleted: false, joinedAt: new Date() },
      ...{ avatarSource: 'J', avatarVersion: 1, timezone: '', emailAddressVisibility: 1 },
    },
    ...{ realm: '', client: 'Unspecified', timestamp: Math.floor(Date.now() / 1000), recipientId: 2 * channelId },
    ...{ channel: { id: channelId, name: 'Bench sends' }, members: [], topic, topicLinks: [], content },
    ...{ renderedContent: html, emptyTopicName: 'general chat', readBySender: false, channelWildcard: false },
    ...{ mentioned: [], topicMentioned: [], alerted: [] },
  });
}

const timezoneOf = ({ settings }: AccountRow) => (settings['timezone'] as string | undefined) ?? '';

/** Returns the response body of GET /users/me for an account. */
function restBody(row: AccountRow): string {
  return JSON.stringify({
    result: 'success',
    msg: '',
    user_id: row.id,
    delivery_email: row.email,
    email: row.email,
    full_name: row.full_name,
    date_joined: `${row.joined_at.toISOString().slice(0, 16)}+00:00`,
    is_active: row.is_active,
    is_owner: row.role <= 100,
    is_admin: row.role <= 200,
    is_guest: row.role === 600,
    is_bot: row.bot_type !== null,
    bot_type: row.bot_type,
    bot_owner_id: row.bot_owner_id,
    role: row.role,
    timezone: timezoneOf(row),
    avatar_url: `/avatar/${row.id}/${UNSIGNED}?v=${row.avatar_version}`,
    avatar_version: row.avatar_version,
    is_imported_stub: row.is_imported_stub,
    profile_data: {},
    max_message_id: -1,
  });
}

const ROLES: Readonly<Record<number, string>> = {
  100: 'OWNER',
  200: 'ADMINISTRATOR',
  300: 'MODERATOR',
  400: 'MEMBER',
  600: 'GUEST',
};

/** Returns the response body for the GraphQL query of `reads.ts`. */
function graphqlBody(row: AccountRow): string {
  return JSON.stringify({
    data: {
      viewer: {
        databaseId: row.id,
        deliveryEmail: row.email,
        email: row.email,
        fullName: row.full_name,
        joinedAt: `${row.joined_at.toISOString().slice(0, 16)}:00.000Z`,
        isActive: row.is_active,
        role: ROLES[row.role],
        isBot: row.bot_type !== null,
        botType: row.bot_type,
        timezone: timezoneOf(row),
        avatarUrl: `/avatar/${row.id}/${UNSIGNED}?v=${row.avatar_version}`,
        avatarVersion: row.avatar_version,
        isImportedStub: row.is_imported_stub,
      },
    },
    extensions: { cost: { requested: 1, limit: 10_000, charged: 1 } },
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

export const tasks = {
  /**
   * Starts a broadcast server that does nothing else: each request sends one of `deliveries` to every socket. Resolves with the
   * port.
   */
  async broadcast(): Promise<number> {
    const clients = new Set<WebSocket>();
    const { server, port } = await serve((_request, response) => {
      let next = 0;
      for (const client of clients) {
        client.send(deliveries[next] as Buffer, { binary: false });
        if (++next === deliveries.length) next = 0;
      }
      answer(response, '{}');
    });
    const sockets = new WebSocketServer({ server, perMessageDeflate: false });
    sockets.on('connection', (client) => {
      clients.add(client);
      client.on('close', () => clients.delete(client));
    });
    return port;
  },

  /**
   * Starts a server that leaves requests unanswered until a trigger arrives, and then answers all of them. Resolves with the
   * port.
   */
  async longPolls(): Promise<number> {
    let waiting: ServerResponse[] = [];
    const { port } = await serve((request, response) => {
      if (request.method === 'GET') {
        waiting.push(response);
        return;
      }
      // Answers the trigger first. The answer indicates that the event has happened.
      answer(response, '{}');
      for (const waiter of waiting) answer(waiter, deliveries[0] as Buffer);
      waiting = [];
    });
    return port;
  },

  /**
   * Starts a hand-written server that returns the authenticated user: a GET request as REST, a POST request as GraphQL.
   * Resolves with the port.
   */
  async reads(input: { databaseUrl: string; poolSize: number; together: boolean }): Promise<number> {
    const pool = new pg.Pool({ connectionString: input.databaseUrl, max: input.poolSize });
    // Without a listener, the error of a connection that `reportStatistics` ends would end this process.
    pool.on('error', () => {});
    const find = input.together ? findTogether(pool) : findOneByOne(pool);
    const { port } = await serve(async (request, response) => {
      if (request.method === 'GET') {
        const row = await signIn(find, request);
        return row === undefined ? answer(response, '{}', 401) : answer(response, restBody(row));
      }
      const { query } = JSON.parse(await bodyOf(request)) as { query: string };
      const row = await signIn(find, request);
      if (row === undefined || !query.includes('viewer')) return answer(response, '{}', 401);
      return answer(response, graphqlBody(row));
    });
    return port;
  },

  /**
   * Inserts messages in a bare loop. Each message is one statement, which inserts the rows that the service inserts for a
   * message.
   */
  async sends(input: BareSends): Promise<{ perSecond: number }> {
    const pool = new pg.Pool({ connectionString: input.databaseUrl, max: input.poolSize });
    const { topic, content } = input;
    const html = `<p>${content}</p>`;
    const grounds = input.grounds.map((ground) => ({ ...ground, payload: bareEvent(ground, input, html) }));
    const endAt = performance.now() + input.seconds * 1000;
    const startedAt = performance.now();
    let sent = 0;
    let next = 0;
    const loop = async () => {
      while (performance.now() < endAt) {
        const ground = grounds[next++ % grounds.length];
        if (ground === undefined) throw new Error('No channel to send to');
        const { organizationId, senderId, channelId, payload } = ground;
        await pool.query({
          name: 'send',
          text: BARE_SEND,
          values: [organizationId, senderId, channelId, topic, content, html, payload, new Date()],
        });
        sent++;
      }
    };
    await Promise.all(Array.from({ length: input.inFlight }, loop));
    const seconds = (performance.now() - startedAt) / 1000;
    await pool.end();
    return { perSecond: sent / seconds };
  },

  /** Sets the messages that the broadcast server delivers. */
  deliver({ texts }: { texts: readonly string[] }): void {
    deliveries = texts.map((text) => Buffer.from(text));
  },

  cpu(): number {
    return cpuSeconds();
  },

  residentBytes(): number {
    return process.memoryUsage.rss();
  },
};

work(tasks);
