import { once } from 'node:events';
import { Agent, type ClientRequest, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { HashingLimiter } from '../../src/access/hashing-limiter.ts';
import type { Caller } from '../../src/platform/caller.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Json, send } from '../helpers/http.ts';
import { METRICS, type ServerProcess } from '../helpers/process.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, type Organization, startServer } from '../helpers/server.ts';

const PASSWORD = 'correct horse battery';
/** Maximum number of requests from one network that can wait for a password hash at the same time. */
const PLACES_OF_NETWORK = 24;
/** Timeout and interval of polling, in milliseconds. The timeout allows for a machine that is busy with other work. */
const PATIENCE = { timeout: 45_000, interval: 20 };

/** Returns a limiter that runs two hashing jobs at a time. Each job runs until the test calls `end`. */
function limiterOf({ waitingOfNetwork = 100, places = 100 }: { waitingOfNetwork?: number; places?: number } = {}) {
  const gate = new HashingLimiter({ atOnce: 2, waitingOfNetwork, places }, 500);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    gate,
    /** Names of the hashing jobs that have started, in order. */
    begun,
    ask(name: string, caller: Caller | undefined): Promise<string> {
      const asked = gate.run(caller, async () => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.push(resolve));
        return name;
      });
      asked.catch(() => {});
      return asked;
    },
    /** Ends the job that has been running longest. */
    async end(): Promise<void> {
      ends.shift()?.();
      await sleep(0);
    },
  };
}

const at = (network: string) => ({ network, isGone: false }) as Caller;

