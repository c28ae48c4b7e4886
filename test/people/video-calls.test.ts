import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { CookieBrowser } from '../helpers/browser.ts';
import { send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person, Visitor } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { json, startVideoProvider, type VideoProvider } from '../helpers/video-provider.ts';

let provider: VideoProvider;
let service: InProcess;
let clock = Date.UTC(2026, 0, 1);

beforeAll(async () => {
  provider = await startVideoProvider();
  service = await startInProcess({ env: provider.env, now: () => new Date(clock) });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});
beforeEach(() => {
  Object.assign(provider, { instead: {}, grants: { expires_in: 3600 } });
});

const CREATE = '/calls/videoprovider/create';
const REGISTER = '/calls/videoprovider/register';
const TOLD = (value: boolean) => ({ type: 'has_videoprovider_token', value });

const addressOf = ({ host }: Person, path: string) => `http://${host}/api/v1${path}`;

/**
 * Starts the connection of a user's account with the provider. @returns The URL at which the user's browser must ask for
 * consent.
 */
async function registering(person: Person, browser = new CookieBrowser(person.url)): Promise<string> {
  const { status, headers, text } = await browser.open(addressOf(person, REGISTER), person.headers);
  expect([status, text, headers['cache-control']]).toEqual([302, '', 'private, no-store']);
  return headers.location ?? '';
}

/** Opens the URL to which the provider redirects, without credentials. @returns The response of the service. */
async function back(browser: CookieBrowser, url: string) {
  expect(new URL(url).pathname).toBe('/api/v1/calls/videoprovider/complete');
  const { status, text } = await browser.open(url);
  return { status, body: JSON.parse(text) };
}

async function connected(person: Person): Promise<Person> {
  const browser = new CookieBrowser(person.url);
  expect((await back(browser, provider.agree(await registering(person, browser)))).status).toBe(200);
  return person;
}

/** Creates a video call. @returns The status, followed by the URL of the call or by the code and message of the error. */
async function create(person: Person): Promise<readonly unknown[]> {
  const { status, body } = await person.rest('POST', CREATE);
  return status === 200 ? [status, body.url] : [status, body.code, body.msg];
}

const CALL = [200, expect.stringMatching(/^https:\/\/video\.example\/join\/\w+$/)];
const NO_TOKEN = [400, 'INVALID_VIDEO_CALL_PROVIDER_TOKEN', 'Invalid video provider access token'];
const BAD_STATE = [400, 'BAD_REQUEST', 'Invalid video provider session identifier'];
const FAILED = [400, 'BAD_REQUEST', 'Failed to create video call'];

async function hasToken(person: Person): Promise<boolean> {
  const state = await person.register({ fetch_event_types: ['video_calls'] });
  expect((await person.query('{ hasVideoCallToken }')).hasVideoCallToken).toBe(state.has_videoprovider_token);
  return state.has_videoprovider_token;
}

