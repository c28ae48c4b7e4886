import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signedIn } from '../../src/access/context.ts';
import { idempotencyKey, withIdempotencyKey } from '../../src/access/idempotency.ts';
import { signIn } from '../../src/access/sign-in.ts';
import { ignoresIdempotencyKey } from '../../src/api/graphql/schema/mutation.ts';
import { type Endpoint, takesIdempotencyKey } from '../../src/api/rest/endpoint.ts';
import { sendMessage } from '../../src/messages/sending/send.ts';
import { routes } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { webSocketClient } from '../helpers/events.ts';
import { documentOf, GRAPHQL_CALLS, type GraphQLCall } from '../helpers/graphql-calls.ts';
import { type Json, send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { operationBody, type Parameters, type Person, type Visitor } from '../helpers/person.ts';
import { type PhoneServices, startPhoneServices } from '../helpers/phone-services.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const schema = buildSchema();
const draft = (content: string) => ({ drafts: [{ type: '', to: [], topic: '', content }] });
const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

/** Sends an operation over HTTP, with an idempotency key in the header or in `extensions`. */
async function ask(
  who: Visitor,
  operation: { query: string; variables?: Parameters; extensions?: Json },
  headers: Readonly<Record<string, string>> = {},
) {
  const { headers: form, body } = operationBody({ variables: {}, ...operation });
  const all = { ...who.headers, ...form, ...headers, accept: 'application/graphql-response+json' };
  const reply = await send(who.url, { method: 'POST', path: '/graphql', headers: all, body });
  return { status: reply.status, ...(JSON.parse(reply.text) as Json) };
}

const SAVE = `mutation ($input: CreateSavedSnippetInput!) { createSavedSnippet(input: $input) {
  __typename ... on CreateSavedSnippetPayload { savedSnippet { id title } } ... on ServiceError { code }
} }`;
const save = (title: string) => ({ query: SAVE, variables: { input: { title, content: 'content' } } });
const snippetsOf = async (person: Person) => (await person.ok('GET', '/saved_snippets')).saved_snippets;

describe('a write under a key', () => {
  test('has one effect, and the same reply each time', async () => {
    const { member } = await createOrganization();
    const heard = await member.receiving();
    const key = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => member.rest('POST', '/drafts', draft('once'), keyed(key))),
    );
    replies.push(await member.rest('POST', '/drafts', draft('once'), keyed(key)));
    for (const { status, body } of replies) expect([status, body]).toEqual([200, replies[0]?.body]);
    expect((await member.ok('GET', '/drafts')).drafts).toHaveLength(1);
    expect(await heard()).toHaveLength(1);
  });

  test('repeats its reply, even if its object has changed since', async () => {
    const { member } = await createOrganization();
    const { ids } = await member.ok('POST', '/drafts', draft('to go'));
    const first = await member.rest('DELETE', `/drafts/${ids[0]}`, {}, keyed('delete'));
    expect(first.status).toBe(200);
    expect(await member.rest('DELETE', `/drafts/${ids[0]}`, {}, keyed('delete'))).toMatchObject({ body: first.body });
    expect((await member.rest('DELETE', `/drafts/${ids[0]}`)).status).not.toBe(200);
  });

  test('is refused without effect if the key was used for another request', async () => {
    const { member } = await createOrganization();
    await member.rest('POST', '/drafts', draft('this'), keyed('k'));
    const others = [
      () => member.rest('POST', '/drafts', draft('that'), keyed('k')),
      () => member.rest('POST', '/saved_snippets', { title: 'a', content: 'b' }, keyed('k')),
      () => member.rest('POST', '/drafts', { ...draft('this'), unheard_of: 1 }, keyed('k')),
    ];
    for (const other of others) {
      expect(await other()).toMatchObject({
        status: 400,
        body: { code: 'BAD_REQUEST', msg: 'This idempotency key was used for another request' },
      });
    }
    expect(await ask(member, save('this'), keyed('k').headers)).toMatchObject({
      status: 400,
      errors: [{ message: 'This idempotency key was used for another request', extensions: { code: 'BAD_REQUEST' } }],
    });
    expect((await member.ok('GET', '/drafts')).drafts).toHaveLength(1);
    expect((await member.ok('GET', '/saved_snippets')).saved_snippets).toEqual([]);
  });

  test('does not conflict with the same key of another user', async () => {
    const { member, guest } = await createOrganization();
    for (const person of [member, guest]) await person.ok('POST', '/drafts', draft('mine'), keyed('shared'));
    for (const person of [member, guest]) expect((await person.ok('GET', '/drafts')).drafts).toHaveLength(1);
  });

  test('that fails leaves the key unused', async () => {
    const { administrator } = await createOrganization();
    const create = (name: string) =>
      administrator.rest('POST', '/channels/create', { name, subscribers: [] }, keyed('create'));
    await administrator.ok('POST', '/channels/create', { name: 'taken', subscribers: [] });
    expect(await create('taken')).toMatchObject({ status: 409, body: { code: 'CHANNEL_ALREADY_EXISTS' } });
    expect(await create('free')).toMatchObject({ status: 200 });
    expect(await create('taken')).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
  });

  test('requires a valid key', async () => {
    const { member } = await createOrganization();
    for (const key of ['', 'x'.repeat(256)]) {
      expect(await member.rest('POST', '/drafts', draft('never'), keyed(key))).toMatchObject({ status: 400 });
    }
    const wrong = await ask(member, { ...save('never'), extensions: { idempotencyKey: 7 } });
    expect(wrong).toMatchObject({ status: 400, errors: [{ message: '"idempotencyKey" must be a string' }] });
    expect((await member.ok('GET', '/drafts')).drafts).toEqual([]);
  });

  test('a read ignores keys', async () => {
    const { member } = await createOrganization();
    const read = () => member.ok('GET', '/drafts', {}, keyed('read'));
    expect((await read()).drafts).toEqual([]);
    await member.ok('POST', '/drafts', draft('new'), keyed('read'));
    expect((await read()).drafts).toHaveLength(1);
    const query = {
      query: '{ drafts { edges { node { content } } } }',
      extensions: { idempotencyKey: 'q' },
    };
    expect((await ask(member, query)).data.drafts.edges).toHaveLength(1);
    await member.ok('POST', '/drafts', draft('another'));
    expect((await ask(member, query)).data.drafts.edges).toHaveLength(2);
  });
});

