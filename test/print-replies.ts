/** Calls every endpoint as printed in the references, on a fresh demo, and stores responses and events for the references. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { Secret, TOTP } from 'otpauth';
import { CAPABILITIES } from '../src/events/view.ts';
import { documentedEvents } from '../src/events/wire.ts';
import '../src/server/registries/schema.ts';
import { demoCallOf, nameOf, printedCall } from '../src/server/pages/calls/all.ts';
import { routes } from '../src/server/registries/features.ts';
import { CookieBrowser } from './helpers/browser.ts';
import type { Json } from './helpers/http.ts';
import { startOpenIdProvider } from './helpers/openid-provider.ts';
import { basic, type Parameters, Visitor } from './helpers/person.ts';
import { registerApp, startPhoneServices } from './helpers/phone-services.ts';
import { PNG } from './helpers/pictures.ts';
import { PrintedCalls, replyOf, shownReply } from './helpers/printed-calls.ts';
import { ServerProcess } from './helpers/process.ts';
import { startVideoProvider } from './helpers/video-provider.ts';

const FOLDER = join(import.meta.dirname, '../src/server/pages');
const keep = (name: string, examples: object) =>
  writeFileSync(join(FOLDER, name), `${JSON.stringify(examples, null, 1)}\n`);
const SECRET = 'x'.repeat(32);

await using provider = await startVideoProvider();
await using phones = await startPhoneServices();
const JWT_AUTH_KEYS = JSON.stringify({ '': { key: SECRET, algorithms: ['HS256'] } });
await using server = await ServerProcess.start({
  env: { DEMO: 'on', DATABASE_URL: undefined, JWT_AUTH_KEYS, ...provider.env, ...phones.env },
});
using calls = new PrintedCalls(server);
const { users } = JSON.parse(readFileSync(join(server.dataDir, 'demo.json'), 'utf8'));
const { email } = users[0];
const [owner, bela] = [0, 3].map((i) => {
  const authorization = basic(users[i].email, users[i].api_key);
  return new Visitor({ url: server.url, host: `127.0.0.1:${server.port}`, authorization });
}) as [Visitor, Visitor];
const capable = JSON.stringify(Object.fromEntries(CAPABILITIES.map((name) => [name, true])));
const listening = await Promise.all(
  [
    [owner, { client_capabilities: capable }],
    [owner, {}],
    [bela, { client_capabilities: capable }],
  ].map(async ([visitor, options]) => listen(visitor as Visitor, options as Parameters)),
);

/**
 * Registers a queue.
 *
 * @returns A function that reads the queue and returns one event of each type.
 */
async function listen(visitor: Visitor, options: Parameters) {
  const { queue_id, last_event_id } = await visitor.ok('POST', '/register', { fetch_event_types: '[]', ...options });
  return async (): Promise<Json[]> => {
    const heard: Json[] = [];
    for (let last = last_event_id; ; last = heard.at(-1)?.id) {
      const { events } = await visitor.ok('GET', '/events', { queue_id, last_event_id: last, dont_block: true });
      if (events.length === 0) return heard;
      heard.push(...events);
    }
  };
}

/** Collects the responses that need more than a demo, such as a provider of video calls. */
async function setUp(): Promise<Readonly<Record<string, unknown>>> {
  const browser = new CookieBrowser(server.url);
  const at = `${server.url}/api/v1/calls/videoprovider`;
  const agreeing = await browser.open(`${at}/register`, owner.headers);
  const complete = await browser.open(provider.agree(agreeing.headers.location ?? ''));
  const token = await new SignJWT({ email }).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(SECRET));
  return {
    ...(await notifyPhone()),
    'GET /calls/videoprovider/complete': JSON.parse(complete.text),
    'POST /calls/videoprovider/create': await owner.ok('POST', '/calls/videoprovider/create'),
    'DELETE /sessions/current': await signOut(),
    'POST /sessions/second_factor': await signInWithCode(),
    'POST /jwt/fetch_api_key': await owner.ok('POST', '/jwt/fetch_api_key', { token }),
  };
}

/** Returns the responses of the endpoints that need a push service. */
async function notifyPhone(): Promise<Readonly<Record<string, unknown>>> {
  const { token } = phones.fcm.phone();
  await owner.ok('POST', '/users/me/android_gcm_reg_id', { token });
  const { deviceId, registration } = await registerApp(owner, phones);
  return {
    'POST /mobile_push/register': await owner.ok('POST', '/mobile_push/register', registration('fcm', token)),
    'POST /mobile_push/test_notification': await owner.ok('POST', '/mobile_push/test_notification', { token }),
    'POST /mobile_push/e2ee/test_notification': await owner.ok('POST', '/mobile_push/e2ee/test_notification', {
      device_id: deviceId,
    }),
  };
}

/** Returns the response to a browser that signs out. Before, the browser signs in with a password. */
async function signOut(): Promise<unknown> {
  const login = { username: 'leaving@example.com', password: 'correct horse battery staple' };
  await owner.ok('POST', '/users', { email: login.username, password: login.password, full_name: 'Leo Ving' });
  const url = `${server.url}/api/v1/sessions`;
  const signedIn = await fetch(url, { method: 'POST', body: new URLSearchParams(login) });
  const cookie = signedIn.headers.getSetCookie().map((line) => line.split(';')[0]);
  return (await fetch(`${url}/current`, { method: 'DELETE', headers: { cookie: cookie.join('; ') } })).json();
}