describe('consent', () => {
  test('is given at the provider, with PKCE, and allows calls', async () => {
    const { member, owner } = await createOrganization({}, { on: service });
    const [heard, heardByOthers] = [await member.receiving(), await owner.receiving()];
    expect(await create(member)).toEqual(NO_TOKEN);
    expect(await hasToken(member)).toBe(false);
    await connected(member);
    expect(await hasToken(member)).toBe(true);
    expect(await create(member)).toEqual(CALL);
    expect(await heard()).toEqual([TOLD(true)]);
    expect([await heardByOthers(), await hasToken(owner), await create(owner)]).toEqual([[], false, NO_TOKEN]);
  });

  test('is also given over GraphQL, where viewers complete their own registration', async () => {
    const { member, owner, anonymous } = await createOrganization({}, { on: service });
    await using stream = await member.events('... on VideoCallTokenChangedEvent { hasVideoCallToken }');
    const { videoCallRegistrationUrl: url } = await member.query('{ videoCallRegistrationUrl }');
    const { code, state } = Object.fromEntries(new URL(provider.agree(url)).searchParams);
    const complete = (input: object, by: Visitor = member) =>
      by.graphql(
        `mutation ($input: CompleteVideoCallRegistrationInput!) { completeVideoCallRegistration(input: $input) {
          ... on CompleteVideoCallRegistrationPayload { hasVideoCallToken } ... on ServiceError { code message } } }`,
        { input },
      );
    const refused = { data: { completeVideoCallRegistration: { code: 'BAD_REQUEST', message: BAD_STATE[2] } } };
    expect(await complete({ consent: { code }, state: 'x' })).toMatchObject(refused);
    expect(await complete({ consent: { code }, state }, owner)).toMatchObject(refused);
    expect((await complete({ consent: { code }, state }, anonymous)).errors).toMatchObject([
      { extensions: { code: 'UNAUTHORIZED' } },
    ]);
    expect((await complete({ consent: { code }, state })).data.completeVideoCallRegistration).toEqual({
      hasVideoCallToken: true,
    });
    expect(await complete({ consent: { code }, state })).toMatchObject(refused);
    const query = 'mutation { createVideoCall { ... on CreateVideoCallPayload { url } ... on ServiceError { code } } }';
    expect((await member.query(query)).createVideoCall).toEqual({ url: CALL[1] });
    expect((await stream.next()).hasVideoCallToken).toBe(true);
    provider.revoke();
    expect((await member.query(query)).createVideoCall).toEqual({ code: 'INVALID_VIDEO_CALL_PROVIDER_TOKEN' });
    expect((await stream.next()).hasVideoCallToken).toBe(false);
  });

  test('started over GraphQL is completed by the same browser, or by none if started over a socket', async () => {
    const { member } = await createOrganization({}, { on: service });
    const query = '{ videoCallRegistrationUrl }';
    const headers = { ...member.headers, 'content-type': 'application/json' };
    const reply = await send(member.url, {
      method: 'POST',
      path: '/graphql',
      headers,
      body: JSON.stringify({ query }),
    });
    const browser = new CookieBrowser(member.url);
    browser.keep(member.host.split(':')[0] ?? '', reply);
    const agreed = provider.agree(JSON.parse(reply.text).data.videoCallRegistrationUrl);
    expect((await back(new CookieBrowser(member.url), agreed)).body.msg).toBe(BAD_STATE[2]);
    expect((await back(browser, agreed)).status).toBe(200);
    const { data } = await member.graphqlOverSocket(query);
    expect((await back(browser, provider.agree(data.videoCallRegistrationUrl))).body.msg).toBe(BAD_STATE[2]);
  });

  test('can be completed only by the browser that began it, so no other user can obtain the token', async () => {
    const { member: attacker, owner: victim } = await createOrganization({}, { on: service });
    const [theirs, others, nobodys] = [1, 2, 3].map(() => new CookieBrowser(attacker.url)) as [
      ...[CookieBrowser, CookieBrowser, CookieBrowser],
    ];
    const agreed = provider.agree(await registering(attacker, theirs));
    // The victim has also started to connect with the provider, so the victim's browser has a cookie.
    const own = provider.agree(await registering(victim, others));
    for (const browser of [others, nobodys]) {
      expect((await back(browser, agreed)).body).toMatchObject({ code: 'BAD_REQUEST', msg: BAD_STATE[2] });
    }
    expect(await hasToken(attacker)).toBe(false);
    expect((await back(others, own)).status).toBe(200);
    expect([await hasToken(attacker), await hasToken(victim)]).toEqual([false, true]);
    expect((await back(theirs, agreed)).status).toBe(200);
  });

  test('does not redirect to a port that only a Host header named', async () => {
    const { member: attacker } = await createOrganization({}, { on: service });
    const [name, port] = attacker.host.split(':');
    const begun = await send(attacker.url, {
      method: 'GET',
      path: `/api/v1${REGISTER}`,
      headers: { ...attacker.headers, host: `${name}:9` },
    });
    const agreed = new URL(provider.agree(begun.headers.location ?? ''));
    const sent = await send(attacker.url, {
      method: 'GET',
      path: agreed.pathname + agreed.search,
      headers: { host: agreed.host },
    });
    const { host, pathname } = new URL(sent.headers.location ?? '');
    expect([sent.status, host, pathname]).toEqual([302, `${name}:${port}`, agreed.pathname]);
  });

  test('works once, even if it returns several times at once, and whatever the result', async () => {
    const { member } = await createOrganization({}, { on: service });
    const browser = new CookieBrowser(member.url);
    const agreed = provider.agree(await registering(member, browser));
    provider.asked.token = 0;
    const replies = await Promise.all(Array.from({ length: 5 }, () => back(browser, agreed)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400, 400]);
    expect(provider.asked.token).toBe(1);
    // The state is written in another encoding. Decoded, its bytes do not change.
    const again = new URL(agreed);
    again.searchParams.set('state', `${again.searchParams.get('state')}=`);
    expect((await back(browser, again.href)).body.msg).toBe(BAD_STATE[2]);
    const refused = new URL(provider.agree(await registering(member, browser)));
    refused.searchParams.set('error', 'access_denied');
    expect((await back(browser, refused.href)).body.msg).toBe('The video provider did not give its permission');
    refused.searchParams.delete('error');
    expect((await back(browser, refused.href)).body.msg).toBe(BAD_STATE[2]);
  });

  test('sets a cookie that scripts cannot read, for these addresses and ten minutes, and removes it', async () => {
    const { member } = await createOrganization({}, { on: service });
    const { headers } = await member.rest('GET', REGISTER);
    const [cookie = ''] = headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^chat-call-[0-9a-f]+=[\w-]{43}; /);
    const expected = ['HttpOnly', 'Max-Age=600', 'Path=/api/v1/calls/videoprovider', 'SameSite=Lax'];
    expect(cookie.split('; ').slice(1).toSorted()).toEqual(expected);
    const { code, state } = Object.fromEntries(new URL(provider.agree(headers.location ?? '')).searchParams);
    const shown = { headers: { cookie: cookie.split(';')[0] ?? '' } };
    const reply = await member.rest('GET', '/calls/videoprovider/complete', { code, state }, shown);
    expect([reply.status, reply.headers['set-cookie']?.[0]]).toEqual([200, expect.stringContaining('Max-Age=0')]);
  });

  test('sets its cookie together with that of a session whose token is renewed', async () => {
    const { owner } = await createOrganization({}, { on: service, password: 'correct horse battery' });
    const browser = new CookieBrowser(owner.url);
    const form = new URLSearchParams({ username: owner.email, password: 'correct horse battery' }).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const request = { method: 'POST', path: '/api/v1/sessions', body: form };
    const signedIn = await send(owner.url, { ...request, headers: { host: owner.host, ...type } });
    const [cookie = ''] = signedIn.headers['set-cookie'] ?? [];
    clock += 2 * 3_600_000;
    const reply = await browser.open(addressOf(owner, REGISTER), { cookie: cookie.split(';')[0] ?? '' });
    const names = (reply.headers['set-cookie'] ?? []).map((line) => /^(chat-\w+)-/.exec(line)?.[1]);
    expect([reply.status, names]).toEqual([302, ['chat-session', 'chat-call']]);
  });

  test('accepts only its own complete state, for ten minutes, of this organization and an active user', async () => {
    const [{ member }, other] = [
      await createOrganization({}, { on: service }),
      await createOrganization({}, { on: service }),
    ];
    const browser = new CookieBrowser(member.url);
    const complete = async (at: Visitor, parameters: Record<string, string>) => {
      const query = new URLSearchParams(parameters);
      const { status, text } = await browser.open(`http://${at.host}/api/v1/calls/videoprovider/complete?${query}`);
      const { code, msg } = JSON.parse(text);
      return [status, code, msg];
    };
    const agreed = async () =>
      Object.fromEntries(new URL(provider.agree(await registering(member, browser))).searchParams);
    const { code = '', state = '' } = await agreed();
    const changed = Buffer.from(state, 'base64url').map((byte, i) => (i === 40 ? byte ^ 1 : byte));
    const sealedKey = service.app.keys.seal(JSON.stringify({ organizationId: 1, userId: 1 }));
    for (const wrong of [
      '',
      'x',
      state.slice(1),
      Buffer.from(changed).toString('base64url'),
      Buffer.from(sealedKey).toString('base64url'),
    ]) {
      expect(await complete(member, { code, state: wrong }), wrong).toEqual(BAD_STATE);
    }
    expect(await complete(other.anonymous, { code, state })).toEqual(BAD_STATE);
    expect((await complete(member, { state })).slice(0, 2)).toEqual([400, 'REQUEST_VARIABLE_MISSING']);
    expect((await complete(member, { code })).slice(0, 2)).toEqual([400, 'REQUEST_VARIABLE_MISSING']);
    clock += 599_000;
    expect(await complete(member, { code, state })).toEqual([200, undefined, '']);
    const old = await agreed();
    clock += 600_000;
    expect(await complete(member, old)).toEqual(BAD_STATE);
    const late = await agreed();
    await service.app.db.user.updateMany({ where: { id: member.id }, data: { isActive: false } });
    expect((await complete(member, late)).slice(0, 2)).toEqual([401, 'USER_DEACTIVATED']);
  });

  test('is refused if verifier and challenge differ, or the provider is unreachable', async () => {
    const { member } = await createOrganization({}, { on: service });
    const browser = new CookieBrowser(member.url);
    const one = provider.agree(await registering(member, browser));
    const mixed = new URL(provider.agree(await registering(member, browser)));
    mixed.searchParams.set('code', new URL(one).searchParams.get('code') ?? '');
    expect((await back(browser, mixed.href)).body.msg).toBe('Invalid video provider credentials');
    const two = provider.agree(await registering(member, browser));
    provider.instead.token = (response) => response.destroy();
    expect((await back(browser, two)).body.msg).toBe('Failed to reach the video provider');
    expect(await hasToken(member)).toBe(false);
  });

  test('stores no token in plain text', async () => {
    const { member } = await createOrganization({}, { on: service });
    await connected(member);
    const [, url] = await create(member);
    const { sealed } = await service.app.db.callToken.findFirstOrThrow({ where: { userId: member.id } });
    const token = String(url).split('/').at(-1) ?? '';
    expect(service.app.keys.open(sealed)).toContain(token);
    expect(Buffer.from(sealed).toString('latin1')).not.toContain(token);
  });
});