describe('a mutation under a key', () => {
  test('has one effect over every transport, by header or extension', async () => {
    const { member } = await createOrganization();
    const extensions = { idempotencyKey: 'everywhere' };
    const client = webSocketClient(member);
    const overSocket = async () => {
      for await (const result of client.iterate({ ...save('once'), extensions })) return result as Json;
    };
    try {
      const replies = await Promise.all([
        ask(member, save('once'), keyed('everywhere').headers),
        ask(member, { ...save('once'), extensions }),
        overSocket(),
        overSocket(),
      ]);
      const [first] = replies;
      expect(first.data.createSavedSnippet).toMatchObject({ savedSnippet: { title: 'once' } });
      for (const { data } of replies) expect(data).toEqual(first.data);
    } finally {
      await client.dispose();
    }
    expect(await snippetsOf(member)).toHaveLength(1);
  });

  test('stores no typed error: a refused request can be repeated', async () => {
    const { member } = await createOrganization();
    const create = async (title: string) =>
      (await ask(member, { ...save(title), extensions: { idempotencyKey: 'title' } })).data.createSavedSnippet;
    expect(await create(' ')).toMatchObject({ code: 'BAD_REQUEST' });
    expect(await create('fine')).toMatchObject({ savedSnippet: { title: 'fine' } });
    expect(await snippetsOf(member)).toHaveLength(1);
  });

  test('stores no typed error of work outside its transaction either', async () => {
    const { owner } = await createOrganization({}, { password: 'correct horse' });
    const query = `mutation ($input: UpdateSettingsInput!) { updateSettings(input: $input) {
      ... on UpdateSettingsPayload { user { databaseId } } ... on ServiceError { message }
    } }`;
    const change = async (oldPassword: string) => {
      const variables = { input: { oldPassword, newPassword: 'battery staple' } };
      return (await ask(owner, { query, variables, extensions: { idempotencyKey: 'password' } })).data.updateSettings;
    };
    expect(await change('wrong')).toEqual({ message: 'Wrong password!' });
    const changed = { user: { databaseId: owner.id } };
    expect([await change('correct horse'), await change('correct horse')]).toEqual([changed, changed]);
  });

  test('is rolled back with an error if its reply cannot be created', async () => {
    const { owner } = await createOrganization();
    const query = `mutation ($input: CreateUserGroupInput!) { createUserGroup(input: $input) {
      ... on CreateUserGroupPayload { userGroup { name members(first: 5, after: "nonsense") { edges { cursor } } } }
    } }`;
    const variables = { input: { name: 'group', description: '', memberIds: [owner.id] } };
    const reply = await ask(owner, { query, variables, extensions: { idempotencyKey: 'broken' } });
    expect(reply).toMatchObject({ data: null, errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
    const { user_groups } = await owner.ok('GET', '/user_groups');
    expect(user_groups.map(({ name }: Json) => name)).not.toContain('group');
  });

  test('is refused if its reply would contain an API key, anywhere', async () => {
    const { owner } = await createOrganization();
    const { user_id } = await owner.ok('POST', '/bots', { full_name: 'Robot', short_name: 'robot' });
    const query = `mutation ($input: UpdateUserInput!) { updateUser(input: $input) {
      ... on UpdateUserPayload { user { fullName bot { apiKey } } }
    } }`;
    const rename = (extensions: Json) =>
      ask(owner, { query, variables: { input: { userId: user_id, fullName: 'Renamed' } }, extensions });
    expect(await rename({ idempotencyKey: 'secret' })).toMatchObject({
      data: null,
      errors: [{ message: 'API keys are not returned to requests with an idempotency key' }],
    });
    expect((await owner.ok('GET', `/users/${user_id}`)).user.full_name).toBe('Robot');
    expect((await rename({})).data.updateUser.user.bot.apiKey).toMatch(/^\w{32}$/);
  });

  test('must be the only one of its operation', async () => {
    const { member } = await createOrganization();
    const query = SAVE.replace(/\}$/, ' __typename }');
    const operation = { ...save('never'), query, extensions: { idempotencyKey: 'two' } };
    expect(await ask(member, operation)).toMatchObject({
      status: 400,
      errors: [{ message: 'An operation with an idempotency key must contain exactly one mutation' }],
    });
    expect(await snippetsOf(member)).toEqual([]);
  });
});

test('a repetition after the process was killed gets the first reply', async () => {
  await using server = await startServer();
  const { member } = await createOrganization({}, { on: server });
  const write = () => member.rest('POST', '/drafts', draft('over a kill'), keyed('kill'));
  const first = await write();
  await server.kill9();
  await server.restart();
  expect((await write()).body).toEqual(first.body);
  expect((await member.ok('GET', '/drafts')).drafts).toHaveLength(1);
});

/**
 * Writes that ignore idempotency keys, because they are ephemeral, run long and report progress, call another service, or
 * return an API key or a link that lets people in.
 */
const LEFT_OUT = {
  rest: [
    ...['DELETE /events', 'POST /register'],
    ...['POST /typing', 'POST /messages/{message_id}/typing', 'POST /users/me/presence'],
    ...['POST /mark_all_as_read', 'POST /streams/{stream_id}/delete_topic'],
    'POST /calls/videoprovider/create',
    ...['POST /mobile_push/test_notification', 'POST /mobile_push/e2ee/test_notification'],
    'DELETE /sessions/current',
    ...['POST /bots', 'POST /bots/{bot_id}/api_key/regenerate', 'POST /users/me/api_key/regenerate'],
    ...['POST /invites/multiuse', 'POST /user_uploads'],
  ],
  graphql: [
    ...['acknowledgeEvents', 'deleteEventQueue', 'registerEventQueue'],
    ...['setTyping', 'setEditTyping', 'recordPresence'],
    ...['markAllAsRead', 'deleteTopic'],
    ...['createVideoCall', 'completeVideoCallRegistration', 'sendTestNotification'],
    ...['createBot', 'updateBot', 'regenerateApiKey', 'fetchApiKey', 'fetchApiKeyByJwt'],
    ...['signIn', 'signOut', 'acceptInvitation', 'createInviteLink', 'requestPasswordReset', 'resetPassword'],
    'completeSignUp',
    ...['createApiKey', 'beginSecondFactor', 'beginSecondFactorAtSignIn', 'completeSignIn', 'confirmSecondFactor'],
    ...['addPasskey', 'beginPasskey', 'beginPasskeyAtSignIn', 'beginPasskeyProof', 'beginPasskeySignIn'],
    ...['completePasskeySignIn', 'removePasskey'],
    ...['continueInApp', 'removeSecondFactor', 'replaceRecoveryCodes', 'resetSecondFactor'],
  ],
};

test('the list of writes that ignore keys is short', () => {
  const endpoints = routes.filter((route) => route.ignoresIdempotencyKey === true && route.auth === 'basic');
  expect(endpoints.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(LEFT_OUT.rest.toSorted());
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {}).filter(ignoresIdempotencyKey);
  expect(mutations.map(({ name }) => name).sort()).toEqual(LEFT_OUT.graphql.toSorted());
});

/** Tables whose rows workers add and delete at any time. */
const BY_WORKERS: ReadonlySet<string> = new Set([
  ...['notification', 'notification_progress', 'push_key'],
  ...['link_preview', 'link_preview_job', 'link_preview_progress'],
]);

interface Pair {
  readonly plain: Scene;
  readonly repeated: Scene;
}

/**
 * Compares two equivalent organizations. In one, each write is made once. In the other, it is made three times concurrently
 * under one idempotency key.
 */
describe('every write, three times at once under one key', () => {
  let service: InProcess;
  let phones: PhoneServices;
  let rest: Pair;
  let graphql: Pair;
  let tables: string[];

  beforeAll(async () => {
    // This kind of service fails if a request reads or writes outside its transaction.
    // Otherwise the worker would delete the registrations of devices at some time, which are compared.
    phones = await startPhoneServices({ knowsAll: true });
    service = await startInProcess({ env: phones.env });
    const scene = () => makeScene({ on: service });
    rest = { plain: await scene(), repeated: await scene() };
    graphql = { plain: await scene(), repeated: await scene() };
    const columns = await service.app.db.$queryRaw<{ table_name: string }[]>`
      SELECT table_name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name = 'realm_id' AND table_name NOT IN ('idempotency_record', 'event')`;
    tables = columns.map(({ table_name }) => table_name).filter((name) => !BY_WORKERS.has(name));
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await phones[Symbol.asyncDispose]();
  });

  test('a message is sent with the current state of its sender, not with that of the sign-in', async () => {
    const { app } = service;
    const { owner, member } = await createOrganization({}, { on: service });
    const place = { subscriptions: [{ name: 'square' }], principals: [owner.id, member.id] };
    await owner.ok('POST', '/users/me/subscriptions', place);
    const { host, authorization } = member;
    const before = signedIn(await signIn(app, { host, authorization, userAgent: undefined }));
    const sendUnder = (key: string) =>
      withIdempotencyKey(app.work, idempotencyKey(before, key, []), (work) =>
        sendMessage({ ...before, work }, { to: { name: 'square' }, topic: 'words', content: key }),
      );
    await owner.ok('PATCH', `/users/${member.id}`, { role: 300 });
    expect(await sendUnder('once')).toEqual(await sendUnder('once'));
    await owner.ok('DELETE', `/users/${member.id}`);
    await expect(sendUnder('never')).rejects.toMatchObject({ code: 'USER_DEACTIVATED' });
  });

  /** Returns the number of rows of the organization in each table, and of events of each kind. */
  async function contents({ organization }: Scene): Promise<Json> {
    const counts = tables.map(
      (table) => `SELECT '${table}' AS name, count(*)::int AS n FROM "${table}" WHERE realm_id = $1`,
    );
    const events = `SELECT concat('event ', type, '/', op), count(*)::int FROM event WHERE realm_id = $1 GROUP BY type, op`;
    const rows = await service.app.db.$queryRawUnsafe<{ name: string; n: number }[]>(
      [...counts, events].join(' UNION ALL '),
      organization.id,
    );
    return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
  }

  async function gained(scene: Scene, act: () => Promise<unknown>): Promise<Json> {
    const before = await contents(scene);
    await act();
    // If several requests with one key upload the file, only the file of the first is visible, and a worker deletes the others.
    await service.app.db.attachment.deleteMany({ where: { isComplete: false } });
    const after = await contents(scene);
    const names = Object.keys(after).filter((name) => after[name] !== (before[name] ?? 0));
    return Object.fromEntries(names.sort().map((name) => [name, after[name] - (before[name] ?? 0)]));
  }

  const endpoints = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
  // The writes that accept a key, in an order in which they can succeed.
  const writes = Object.keys(REST_CALLS).filter((name) => {
    const endpoint = endpoints.get(name);
    return endpoint !== undefined && takesIdempotencyKey(endpoint);
  });
  test.for(writes)('%s', async (name) => {
    const { plain, repeated } = rest;
    const { method, path } = endpoints.get(name) as Endpoint;
    const calls = (scene: Scene) => REST_CALLS[name]?.(scene.names) ?? [];
    const [once, thrice] = [calls(plain), calls(repeated)];
    for (const [i, call] of once.entries()) {
      const again = thrice[i] ?? call;
      const effect = await gained(plain, () =>
        plain[call.as ?? 'owner'].ok(method as 'POST', pathOf(path, call), call.parameters),
      );
      const options = keyed(randomUUID());
      const replies: Json[] = [];
      const repeatedEffect = await gained(repeated, async () => {
        const make = () =>
          repeated[call.as ?? 'owner'].rest(method as 'POST', pathOf(path, again), again.parameters, options);
        replies.push(...(await Promise.all([make(), make(), make()])));
      });
      const said = JSON.stringify(again);
      for (const { status, body } of replies) expect([status, body], said).toEqual([200, replies[0].body]);
      expect(repeatedEffect, said).toEqual(effect);
    }
  });

  const mutations = Object.entries(GRAPHQL_CALLS).filter(
    // `confirmEmailChange` is left out, because a link in an email is valid only once, with or without a key. The organizations of
    // this test require invitations. A person with a passkey could not sign in with the password alone, so the callers have none.
    // They have no linked identities either.
    ([name]) =>
      name.startsWith('Mutation.') &&
      !['confirmEmailChange', 'requestOrganization', 'requestSignUp', 'renamePasskey', 'unlinkIdentity'].includes(
        name.slice('Mutation.'.length),
      ) &&
      !LEFT_OUT.graphql.includes(name.split('.')[1] ?? ''),
  );
  test.for(mutations)('%s', async ([, make]) => {
    const perform = async (scene: Scene, call: GraphQLCall, times: number) => {
      const operation = { query: documentOf(schema, call), variables: call.args };
      const extensions = { idempotencyKey: randomUUID() };
      const replies: Json[] = [];
      const effect = await gained(scene, async () => {
        const asking = Array.from({ length: times }, () =>
          ask(scene[call.as ?? 'owner'], { ...operation, extensions }),
        );
        replies.push(...(await Promise.all(asking)));
      });
      for (const { data, errors } of replies) {
        expect(errors, JSON.stringify(call)).toBeUndefined();
        expect(data[call.field]?.code, JSON.stringify([call, data])).toBeUndefined();
        expect(data, JSON.stringify(call)).toEqual(replies[0].data);
      }
      return effect;
    };
    const { plain, repeated } = graphql;
    const [once, thrice] = [make(plain.names), make(repeated.names)];
    for (const [i, call] of once.entries()) {
      const again = thrice[i] ?? call;
      const effect = await perform(plain, call, 1);
      expect(await perform(repeated, again, 3), JSON.stringify(again)).toEqual(effect);
    }
  });

  test('no stored reply contains an API key', async () => {
    const [{ kept, secret } = { kept: 0, secret: -1 }] = await service.app.db.$queryRaw<Json[]>`
      SELECT count(*)::int AS kept, (count(*) FILTER (WHERE result::text ~* 'api_?key[^a-z0-9]{1,8}[a-z0-9]{32}'))::int AS secret
      FROM idempotency_record`;
    expect(kept).toBeGreaterThan(50);
    expect(secret).toBe(0);
  });
});
