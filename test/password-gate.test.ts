import { once } from 'node:events';
import { Agent, type ClientRequest, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Caller } from '../src/platform/caller.ts';
import { FairGate } from '../src/platform/fair-gate.ts';
import { globalId } from './helpers/global-ids.ts';
import { type Json, send } from './helpers/http.ts';
import { isGroupPicked } from './helpers/part.ts';
import { METRICS, type ServerProcess } from './helpers/process.ts';
import { RawSocket } from './helpers/raw-socket.ts';
import { type Organisation, organisation, startServer } from './helpers/server.ts';

const PASSWORD = 'correct horse battery';
/** As the service has them. */
const PLACES_OF_NETWORK = 24;
/** What a machine with much else to do takes. */
const PATIENCE = { timeout: 45_000, interval: 20 };

/** Work that ends when the test says so, under a gate of two at once. */
function gateOf({ placesOfNetwork = 100, places = 100 }: { placesOfNetwork?: number; places?: number } = {}) {
  const gate = new FairGate({ atOnce: 2, placesOfNetwork, places }, 500);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    gate,
    /** Names of the work that has begun, in order. */
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
    /** Ends the work that has run longest. */
    async end(): Promise<void> {
      ends.shift()?.();
      await sleep(0);
    },
  };
}

const at = (network: string) => ({ network, isGone: false }) as Caller;

describe('the gate', () => {
  test('lets two pieces of work run at once, and networks take turns: a neighbour is next', async () => {
    const { begun, ask, end } = gateOf();
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

  test('goes on after work that failed', async () => {
    const { gate } = gateOf();
    const failing = () => gate.run(at('a'), () => Promise.reject(new Error('failed')));
    const results = await Promise.allSettled([failing(), failing(), failing(), gate.run(at('a'), async () => 'done')]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
  });

  test('refuses who has no place left, and says when one may be free: after what is before it', async () => {
    const { ask } = gateOf({ placesOfNetwork: 3 });
    for (let i = 1; i <= 5; i++) void ask(String(i), at('office'));
    await expect(ask('6', at('office'))).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT', data: { 'retry-after': 2 } });
    await expect(Promise.race([ask('1', at('elsewhere')), 'waits'])).resolves.toBe('waits');
  });

  test('when all places are taken, takes one from who has most', async () => {
    const { gate, ask, begun, end } = gateOf({ places: 4 });
    for (let i = 1; i <= 2; i++) void ask(`running ${i}`, at('a'));
    const greedy = [1, 2, 3, 4].map((i) => ask(`a ${i}`, at('a')));
    const modest = ask('b', at('b'));
    await expect(greedy[3]).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
    void ask('c', at('c'));
    void ask('d', at('d'));
    // One each by now: nobody has more than whoever comes next would.
    await expect(ask('e', at('e'))).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
    expect(gate.waiting).toBe(4);
    await end();
    expect(begun.at(-1)).toBe('b');
    await end();
    await end();
    await expect(modest).resolves.toBe('b');
  });

  test('never refuses the operator, and gives them turns as others', async () => {
    const { ask, begun, end } = gateOf({ placesOfNetwork: 2, places: 2 });
    for (let i = 1; i <= 4; i++) void ask(`a ${i}`, at('a'));
    for (let i = 1; i <= 20; i++) void ask(`operator ${i}`, undefined);
    for (let i = 0; i < 3; i++) await end();
    expect(begun.slice(2, 5)).toEqual(expect.arrayContaining(['operator 1', 'a 3']));
  });

  test('does nothing for who has gone, and their place is free', async () => {
    const { ask, begun, end } = gateOf({ placesOfNetwork: 2 });
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

describe.runIf(isGroupPicked('password-gate.test.ts > a server that is asked to hash passwords'))(
  'a server that is asked to hash passwords',
  () => {
    let server: ServerProcess;
    let people: Organisation;
    beforeAll(async () => {
      server = await startServer({ env: { ...METRICS.env, PASSWORD_HASH_COST: '32768' } });
      people = await organisation({}, { on: server, password: PASSWORD });
    }, 60_000);
    afterAll(() => server[Symbol.asyncDispose]());

    /** Passwords hashed so far, and those that wait. */
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
      /** Undefined when it was broken off. */
      readonly reply: Promise<{ status: number; retryAfter: string | undefined; body: Json } | undefined>;
    }

    /** From an address of this machine, over a connection of its own. */
    function post(localAddress: string, path: string, type: string, body: string): Post {
      const headers = { host: people.realm.host, 'content-type': type, 'content-length': Buffer.byteLength(body) };
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

    test('hashes once for a wrong password, an unknown address and an account without a password alike', async () => {
      const { owner, member, anonymous } = people;
      for (const username of [owner.email, 'nobody@example.com', member.email]) {
        const { done } = await hashes();
        const { status } = await anonymous.rest('POST', '/fetch_api_key', { username, password: 'wrong password' });
        expect([status, (await hashes()).done - done], username).toEqual([401, 1]);
      }
    });

    test('lets a neighbour in while one address guesses, refuses what has no place, and says when to come back', async () => {
      const flood = Array.from({ length: 60 }, () => fetchKey('127.0.0.1', guess()));
      await crowded();
      const before = await hashes();
      const neighbour = await fetchKey('127.0.0.2', { username: people.owner.email, password: PASSWORD }).reply;
      expect(neighbour).toMatchObject({ status: 200, body: { api_key: people.owner.apiKey } });
      // Those under way, those that ended with them, and the neighbour's own: not all that came before it.
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
        expect(reply?.retryAfter).toBe(String(reply?.body['retry-after']));
      }
    });

    test('does not hash what nobody waits for any more', async () => {
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

    test('runs no further mutations of an operation when its client has gone', async () => {
      await settled();
      const { owner, member } = people;
      const send = (i: number) =>
        `m${i}: sendMessage(input: { to: { direct: ["${globalId('User', owner.id)}"] }, content: "act ${i}" }) { __typename }`;
      const change =
        'updateSettings(input: { oldPassword: "wrong guess", newPassword: "a new password" }) { __typename }';
      // The others wait with the one that hashes, behind a crowd.
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

    test('counts password changes and new users with the others', async () => {
      const { owner } = people;
      // Two are hashed at once: what was being hashed for others has been counted when two that came after it are answered.
      await Promise.all([fetchKey('127.0.0.1', guess()).reply, fetchKey('127.0.0.1', guess()).reply]);
      let { done } = await hashes();
      const changed = await owner.rest('PATCH', '/settings', { old_password: PASSWORD, new_password: `${PASSWORD}!` });
      expect([changed.status, (await hashes()).done - done]).toEqual([200, 2]);
      ({ done } = await hashes());
      await people.signUp('somebody new', 'member', PASSWORD);
      expect((await hashes()).done - done).toBe(1);
    });
  },
);