/** Returns the response to a sign-in with a second factor. Before, the person adds an authenticator app. */
async function signInWithCode(): Promise<unknown> {
  const login = { username: 'careful@example.com', password: 'correct horse battery staple' };
  await owner.ok('POST', '/users', { email: login.username, password: login.password, full_name: 'Cara Full' });
  const { api_key } = await owner.ok('POST', '/fetch_api_key', login);
  const person = owner.as(basic(login.username, api_key));
  const begin = 'mutation { beginSecondFactor(input: {}) { ... on BeginSecondFactorPayload { secret } } }';
  const { secret } = (await person.graphql(begin)).data.beginSecondFactor;
  const codeAt = (timestamp: number) => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
  await person.graphql(
    `mutation { confirmSecondFactor(input: { code: "${codeAt(Date.now() - 30_000)}" }) { __typename } }`,
  );
  const url = `${server.url}/api/v1/sessions`;
  const { challenge } = await (await fetch(url, { method: 'POST', body: new URLSearchParams(login) })).json();
  const body = new URLSearchParams({ challenge, code: codeAt(Date.now()) });
  return (await fetch(`${url}/second_factor`, { method: 'POST', body })).json();
}

/** Signs the owner in with an identity provider, whose identity is then linked to the account. */
async function linkIdentity(): Promise<void> {
  await using identities = await startOpenIdProvider();
  const mutate = async (name: string, input: object): Promise<Json> => {
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
    const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) {
      ... on ${type}Payload { identityProvider { id redirectUri } } } }`;
    return (await owner.graphql(query, { input })).data[name].identityProvider;
  };
  const given = { slug: 'linked', name: 'Linked', issuer: identities.issuer, clientId: 'x', clientSecret: 'x' };
  const { id: identityProviderId, redirectUri } = await mutate('createIdentityProvider', given);
  await mutate('updateIdentityProvider', { identityProviderId, ...(await identities.register(redirectUri)) });
  identities.people.set('owner', { email, email_verified: true });
  const browser = new CookieBrowser(server.url);
  const begun = await browser.open(new URL('.', redirectUri).href.replace(/\/$/, ''));
  await browser.open(await identities.signIn(begun.headers.location ?? '', 'owner'));
}

/** Returns the events of a long poll during which nothing changes. */
async function silence(): Promise<Json[]> {
  const { queue_id, last_event_id } = await owner.ok('POST', '/register', { event_types: ['drafts'] });
  return (await owner.ok('GET', '/events', { queue_id, last_event_id })).events;
}

/** Makes changes that no example call of the documentation makes, so that all types of events occur. */
async function actOn(): Promise<void> {
  const bot = await bela.ok('POST', '/bots', { full_name: 'Tide', short_name: 'tide' });
  await bela.ok('PATCH', `/bots/${bot.user_id}`, { default_all_public_streams: true });
  await owner.ok('PATCH', `/bots/${bot.user_id}`, { bot_owner_id: users[0].user_id });
  const [outer, inner] = await Promise.all(
    ['outer', 'inner'].map((name) => owner.ok('POST', '/user_groups/create', { name, description: '', members: [] })),
  );
  for (const change of ['add', 'delete']) {
    await owner.ok('POST', `/user_groups/${outer?.group_id}/subgroups`, { [change]: [inner?.group_id] });
  }
  const to = [users[3].user_id];
  const message = await owner.ok('POST', '/messages', { type: 'direct', to, content: 'Hello' });
  await bela.ok('POST', '/messages/flags', { messages: [message.id], op: 'add', flag: 'read' });
  await bela.ok('POST', '/messages/flags', { messages: [message.id], op: 'remove', flag: 'read' });
  const { url } = await owner.ok('POST', '/user_uploads', { file: PNG });
  await owner.ok('POST', '/messages', { type: 'direct', to, content: `[picture](${url})` });
  const provider = {
    slug: 'example',
    name: 'Example',
    issuer: 'https://identity.example',
    clientId: 'chat',
    clientSecret: 'x',
  };
  const create =
    'mutation ($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { __typename } }';
  await owner.graphql(create, { input: provider });
  await owner.graphql('mutation { createApiKey(input: { name: "Backup", scopes: [READ] }) { __typename } }');
  const begin = 'mutation { beginSecondFactor(input: {}) { ... on BeginSecondFactorPayload { secret } } }';
  const { secret } = (await bela.graphql(begin)).data.beginSecondFactor;
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  await bela.graphql(`mutation { confirmSecondFactor(input: { code: "${code}" }) { __typename } }`);
  await owner.ok('POST', '/typing', { op: 'stop', type: 'direct', to });
  await owner.ok('POST', `/messages/${message.id}/typing`, { op: 'stop' });
}

const replies: Record<string, unknown> = {};
for (const endpoint of routes.filter((endpoint) => demoCallOf(endpoint).refused === undefined)) {
  const reply = replyOf(calls.run(printedCall(endpoint)));
  if (reply.result !== 'success') {
    throw new Error(
      `${nameOf(endpoint)}: ${JSON.stringify(reply)}. Give its example other values in src/server/pages/calls.`,
    );
  }
  replies[nameOf(endpoint)] = shownReply(reply);
}
const all = { ...replies, ...(shownReply(await setUp()) as object) };
keep('example-replies.json', all);
await actOn();
await linkIdentity();
// Restarts the server, because some events are sent only when a service starts.
await server.restart();
const heard = (await Promise.all(listening.map((read) => read()))).flat();
heard.push(...(await silence()));
const kinds = documentedEvents().flatMap(({ type, op }): [string, unknown][] => {
  const event = heard.find((event) => event.type === type && event.op === op);
  const name = op === undefined ? type : `${type}/${op}`;
  if (event === undefined) console.log(`nobody heard ${name}`);
  return event === undefined ? [] : [[name, shownReply(event)]];
});
keep('example-events.json', Object.fromEntries(kinds));
console.log(`kept ${Object.keys(all).length} replies and ${kinds.length} events`);