describe('the limiter', () => {
  test('bounds the tasks of clients whose address is unknown, but not those of the operator', async () => {
    const { gate, ask } = limiterOf({ waitingOfNetwork: 2 });
    const refused: unknown[] = [];
    for (let i = 1; i <= 6; i++) ask(`unknown ${i}`, at('')).catch((error) => refused.push(error.code));
    for (let i = 1; i <= 6; i++) void ask(`operator ${i}`, undefined);
    await sleep(0);
    expect(refused).toEqual(['RATE_LIMIT_HIT', 'RATE_LIMIT_HIT']);
    expect(gate.waiting).toBe(8);
  });

  test('runs two jobs concurrently, and alternates between networks: a new one is next', async () => {
    const { begun, ask, end } = limiterOf();
    for (let i = 1; i <= 6; i++) void ask(`attacker ${i}`, at('attacker'));
    void ask('neighbour 1', at('neighbour'));
    void ask('neighbour 2', at('neighbour'));
    void ask('third', at('third'));
    await sleep(0);
    expect(begun).toEqual(['attacker 1', 'attacker 2']);
    for (let i = 0; i < 7; i++) await end();
    expect(begun.slice(2, 5)).toEqual(['neighbour 1', 'attacker 3', 'third']);
    expect(begun.indexOf('neighbour 2')).toBeLessThan(begun.indexOf('attacker 4'));
    expect(begun).toHaveLength(9);
  });

  test('continues after a failed job', async () => {
    const { gate } = limiterOf();
    const failing = () => gate.run(at('a'), () => Promise.reject(new Error('failed')));
    const results = await Promise.allSettled([failing(), failing(), failing(), gate.run(at('a'), async () => 'done')]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
  });

  test('refuses callers beyond their places, and estimates when one is free from the jobs before it', async () => {
    const { ask } = limiterOf({ waitingOfNetwork: 3 });
    for (let i = 1; i <= 5; i++) void ask(String(i), at('office'));
    await expect(ask('6', at('office'))).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT', data: { 'retry-after': 2 } });
    await expect(Promise.race([ask('1', at('elsewhere')), 'waits'])).resolves.toBe('waits');
  });

  test('if all places are taken, takes one from the network with the most', async () => {
    const { gate, ask, begun, end } = limiterOf({ places: 4 });
    for (let i = 1; i <= 2; i++) void ask(`running ${i}`, at('a'));
    const greedy = [1, 2, 3, 4].map((i) => ask(`a ${i}`, at('a')));
    const modest = ask('b', at('b'));
    await expect(greedy[3]).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
    void ask('c', at('c'));
    void ask('d', at('d'));
    // Each network has one waiting job, so the limiter drops no waiting job in favor of another caller.
    await expect(ask('e', at('e'))).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
    expect(gate.waiting).toBe(4);
    await end();
    expect(begun.at(-1)).toBe('b');
    await end();
    await end();
    await expect(modest).resolves.toBe('b');
  });

  test('never refuses the operator, whose jobs alternate with others', async () => {
    const { ask, begun, end } = limiterOf({ waitingOfNetwork: 2, places: 2 });
    for (let i = 1; i <= 4; i++) void ask(`a ${i}`, at('a'));
    for (let i = 1; i <= 20; i++) void ask(`operator ${i}`, undefined);
    for (let i = 0; i < 3; i++) await end();
    expect(begun.slice(2, 5)).toEqual(expect.arrayContaining(['operator 1', 'a 3']));
  });

  test('skips the jobs of disconnected callers, and frees their places', async () => {
    const { ask, begun, end } = limiterOf({ waitingOfNetwork: 2 });
    const gone = { network: 'a', isGone: false };
    for (let i = 1; i <= 2; i++) void ask(`running ${i}`, at('a'));
    const left = [1, 2].map((i) => ask(`left ${i}`, gone as Caller));
    gone.isGone = true;
    void ask('staying', at('a'));
    for (const each of left) await expect(each).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    await expect(ask('late', gone as Caller)).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    await end();
    expect(begun).toEqual(['running 1', 'running 2', 'staying']);
  });
});

describe('a server that is asked to hash passwords', () => {
  let server: ServerProcess;
  let people: Organization;
  beforeAll(async () => {
    server = await startServer({ env: { ...METRICS.env, PASSWORD_HASH_COST: '32768' } });
    people = await createOrganization({}, { on: server, password: PASSWORD });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** Returns the number of passwords that the service has hashed so far (`done`), and of those that wait (`waiting`). */
  async function hashes(): Promise<{ done: number; waiting: number }> {
    const { text } = await send(server.url, { method: 'GET', path: '/metrics', headers: METRICS.headers });
    const value = (name: string) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
    return { done: value('password_hash_duration_seconds_count'), waiting: value('password_hash_waiting') };
  }

  const settled = () => vi.waitFor(async () => expect((await hashes()).waiting).toBe(0), PATIENCE);
  const crowded = () => vi.waitFor(async () => expect((await hashes()).waiting).toBeGreaterThan(10), PATIENCE);

  let guesses = 0;
  const guess = () => ({ username: `nobody${++guesses}@example.com`, password: 'a guess' });

  interface Post {
    readonly outgoing: ClientRequest;
    /** Resolves with the response, or with undefined if the request was aborted. */
    readonly reply: Promise<{ status: number; retryAfter: string | undefined; body: Json } | undefined>;
  }

  /** Sends a request from a local IP address, over a separate connection. */
  function post(localAddress: string, path: string, type: string, body: string): Post {
    const headers = { host: people.organization.host, 'content-type': type, 'content-length': Buffer.byteLength(body) };
    const outgoing = request(server.url, { method: 'POST', path, localAddress, headers, agent: new Agent() });
    const read = async () => {
      const [incoming] = await once(outgoing, 'response');
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const retryAfter = incoming.headers['retry-after'];
      return { status: incoming.statusCode, retryAfter, body: JSON.parse(Buffer.concat(chunks).toString()) };
    };
    outgoing.on('error', () => {});
    outgoing.end(body);
    return { outgoing, reply: read().catch(() => undefined) };
  }

  const fetchKey = (from: string, login: { username: string; password: string }) =>
    post(from, '/api/v1/fetch_api_key', 'application/x-www-form-urlencoded', new URLSearchParams(login).toString());

  test('hashes once for a wrong password, an unknown address and an account without a password', async () => {
    const { owner, member, anonymous } = people;
    for (const username of [owner.email, 'nobody@example.com', member.email]) {
      const { done } = await hashes();
      const { status } = await anonymous.rest('POST', '/fetch_api_key', { username, password: 'wrong password' });
      expect([status, (await hashes()).done - done], username).toEqual([401, 1]);
    }
  });

  test('signs in a client of the same network while another guesses, refuses requests above the queue limit, and returns a retry time', async () => {
    const flood = Array.from({ length: 60 }, () => fetchKey('127.0.0.1', guess()));
    await crowded();
    const before = await hashes();
    const neighbour = await fetchKey('127.0.0.2', { username: people.owner.email, password: PASSWORD }).reply;
    expect(neighbour).toMatchObject({ status: 200, body: { api_key: people.owner.apiKey } });
    // Few passwords were hashed: those that were in progress, those of requests that ended meanwhile, and the user's own. Most
    // of the earlier requests were not hashed before the user's.
    expect((await hashes()).done - before.done).toBeLessThan(12);
    for (const { outgoing } of flood) outgoing.destroy();
    const replies = await Promise.all(flood.map(({ reply }) => reply));
    const refused = replies.filter((reply) => reply?.status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(60 - 2 * PLACES_OF_NETWORK);
    for (const reply of refused) {
      expect(reply?.body).toMatchObject({
        result: 'error',
        code: 'RATE_LIMIT_HIT',
        'retry-after': expect.any(Number),
      });
      expect(reply?.retryAfter).toBe(String(Math.ceil(reply?.body['retry-after'])));
    }
  });

  test('does not hash for requests that were aborted', async () => {
    await settled();
    const { done } = await hashes();
    const flood = Array.from({ length: 20 }, () => fetchKey('127.0.0.1', guess()));
    await crowded();
    for (const { outgoing } of flood) outgoing.destroy();
    await settled();
    await sleep(500);
    expect((await hashes()).done - done).toBeLessThan(12);
  });

  test('does not hash for a socket that is closed', async () => {
    await settled();
    const { done } = await hashes();
    const socket = await RawSocket.connected(people.anonymous);
    for (let i = 0; i < 20; i++) {
      const { username, password } = guess();
      const input = `{ username: "${username}", password: "${password}" }`;
      socket.subscribe(String(i), `mutation { fetchApiKey(input: ${input}) { __typename } }`);
    }
    await crowded();
    socket.cut();
    await settled();
    expect((await hashes()).done - done).toBeLessThan(12);
  });

  test('runs no further mutations of an operation after its client has disconnected', async () => {
    await settled();
    const { owner, member } = people;
    const send = (i: number) =>
      `m${i}: sendMessage(input: { to: { direct: ["${globalId('User', owner.id)}"] }, content: "act ${i}" }) { __typename }`;
    const change =
      'updateSettings(input: { oldPassword: "wrong guess", newPassword: "a new password" }) { __typename }';
    // `updateSettings` waits for a password hash behind many other requests. The later mutations run only after it.
    const crowd = Array.from({ length: 20 }, () => fetchKey('127.0.0.3', guess()));
    await crowded();
    const query = `mutation { ${send(0)} ${change} ${Array.from({ length: 5 }, (_, i) => send(i + 1)).join(' ')} }`;
    const { hostname, port } = new URL(server.url);
    const headers = { ...member.headers, 'content-type': 'application/json' };
    const outgoing = request({ hostname, port, method: 'POST', path: '/graphql', headers, agent: new Agent() });
    outgoing.on('error', () => {});
    outgoing.end(JSON.stringify({ query }));
    const inbox = { anchor: 'newest', num_before: 100, num_after: 0, apply_markdown: false };
    const acts = async () =>
      (await owner.ok('GET', '/messages', inbox)).messages
        .map(({ content }: Json) => content)
        .filter((content: string) => content.startsWith('act'));
    await vi.waitFor(async () => expect(await acts()).toEqual(['act 0']), PATIENCE);
    outgoing.destroy();
    for (const each of crowd) each.outgoing.destroy();
    await settled();
    await sleep(500);
    expect(await acts()).toEqual(['act 0']);
  });

  test('counts password changes and new users as well', async () => {
    const { owner } = people;
    // The service hashes two passwords at a time. When these two requests are answered, all hashes of earlier tests have been
    // counted.
    await Promise.all([fetchKey('127.0.0.1', guess()).reply, fetchKey('127.0.0.1', guess()).reply]);
    let { done } = await hashes();
    const changed = await owner.rest('PATCH', '/settings', { old_password: PASSWORD, new_password: `${PASSWORD}!` });
    expect([changed.status, (await hashes()).done - done]).toEqual([200, 2]);
    ({ done } = await hashes());
    await people.signUp('somebody new', 'member', PASSWORD);
    expect((await hashes()).done - done).toBe(1);
  });
});