describe('an expired token', () => {
  async function withOldToken(): Promise<Person> {
    const { member } = await createOrganization({}, { on: service });
    await connected(member);
    clock += 3600_000;
    return member;
  }

  test('is renewed once for many concurrent calls, without an event', async () => {
    const member = await withOldToken();
    const heard = await member.receiving();
    provider.asked.token = 0;
    const calls = await Promise.all(Array.from({ length: 6 }, () => create(member)));
    expect(calls).toEqual(Array.from({ length: 6 }, () => CALL));
    expect([provider.asked.token, await heard()]).toEqual([1, []]);
    // The new access token was stored together with the new refresh token.
    clock += 3600_000;
    expect([await create(member), provider.asked.token]).toEqual([CALL, 2]);
  });

  test('is renewed with the same refresh token again, if the provider returns no new one', async () => {
    const member = await withOldToken();
    const { refreshToken } = provider;
    provider.grants = { expires_in: 60, refresh_token: undefined };
    expect(await create(member)).toEqual(CALL);
    provider.refreshToken = refreshToken;
    clock += 60_000;
    expect(await create(member)).toEqual(CALL);
  });

  test('is removed if it cannot be renewed', async () => {
    const member = await withOldToken();
    const heard = await member.receiving();
    provider.refreshToken = 'another';
    expect(await Promise.all([create(member), create(member)])).toEqual([NO_TOKEN, NO_TOKEN]);
    expect([await heard(), await hasToken(member)]).toEqual([[TOLD(false)], false]);
  });

  test('is kept if the provider is unavailable, or rejects the credentials of the operator', async () => {
    const member = await withOldToken();
    for (const instead of [
      (response: ServerResponse) => response.destroy(),
      (response: ServerResponse) => json(response, 503, { error: 'temporarily_unavailable' }),
      (response: ServerResponse) => json(response, 401, { error: 'invalid_client' }),
      (response: ServerResponse) => json(response, 200, { access_token: 'a\nb' }),
      (response: ServerResponse) => json(response, 200, { access_token: 'x'.repeat(100_000) }),
    ]) {
      provider.instead.token = instead;
      expect(await create(member)).toEqual(FAILED);
    }
    provider.instead = {};
    expect([await hasToken(member), await create(member)]).toEqual([true, CALL]);
  });

  test('is not renewed during the lease of a request that died, but after it', async () => {
    const member = await withOldToken();
    const { app } = service;
    const where = { userId: member.id };
    const { sealed } = await app.db.callToken.findFirstOrThrow({ where });
    const leased = { ...JSON.parse(app.keys.open(sealed)), renewedUntil: clock + 15_000 };
    await app.db.callToken.updateMany({ where, data: { sealed: app.keys.seal(JSON.stringify(leased)) } });
    provider.asked.token = 0;
    const waiting = create(member);
    // A timer shows that the call waits. A second request of this account cannot show it, because its answer may come only
    // after the call.
    expect(await Promise.race([waiting, sleep(300, 'still waiting')])).toBe('still waiting');
    expect(provider.asked.token).toBe(0);
    clock += 15_000;
    expect([await waiting, provider.asked.token]).toEqual([CALL, 1]);
  });
});

