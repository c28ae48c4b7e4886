import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startInProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests the shutdown of the service. Clients with open connections must get every response, and a header that makes them use
// another connection.

interface CompletedReply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Whether the response arrived over the connection of an earlier request. */
  readonly reused: boolean;
}

/** A client with a single connection, which it keeps open. */
class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
  }

  /**
   * Sends the head of a request. @returns Functions that wait until the server has received the head, and that send the body.
   */
  begin(method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    const outgoing = request(new URL(path, this.#url), {
      ...{ method, agent: this.#agent },
      headers: { ...this.#headers, ...headers },
    });
    outgoing.flushHeaders();
    const arrived = once(outgoing, 'continue');
    arrived.catch(() => {});
    const answered = once(outgoing, 'response');
    answered.catch(() => {});
    return {
      /** Resolves when the server has received the head. Only for requests with `expect: 100-continue`. */
      arrived,
      async end(body = ''): Promise<CompletedReply> {
        outgoing.end(body);
        const [incoming] = await answered;
        const { statusCode: status, headers } = incoming;
        return { status, headers, body: await text(incoming), reused: outgoing.reusedSocket };
      },
    };
  }

  ask(
    method: string,
    path: string,
    { body = '', ...headers }: Readonly<Record<string, string>> = {},
  ): Promise<CompletedReply> {
    const length = body === '' ? {} : { 'content-length': String(body.length) };
    return this.begin(method, path, { ...headers, ...length }).end(body);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** One request for each kind of response, with the expected status. */
const REQUESTS = [
  ['GET', '/api/v1/users/me', {}, 200],
  ['GET', '/api/v1/nothing', {}, 404],
  ['POST', '/graphql', { ...JSON_TYPE, body: '{"query":"{ viewer { databaseId } }"}' }, 200],
  ['POST', '/graphql', { ...JSON_TYPE, body: '{' }, 400],
  ['GET', '/healthz', {}, 200],
  ['GET', '/', {}, 200],
  ['GET', '/docs', { 'accept-encoding': 'gzip' }, 200],
  ['HEAD', '/docs/events', {}, 200],
  ['POST', '/api/v1/users/me/status', { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }, 403],
] as const;

test('connections open at shutdown can be used once more, and every response closes its connection', async () => {
  await using stack = new AsyncDisposableStack();
  const service = await startInProcess();
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= Promise.resolve(service[Symbol.asyncDispose]());
    return stopped;
  };
  stack.defer(stop);
  const { member, organization } = await createOrganization({}, { on: service });
  const client = () =>
    stack.use(new Client(service.url, { host: member.host, authorization: member.authorization ?? '' }));
  // Opens connections without a request, connections that wait for an event, and one that has sent half of a request.
  const idle = REQUESTS.map(() => client());
  // Sends all requests once before the shutdown, because the first rendering of a page takes longer than the shutdown.
  for (const [i, [method, path, headers]] of REQUESTS.entries()) {
    expect((await (idle[i] as Client).ask(method, path, headers)).headers.connection).toBe('keep-alive');
  }
  const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
  const poll = `/api/v1/events?queue_id=${queue_id}&last_event_id=${last_event_id}`;
  const polled = client().ask('GET', poll);
  const viewer = { id: member.id, organization, clientName: 'test' };
  await expect.poll(async () => (await service.app.queues.look({ viewer }, queue_id)).reader).toBeDefined();
  const form = 'status_text=late';
  const half = client().begin('POST', '/api/v1/users/me/status', {
    ...{ 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(form.length) },
    expect: '100-continue',
  });
  await half.arrived;
  const later = client();
  await later.ask('GET', '/healthz');

  void stop();
  const refusal = () =>
    client()
      .ask('GET', '/healthz')
      .catch(({ code }: NodeJS.ErrnoException) => code);
  await expect.poll(refusal).toBe('ECONNREFUSED');
  const [answers, ...others] = await Promise.all([
    Promise.all(REQUESTS.map(([method, path, headers], i) => (idle[i] as Client).ask(method, path, headers))),
    polled,
    later.ask('GET', poll),
    half.end(form),
  ]);
  expect(answers.map(({ status, headers, reused }) => [status, headers.connection, reused])).toEqual(
    REQUESTS.map(([, , , status]) => [status, 'close', true]),
  );
  for (const { status, headers } of others) expect([status, headers.connection]).toEqual([200, 'close']);
  // A poll that starts during the shutdown is answered immediately, and not interrupted.
  expect(others.slice(0, 2).map(({ body }) => JSON.parse(body).events)).toEqual([[], []]);
  await stop();
});