describe('POST /calls/videoprovider/create', () => {
  test('removes a token that the provider refuses, with one event', async () => {
    const { member } = await createOrganization({}, { on: service });
    await connected(member);
    const heard = await member.receiving();
    provider.revoke();
    expect(await Promise.all([create(member), create(member)])).toEqual([NO_TOKEN, NO_TOKEN]);
    expect([await heard(), await hasToken(member)]).toEqual([[TOLD(false)], false]);
    await connected(member);
    expect([await create(member), await heard()]).toEqual([CALL, expect.arrayContaining([TOLD(true)])]);
  });

  const answering = (body: object) => (response: ServerResponse) => json(response, 200, body);

  test.for<[string, (response: ServerResponse) => void]>([
    ['an error', (response) => json(response, 500, {})],
    ['a refusal that is not of the token', (response) => json(response, 403, { join_url: 'https://video.example' })],
    ['no answer', (response) => response.destroy()],
    ['no JSON', (response) => void response.end('<html>')],
    ['no address', answering({})],
    ['an address that runs a script', answering({ join_url: 'javascript:alert(1)' })],
    ['an address of a file', answering({ join_url: 'file:///etc/passwd' })],
    ['an address that is endless', answering({ join_url: `https://video.example/${'x'.repeat(3000)}` })],
    ['an answer that is endless', answering({ join_url: 'https://video.example', more: 'x'.repeat(100_000) })],
    ['another address to ask', (response) => void response.writeHead(307, { location: 'https://evil.example' }).end()],
  ])('fails, and keeps the token, if the provider returns %s', async ([, instead]) => {
    const { member } = await createOrganization({}, { on: service });
    await connected(member);
    provider.instead.calls = instead;
    expect(await create(member)).toEqual(FAILED);
    provider.instead = {};
    expect(await create(member)).toEqual(CALL);
  });

  test('waits at most ten seconds for the provider', async () => {
    const { member } = await createOrganization({}, { on: service });
    await connected(member);
    const time = new AbortController();
    const limits = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(time.signal);
    provider.instead.calls = () => time.abort();
    expect(await create(member)).toEqual(FAILED);
    expect(limits).toHaveBeenCalledExactlyOnceWith(10_000);
    limits.mockRestore();
    provider.instead = {};
    expect(await create(member)).toEqual(CALL);
  });

  test('is refused in both APIs if no provider is configured', async () => {
    const { member } = await createOrganization();
    const message = 'Video provider credentials have not been configured';
    expect(await create(member)).toEqual([400, 'BAD_REQUEST', message]);
    expect((await member.rest('GET', REGISTER)).body.msg).toBe(message);
    expect((await member.rest('GET', '/calls/videoprovider/complete', { state: 'x' })).body.msg).toBe(message);
    expect((await member.graphql('{ videoCallRegistrationUrl }')).errors).toMatchObject([{ message }]);
    const { realm_available_video_chat_providers: none } = await member.register({ fetch_event_types: ['realm'] });
    expect(none).toEqual({ disabled: { name: 'None', id: 0 } });
  });

  test('is one of the providers of an organization, if configured', async () => {
    const { owner } = await createOrganization({}, { on: service });
    const { realm_available_video_chat_providers: known } = await owner.register({ fetch_event_types: ['realm'] });
    expect(known).toEqual({
      disabled: { name: 'None', id: 0 },
      videoprovider: { name: 'Video provider', id: 8 },
    });
    await owner.ok('PATCH', '/realm', { video_chat_provider: 8 });
    const elsewhere = await createOrganization();
    const { status, body } = await elsewhere.owner.rest('PATCH', '/realm', { video_chat_provider: 8 });
    expect([status, body.code, body.msg]).toEqual([400, 'BAD_REQUEST', 'Invalid video_chat_provider']);
  });
});

describe('VIDEO_PROVIDER_', () => {
  const all = {
    VIDEO_PROVIDER_CLIENT_ID: 'id',
    VIDEO_PROVIDER_CLIENT_SECRET: 'secret',
    VIDEO_PROVIDER_AUTHORIZE_URL: 'https://video.example/authorize',
    VIDEO_PROVIDER_TOKEN_URL: 'https://video.example/token',
    VIDEO_PROVIDER_CREATE_URL: 'http://localhost:9/calls',
  };

  test('variables are required together, and addresses use HTTPS except on localhost', () => {
    expect(readConfig(all).videoProvider).toMatchObject({ clientId: 'id', createUrl: 'http://localhost:9/calls' });
    expect(readConfig({}).videoProvider).toBeUndefined();
    expect(() => readConfig({ ...all, VIDEO_PROVIDER_CLIENT_ID: '' })).toThrow(/^VIDEO_PROVIDER_CLIENT_ID: required/);
    for (const url of ['http://video.example/token', 'ftp://video.example', 'video.example']) {
      expect(() => readConfig({ ...all, VIDEO_PROVIDER_TOKEN_URL: url })).toThrow(/^VIDEO_PROVIDER_TOKEN_URL: /);
    }
  });
});
