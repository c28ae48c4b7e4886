import { type GraphQLField, isObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signedIn as asViewer } from '../../src/access/context.ts';
import { InvalidApiKeyError } from '../../src/access/errors.ts';
import { signIn } from '../../src/access/sign-in.ts';
import { createApiKey } from '../../src/administration/api-keys/service.ts';
import { regenerateOwnKey } from '../../src/administration/bots/keys.ts';
import { beginEnrollment, resetFactor } from '../../src/administration/second-factor/service.ts';
import { unlinkIdentity } from '../../src/administration/single-sign-on/linked-identities.ts';
import { scopesOf } from '../../src/api/rest/endpoint.ts';
import { KEY_SCOPES, type KeyScope } from '../../src/platform/key-scopes.ts';
import { TOTALS } from '../../src/platform/totals.ts';
import { routes } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { EventStream } from '../helpers/events.ts';
import { globalId, numberOf } from '../helpers/global-ids.ts';
import { documentOf, GRAPHQL_CALLS } from '../helpers/graphql-calls.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { holdsFile } from '../helpers/multipart.ts';
import type { Method, Parameters, Person, Visitor } from '../helpers/person.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const schema = buildSchema();
const MINUTE = 60_000;

let clock = Date.now();
let service: InProcess;
beforeAll(async () => {
  service = await startOnDatabaseOfRun({
    now: () => new Date(clock),
    env: { EVENT_QUEUE_WRITE_SECONDS: '0.2', RATE_LIMIT_PER_USER: '100000', RATE_LIMIT_PER_IP: '100000' },
  });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });

interface Key {
  readonly id: string;
  readonly secret: string;
  /** A client that authenticates with the key. */
  readonly client: Visitor;
}

/** Creates a key of a person. */
async function keyOf(person: Person, scopes: readonly KeyScope[], options: Parameters = {}): Promise<Key> {
  const input = { name: 'Deployment', scopes: scopes.map((scope) => scope.toUpperCase()), ...options };
  const { secret, apiKey } = await person.mutate('createApiKey', input, 'secret apiKey { id }');
  return { id: apiKey.id, secret, client: person.as(`Bearer ${secret}`) };
}

/** Returns a client that authenticates with a key as REST requires it. */
const basic = (person: Person, { secret }: Key): Visitor =>
  person.as(`Basic ${Buffer.from(`${person.email}:${secret}`).toString('base64')}`);

/** Runs a mutation, and returns its result, or the first error. */
async function attempt(by: Visitor, field: string, input: Parameters, selection = ''): Promise<Json> {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}`;
  const document = `mutation ($input: ${type}Input!) { ${field}(input: $input) { __typename
    ... on ServiceError { code message } ... on ForbiddenError { scopes } ${selection} } }`;
  const { data, errors } = await by.graphql(document, { input });
  return data?.[field] ?? errors?.[0];
}

const listed = async (by: Visitor): Promise<Json[]> => {
  const { data, errors } = await by.graphql('{ viewer { apiKeys { nodes { id name scopes expiresAt lastUsedAt } } } }');
  expect(errors).toBeUndefined();
  return data.viewer.apiKeys.nodes;
};

describe('a key', () => {
  test('authenticates its user until it is revoked, and is stored as a hash only', async () => {
    const { owner } = await place();
    const key = await keyOf(owner, ['read']);
    expect(key.secret).toMatch(/^[A-Za-z0-9]{32}$/);
    expect((await basic(owner, key).ok('GET', '/users/me')).user_id).toBe(owner.id);
    const rows = await service.app.db.$queryRaw<
      Json[]
    >`SELECT n::text AS row FROM named_api_key n WHERE user_id = ${owner.id}`;
    expect(rows).toHaveLength(1);
    expect(rows[0].row).not.toContain(key.secret);
    await owner.mutate('revokeApiKey', { apiKeyId: key.id }, 'apiKeyId');
    expect((await basic(owner, key).rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
    expect(await listed(owner)).toEqual([]);
    expect((await owner.rest('GET', '/users/me')).status).toBe(200);
  });

  test('has a name that can be changed, and the time of its last use, written at most once a minute', async () => {
    const { owner } = await place();
    const key = await keyOf(owner, ['read', 'write']);
    await owner.mutate('renameApiKey', { apiKeyId: key.id, name: ' Backup ' }, 'apiKey { id }');
    const [unused] = await listed(owner);
    expect(unused).toMatchObject({ name: 'Backup', scopes: ['READ', 'WRITE'], expiresAt: null, lastUsedAt: null });
    const used = async () => (await listed(owner))[0].lastUsedAt;
    const began = clock;
    await Promise.all(Array.from({ length: 5 }, () => key.client.graphql('{ viewer { id } }')));
    // Requests do not wait until the time is written.
    await expect.poll(async () => new Date(await used()).getTime()).toBe(began);
    clock += MINUTE / 2;
    await key.client.graphql('{ viewer { id } }');
    expect(new Date(await used()).getTime()).toBe(began);
    clock += MINUTE / 2;
    await key.client.graphql('{ viewer { id } }');
    await expect.poll(async () => new Date(await used()).getTime()).toBe(began + MINUTE);
  });

  test('is not created by a request whose own key or session has ended in the meantime', async () => {
    const { owner, member } = await place();
    const key = await keyOf(owner, KEY_SCOPES);
    const begin = async (secret: string) => {
      const request = { host: owner.host, userAgent: 'test', authorization: `Bearer ${secret}`, allowBearer: true };
      return asViewer(await signIn(service.app, request));
    };
    const [byKey, byDefault] = [await begin(key.secret), await begin(owner.apiKey)];
    await owner.mutate('revokeApiKey', { apiKeyId: key.id }, 'apiKeyId');
    const wanted = { name: 'x', scopes: ['read'], currentPassword: OWNER_PASSWORD } as const;
    await expect(createApiKey(byKey, wanted)).rejects.toThrow(InvalidApiKeyError);
    await owner.mutate('regenerateApiKey', {}, 'apiKey');
    for (const change of [
      () => createApiKey(byDefault, wanted),
      () => beginEnrollment(byDefault),
      () => regenerateOwnKey(byDefault),
      () => resetFactor(byDefault, member.id),
      () => unlinkIdentity(byDefault, { issuer: 'https://id.example' }),
    ]) {
      await expect(change()).rejects.toThrow(InvalidApiKeyError);
    }
  });

  test('with only `write` reports presence, and does not receive the presence of others', async () => {
    const { owner, member } = await place();
    await owner.ok('POST', '/users/me/presence', { status: 'active' });
    const report = async (scopes: readonly KeyScope[]) =>
      basic(member, await keyOf(member, scopes)).ok('POST', '/users/me/presence', { status: 'active' });
    expect((await report(['write'])).presences).toBeUndefined();
    expect((await report(['write', 'read'])).presences).toBeDefined();
  });

  test('is invalid from its expiry on, also on an open socket', async () => {
    const { owner } = await place();
    const key = await keyOf(owner, ['events', 'read'], { expiresAt: new Date(clock + MINUTE).toISOString() });
    const { queue_id: queueId } = (await owner.register({ fetch_event_types: [] })) as Json;
    await using stream = await EventStream.open(key.client, 'position', { queueId });
    await owner.ok('POST', '/users/me/status', { status_text: 'here' });
    await stream.next();
    clock += MINUTE;
    expect((await basic(owner, key).rest('GET', '/events', { queue_id: queueId })).body.code).toBe('INVALID_API_KEY');
    expect(await stream.ended).toMatchObject({ how: 'closed', code: 4403 });
    for (const expiresAt of [clock, clock + 11 * 366 * 24 * 60 * MINUTE].map((at) => new Date(at).toISOString())) {
      const refused = await attempt(owner, 'createApiKey', { name: 'x', scopes: ['READ'], expiresAt });
      expect(refused.__typename).toBe('ValidationError');
    }
  });

  test('is invalid from its expiry on in streams and long polls that wait', async () => {
    const { owner } = await place();
    const key = await keyOf(owner, ['events', 'read'], { expiresAt: new Date(clock + MINUTE).toISOString() });
    const register = async () =>
      (await owner.register({ fetch_event_types: ['realm'], event_types: ['user_status'] })) as Json;
    const { queue_id, last_event_id } = await register();
    await using sse = await EventStream.open(key.client, 'position', {
      queueId: (await register()).queue_id,
      transport: 'sse',
    });
    const poll = basic(owner, key).rest('GET', '/events', { queue_id, last_event_id });
    const viewer = { id: owner.id, organization: { id: await organizationOf(owner) }, clientName: 'test' };
    await expect.poll(async () => (await service.app.queues.look({ viewer } as never, queue_id)).reader).toBeDefined();
    clock += MINUTE;
    // Both end before an event, within the interval of the checks.
    expect((await poll).body.events ?? []).toEqual([]);
    expect(await sse.ended).toMatchObject({ how: 'complete' });
    expect((await basic(owner, key).rest('GET', '/events', { queue_id, last_event_id })).status).toBe(401);
  });

  test('reads files, pictures and uploads only with the scopes for them', async () => {
    const { owner, member } = await place();
    const request = (client: Visitor, method: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
      send(service.url, { method, path, headers: { ...client.headers, ...headers } });
    const clientOf = async (...scopes: KeyScope[]) => (await keyOf(owner, scopes)).client;
    const [reading, writing, listening] = [await clientOf('read'), await clientOf('write'), await clientOf('events')];
    const tus = { 'tus-resumable': '1.0.0' };
    const begin = { ...tus, 'upload-length': '3', 'upload-metadata': 'filename YS50eHQ=' };
    const created = await request(writing, 'POST', '/tus', begin);
    expect(created.status).toBe(201);
    const upload = new URL(created.headers.location ?? '', service.url).pathname;
    const part = { ...tus, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
    for (const client of [reading, listening]) {
      expect((await request(client, 'HEAD', upload, tus)).status).toBe(403);
      expect((await request(client, 'PATCH', upload, part)).status).toBe(403);
      expect((await request(client, 'DELETE', upload, tus)).status).toBe(403);
    }
    // Another user's upload does not exist.
    expect((await request(member, 'HEAD', upload, tus)).status).toBe(404);
    const { text } = await send(service.url, {
      method: 'PATCH',
      path: upload,
      headers: { ...writing.headers, ...part },
      body: 'abc',
    });
    const { url } = JSON.parse(text);
    for (const path of [url, `/avatar/${owner.id}`]) {
      for (const client of [writing, listening])
        expect([path, (await request(client, 'GET', path)).status]).toEqual([path, 403]);
    }
    const limited = basic(owner, await keyOf(owner, ['write', 'events', 'administration']));
    expect((await limited.rest('GET', url)).body.required_scopes).toBe('read');
    expect((await request(reading, 'GET', url)).text).toBe('abc');
    const { url: temporary } = await owner.ok('GET', url);
    const opened = new URL(temporary, service.url);
    const open = (change: (to: URL) => void = () => {}) => {
      const to = new URL(opened);
      change(to);
      return send(service.url, { method: 'GET', path: to.pathname + to.search, headers: { host: owner.host } });
    };
    expect((await open()).text).toBe('abc');
    // The address of a file is signed with its time, and for its organization.
    for (const change of [
      (to: URL) => to.searchParams.set('until', String(Number(to.searchParams.get('until')) + 1)),
      (to: URL) => to.searchParams.set('signature', 'A'.repeat(to.searchParams.get('signature')?.length ?? 0)),
      (to: URL) => to.searchParams.delete('until'),
    ]) {
      expect((await open(change)).status).toBe(404);
    }
  });

  test('ends its own sockets, streams and long polls when it is revoked, and no others', async () => {
    const { owner } = await place();
    const [key, other] = [await keyOf(owner, ['events', 'read']), await keyOf(owner, ['events'])];
    const register = async () => (await owner.register({ fetch_event_types: [] })) as Json;
    const open = async (client: Visitor, transport: 'ws' | 'sse') =>
      EventStream.open(client, 'position', { queueId: (await register()).queue_id, transport });
    const [ws, sse, kept] = [
      await open(key.client, 'ws'),
      await open(key.client, 'sse'),
      await open(other.client, 'ws'),
    ];
    const byDefault = await open(owner, 'ws');
    const { queue_id, last_event_id } = await register();
    const poll = basic(owner, key).rest('GET', '/events', { queue_id, last_event_id });
    const viewer = { id: owner.id, organization: { id: await organizationOf(owner) }, clientName: 'test' };
    await expect.poll(async () => (await service.app.queues.look({ viewer } as never, queue_id)).reader).toBeDefined();
    await owner.mutate('revokeApiKey', { apiKeyId: key.id }, 'apiKeyId');
    expect(await ws.ended).toMatchObject({ how: 'closed', code: 4403 });
    expect(await sse.ended).toMatchObject({ how: 'complete' });
    expect((await poll).status).toBe(200);
    await owner.ok('POST', '/users/me/status', { status_text: 'here' });
    for (const stream of [kept, byDefault]) {
      expect(await stream.next()).toBeDefined();
      await stream[Symbol.asyncDispose]();
    }
  });

  test('stays when the default key is replaced, and ends with a new password, a reset and a deactivation', async () => {
    const { owner, member, organization } = await place();
    const key = await keyOf(member, ['read']);
    await member.ok('POST', '/users/me/api_key/regenerate');
    expect((await basic(member, key).rest('GET', '/users/me')).status).toBe(200);
    await owner.ok('DELETE', `/users/${member.id}`);
    // A node of the previous version deactivates users without deleting these keys.
    await service.app.db.$executeRaw`
      INSERT INTO named_api_key (realm_id, user_id, name, hash, scopes, created_at)
      VALUES (${await organizationOf(owner)}, ${member.id}, 'x', sha256(${key.secret}::text::bytea), '{read}', now())`;
    await owner.ok('POST', `/users/${member.id}/reactivate`);
    expect((await basic(member, key).rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
    const own = await keyOf(owner, ['read']);
    const change = { old_password: OWNER_PASSWORD, new_password: 'quite another good battery' };
    await owner.ok('PATCH', '/settings', change);
    expect((await basic(owner, own).rest('GET', '/users/me')).status).toBe(200);
    const session = await signedIn(owner, 'quite another good battery');
    await session('updateSettings', { oldPassword: 'quite another good battery', newPassword: OWNER_PASSWORD });
    expect((await basic(owner, own).rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
    expect(organization.subdomain).toBeDefined();
  });

  test('is found only in its own organization, and only by those who can see it', async () => {
    const [one, two] = [await place(), await place()];
    const key = await keyOf(one.member, ['read']);
    expect((await two.owner.as(`Bearer ${key.secret}`).graphql('{ viewer { id } }')).status).toBe(401);
    for (const stranger of [one.moderator, one.guest, one.bot, two.owner, two.administrator]) {
      const query = `{ node(id: "${key.id}") { id } user(by: { id: "${globalId('User', one.member.id)}" }) { apiKeys { totalCount } } }`;
      const { data } = await stranger.graphql(query);
      expect([data.node, data.user?.apiKeys?.totalCount ?? 0]).toEqual([null, 0]);
      for (const [field, input] of [
        ['renameApiKey', { apiKeyId: key.id, name: 'x' }],
        ['revokeApiKey', { apiKeyId: key.id }],
      ] as const) {
        expect((await attempt(stranger, field, input)).__typename).toBe('NotFoundError');
      }
    }
  });

  const keysOf = async (by: Visitor, { id }: Pick<Person, 'id'>): Promise<Json[]> => {
    const query = `{ user(by: { id: "${globalId('User', id)}" }) { apiKeys { nodes { id name lastUsedAt } } } }`;
    return (await by.graphql(query)).data.user.apiKeys.nodes;
  };

  test('of another person is listed and revoked by administrators, that of an owner only by owners', async () => {
    const { owner, administrator, moderator, member, guest } = await place();
    const second = administrator;
    const found = async (by: Person, { id }: Key) => (await by.graphql(`{ node(id: "${id}") { id } }`)).data.node?.id;
    for (const person of [moderator, member, guest]) {
      const [first, another] = [await keyOf(person, ['read']), await keyOf(person, ['write'], { name: 'Second' })];
      for (const by of [owner, administrator]) {
        expect((await keysOf(by, person)).map(({ id }) => id)).toEqual([another.id, first.id]);
        expect(await found(by, first)).toBe(first.id);
      }
      await owner.mutate('revokeApiKey', { apiKeyId: first.id }, 'apiKeyId');
      await second.mutate('revokeApiKey', { apiKeyId: another.id }, 'apiKeyId');
      expect(await keysOf(owner, person)).toEqual([]);
      for (const key of [first, another])
        expect((await basic(person, key).rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
      expect((await person.rest('GET', '/users/me')).status).toBe(200);
    }
    const [ofOwner, ofAdministrator] = [await keyOf(owner, ['read']), await keyOf(administrator, ['read'])];
    expect([await keysOf(administrator, owner), await found(administrator, ofOwner)]).toEqual([[], undefined]);
    const refused = await attempt(administrator, 'revokeApiKey', { apiKeyId: ofOwner.id });
    expect(refused.__typename).toBe('NotFoundError');
    expect((await basic(owner, ofOwner).rest('GET', '/users/me')).status).toBe(200);
    // A promoted owner's keys are hidden from administrators, and a demoted administrator sees no keys of others.
    await owner.ok('PATCH', `/users/${moderator.id}`, { role: 100 });
    await keyOf(moderator, ['read']);
    expect([(await keysOf(owner, moderator)).length, await keysOf(administrator, moderator)]).toEqual([1, []]);
    await owner.ok('PATCH', `/users/${administrator.id}`, { role: 300 });
    const ofMember = await keyOf(member, ['read']);
    expect(await keysOf(administrator, member)).toEqual([]);
    expect((await attempt(administrator, 'revokeApiKey', { apiKeyId: ofMember.id })).__typename).toBe('NotFoundError');
    expect((await attempt(owner, 'revokeApiKey', { apiKeyId: ofAdministrator.id })).code).toBeUndefined();
  });

  test('of another person is read with the scope `administration` only, as are other data about sign-ins', async () => {
    const { owner, member, bot } = await place();
    const [own, ofMember] = [await keyOf(owner, ['read']), await keyOf(member, ['read'])];
    const ofOwnBot = await keyOf(owner, ['read'], { botId: globalId('User', bot.id) });
    const { user_id: otherBotId } = await member.ok('POST', '/bots', { full_name: 'Builder', short_name: 'builder' });
    const ofOtherBot = await keyOf(member, ['read'], { botId: globalId('User', otherBotId) });
    const { passwordHash } = await service.app.db.user.findFirstOrThrow({ where: { id: owner.id } });
    await service.app.db.user.updateMany({ where: { id: member.id }, data: { passwordHash } });
    await signedIn(member, OWNER_PASSWORD);
    const [organizationId, issuer] = [await organizationOf(owner), 'https://identity.example'];
    await service.app.db.linkedIdentity.create({
      data: { organizationId, userId: member.id, issuer, subject: 'x', createdAt: new Date(clock) },
    });
    const idsOf = async (by: Visitor, id: number) => (await keysOf(by, { id })).map((key) => key.id);
    const state = async (by: Visitor) => {
      const query = `{ user(by: { id: "${globalId('User', member.id)}" }) { hasSecondFactor sessions { totalCount } }
        viewer { hasSecondFactor } linkedIdentities(userId: "${globalId('User', member.id)}") { issuer } }`;
      const { data, errors } = await by.graphql(query);
      expect(errors).toBeUndefined();
      const { user, viewer, linkedIdentities } = data;
      return [user.hasSecondFactor, user.sessions.totalCount, linkedIdentities.length, viewer.hasSecondFactor];
    };
    const filter = '{ users(hasSecondFactor: false) { totalCount } }';
    const reading = await keyOf(owner, ['read', 'write', 'events']);
    const { client } = reading;
    expect(await idsOf(client, member.id)).toEqual([]);
    expect(await idsOf(client, otherBotId)).toEqual([]);
    expect((await client.graphql(`{ node(id: "${ofMember.id}") { id } }`)).data.node).toBeNull();
    expect(await idsOf(client, owner.id)).toEqual([reading.id, own.id]);
    expect(await idsOf(client, bot.id)).toEqual([ofOwnBot.id]);
    expect(await state(client)).toEqual([null, 0, 0, false]);
    const [error] = (await client.graphql(filter)).errors ?? [];
    expect(error?.extensions).toMatchObject({ code: 'UNAUTHORIZED_PRINCIPAL', required_scopes: 'administration' });
    const sessions = await basic(owner, reading).ok('GET', `/users/${member.id}/sessions`);
    expect(sessions.sessions).toEqual([]);
    const administering = await keyOf(owner, ['read', 'administration']);
    for (const by of [administering.client, owner]) {
      expect(await idsOf(by, member.id)).toEqual([ofMember.id]);
      expect(await idsOf(by, otherBotId)).toEqual([ofOtherBot.id]);
      expect(await state(by)).toEqual([false, 1, 1, false]);
      expect((await by.graphql(filter)).data.users.totalCount).toBeGreaterThan(1);
    }
    const ofPerson = await keyOf(member, ['read']);
    expect(await state(ofPerson.client)).toEqual([false, 1, 1, false]);
  });

  test('notifies administrators of each change, and only owners of changes of an owner', async () => {
    const { owner, administrator, moderator, member } = await place();
    const readers = await Promise.all(
      [owner, administrator, moderator, member].map((one) => one.receiving({ event_types: ['api_keys_changed'] })),
    );
    const key = await keyOf(member, ['read']);
    await member.mutate('renameApiKey', { apiKeyId: key.id, name: 'Other' }, 'apiKey { id }');
    await owner.mutate('revokeApiKey', { apiKeyId: key.id }, 'apiKeyId');
    await keyOf(owner, ['read']);
    const received = await Promise.all(readers.map(async (read) => (await read()).map((event) => event['user_id'])));
    const ofMember = [member.id, member.id, member.id];
    expect(received).toEqual([[...ofMember, owner.id], ofMember, [], ofMember]);
  });

  test('of another person is not renamed by administrators, and its revocation needs the scope `administration`', async () => {
    const { owner, member } = await place();
    const key = await keyOf(member, ['read']);
    expect(await attempt(owner, 'renameApiKey', { apiKeyId: key.id, name: 'x' })).toMatchObject({
      __typename: 'ForbiddenError',
      message: 'Only its user can rename this API key.',
    });
    const limited = await keyOf(owner, ['read', 'write', 'events']);
    expect(await attempt(limited.client, 'revokeApiKey', { apiKeyId: key.id })).toMatchObject({
      __typename: 'ForbiddenError',
      scopes: ['ADMINISTRATION'],
    });
    expect((await keysOf(owner, member)).map(({ name }) => name)).toEqual(['Deployment']);
    for (const apiKeyId of [globalId('ApiKey', 0), globalId('ApiKey', 2 ** 31), globalId('User', member.id)])
      expect((await attempt(owner, 'revokeApiKey', { apiKeyId })).code ?? 'refused').not.toBeUndefined();
    expect(await keysOf(owner, member)).toHaveLength(1);
  });

  test('that an administrator revokes ends its sockets, notifies the person, and is in the audit log', async () => {
    const { administrator, member } = await place();
    const [key, kept] = [
      await keyOf(member, ['events', 'read'], { name: 'Backup\u2028x' }),
      await keyOf(member, ['events']),
    ];
    const events = await member.receiving({ event_types: ['api_keys_changed'] });
    const open = async (client: Visitor) =>
      EventStream.open(client, 'position', {
        queueId: ((await member.register({ fetch_event_types: [] })) as Json).queue_id,
      });
    const [ended, other] = [await open(key.client), await open(kept.client)];
    await administrator.mutate('revokeApiKey', { apiKeyId: key.id }, 'apiKeyId');
    expect(await ended.ended).toMatchObject({ how: 'closed', code: 4403 });
    expect((await events()).map(({ user_id }: Json) => user_id)).toEqual([member.id]);
    await member.ok('POST', '/users/me/status', { status_text: 'here' });
    expect(await other.next()).toBeDefined();
    await other[Symbol.asyncDispose]();
    const mails = await service.app.db.outgoingMail.findMany({ where: { recipient: member.email } });
    const revoked = mails.filter(({ body }) => body.includes('an administrator revoked the API key "Backup x".'));
    expect(revoked).toHaveLength(1);
    expect(revoked[0]?.subject).toMatch(/^A revoked API key for /);
    expect(revoked[0]?.body).toContain('If you have questions, contact the administrators of ');
    expect(revoked[0]?.body).not.toContain('request');
    const organizationId = await organizationOf(administrator);
    const [entry] = await service.app.db.auditLogEntry.findMany({
      where: { organizationId, action: 'api_keys_revoked' },
    });
    expect(entry).toMatchObject({
      ...{ actorId: administrator.id, objectType: 'api_key', objectId: numberOf(key.id) },
      objectName: expect.stringMatching(/^Backup/),
    });
    expect(entry?.details).toEqual({ user_id: { old: member.id }, api_key_ids: { old: [numberOf(key.id)] } });
    await member.mutate('revokeApiKey', { apiKeyId: kept.id }, 'apiKeyId');
    const after = await service.app.db.outgoingMail.count({ where: { recipient: member.email } });
    expect(after).toBe(mails.length);
  });

  test('of a bot is administered by its owner and administrators', async () => {
    const { owner, member, guest } = await place();
    const { user_id: botId, email } = await member.ok('POST', '/bots', { full_name: 'Builder', short_name: 'builder' });
    const botGlobalId = globalId('User', botId);
    const events = await member.receiving({ event_types: ['api_keys_changed'] });
    const made = await keyOf(member, ['write'], { botId: botGlobalId });
    const message = { type: 'direct', to: [member.id], content: 'hello' };
    const bot = member.as(`Basic ${Buffer.from(`${email}:${made.secret}`).toString('base64')}`);
    await bot.ok('POST', '/messages', message);
    const mails = await service.app.db.outgoingMail.findMany({ where: { recipient: member.email } });
    expect(mails.map(({ body }) => body).join()).toContain('the API key "Deployment" of the bot Builder was created');
    expect((await attempt(guest, 'createApiKey', { name: 'x', scopes: ['READ'], botId: botGlobalId })).code).toBe(
      'UNAUTHORIZED_PRINCIPAL',
    );
    await owner.mutate('revokeApiKey', { apiKeyId: made.id }, 'apiKeyId');
    expect((await bot.rest('POST', '/messages', message)).body.code).toBe('INVALID_API_KEY');
    expect((await events()).map(({ user_id }: Json) => user_id)).toEqual([botId, botId]);
    const since = await service.app.db.outgoingMail.findMany({ where: { recipient: member.email } });
    expect(since.map(({ body }) => body).join()).toContain('revoked the API key "Deployment" of the bot Builder.');
  });

  test('cannot be created beyond the total', async () => {
    const { owner } = await place();
    const organizationId = await organizationOf(owner);
    const { max } = TOTALS.api_keys;
    await service.app.db.$executeRaw`
      INSERT INTO named_api_key (realm_id, user_id, name, hash, scopes, created_at)
      SELECT ${organizationId}, ${owner.id}, 'x', sha256((${owner.id}::int || ' ' || n)::bytea), '{read}', now()
      FROM generate_series(1, ${max}::int - 1) AS n`;
    await keyOf(owner, ['read']);
    expect(await attempt(owner, 'createApiKey', { name: 'x', scopes: ['READ'] })).toMatchObject({
      __typename: 'ConflictError',
      message: `You cannot have more than ${max} API keys with a name.`,
    });
    // Expired keys do not count, and are deleted.
    await service.app.db
      .$executeRaw`UPDATE named_api_key SET expires_at = now() - interval '1 day' WHERE user_id = ${owner.id}`;
    await keyOf(owner, ['read']);
    expect(await service.app.db.namedApiKey.count({ where: { userId: owner.id } })).toBe(1);
  });
});

const organizationOf = async (person: Person): Promise<number> =>
  numberOf((await person.query('{ organization { id } }')).organization.id);

/** Signs a browser in. @returns A function that runs a mutation in the session. */
async function signedIn({ host, email }: Person, password: string) {
  const body = new URLSearchParams({ username: email, password }).toString();
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const path = '/api/v1/sessions';
  const { headers } = await send(service.url, { method: 'POST', path, headers: { host, ...type }, body });
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  return async (field: string, input: Parameters): Promise<Json> => {
    const name = `${field[0]?.toUpperCase()}${field.slice(1)}Input!`;
    const query = `mutation ($input: ${name}) { ${field}(input: $input) { __typename ... on ServiceError { code message } } }`;
    const { text } = await send(service.url, {
      ...{ method: 'POST', path: '/graphql', headers: { host, cookie, 'content-type': 'application/json' } },
      body: JSON.stringify({ query, variables: { input } }),
    });
    return JSON.parse(text).data[field];
  };
}

describe('a limited key', () => {
  test('cannot create or widen keys beyond its own scopes, or read and replace unlimited keys', async () => {
    const { owner, bot } = await place();
    const key = await keyOf(owner, ['read', 'write', 'administration'], {
      expiresAt: new Date(clock + 60 * MINUTE).toISOString(),
    });
    const wanted = { name: 'wider', scopes: ['EVENTS'], currentPassword: OWNER_PASSWORD };
    expect(await attempt(key.client, 'createApiKey', wanted)).toMatchObject({
      __typename: 'ForbiddenError',
      code: 'UNAUTHORIZED_PRINCIPAL',
      scopes: ['EVENTS'],
    });
    const narrower = { name: 'narrower', scopes: ['READ'] };
    expect((await attempt(key.client, 'createApiKey', narrower)).__typename).toBe('PasswordRequiredError');
    const given = await attempt(
      key.client,
      'createApiKey',
      { ...narrower, currentPassword: OWNER_PASSWORD },
      '... on CreateApiKeyPayload { apiKey { expiresAt } }',
    );
    expect(new Date(given.apiKey.expiresAt).getTime()).toBe(clock + 60 * MINUTE);
    const botGlobalId = globalId('User', bot.id);
    for (const [field, input] of [
      ['regenerateApiKey', { currentPassword: OWNER_PASSWORD }],
      ['regenerateApiKey', { botId: botGlobalId, currentPassword: OWNER_PASSWORD }],
      ['createBot', { fullName: 'x', shortName: 'x', currentPassword: OWNER_PASSWORD }],
    ] as const) {
      expect(await attempt(key.client, field, input)).toMatchObject({
        code: 'UNAUTHORIZED_PRINCIPAL',
        scopes: ['EVENTS'],
      });
    }
    for (const query of [
      `{ botApiKey(botId: "${botGlobalId}") }`,
      `{ user(by: { id: "${botGlobalId}" }) { bot { apiKey } } }`,
    ]) {
      const { errors = [] } = await key.client.graphql(query);
      expect(errors[0]?.extensions).toMatchObject({ code: 'UNAUTHORIZED_PRINCIPAL', required_scopes: 'events' });
    }
  });

  test('with all scopes does not prove the identity either, and cannot replace default keys if it expires', async () => {
    const { owner, bot } = await place();
    const botId = globalId('User', bot.id);
    const password = { currentPassword: OWNER_PASSWORD };
    const { client } = await keyOf(owner, KEY_SCOPES);
    const narrower = { name: 'narrower', scopes: ['READ'] };
    expect((await attempt(client, 'createApiKey', narrower)).__typename).toBe('PasswordRequiredError');
    expect((await attempt(client, 'regenerateApiKey', {})).__typename).toBe('PasswordRequiredError');
    expect((await attempt(client, 'regenerateApiKey', { botId, ...password })).__typename).toBe(
      'RegenerateApiKeyPayload',
    );
    expect((await client.graphql(`{ botApiKey(botId: "${botId}") }`)).errors?.[0]?.extensions.code).toBe(
      'PASSWORD_REQUIRED',
    );
    const expiring = await keyOf(owner, KEY_SCOPES, { expiresAt: new Date(clock + MINUTE).toISOString() });
    for (const [field, input] of [
      ['regenerateApiKey', password],
      ['regenerateApiKey', { botId, ...password }],
      ['createBot', { fullName: 'x', shortName: 'x', ...password }],
    ] as const) {
      expect([field, (await attempt(expiring.client, field, input)).__typename]).toEqual([field, 'ForbiddenError']);
    }
    expect((await basic(owner, expiring).rest('GET', '/bots')).body.msg).toMatch(/API key that expires/);
  });

  test('is no proof of identity: another address needs the password', async () => {
    const { owner } = await place();
    const key = await keyOf(owner, ['write', 'administration', 'read']);
    expect((await attempt(key.client, 'updateSettings', { email: 'x@new.example' })).__typename).toBe(
      'PasswordRequiredError',
    );
  });

  test('that can only read loads no entry of the audit log by its id', async () => {
    const { owner } = await place();
    const reading = await keyOf(owner, ['read']);
    const both = await keyOf(owner, ['read', 'administration']);
    const { organization } = await owner.query('{ organization { auditLogEntries(first: 1) { nodes { id } } } }');
    const [{ id }] = organization.auditLogEntries.nodes;
    const query = `{ node(id: "${id}") { __typename id } nodes(ids: ["${id}"]) { id } }`;
    expect((await reading.client.graphql(query)).data).toEqual({ node: null, nodes: [null] });
    expect((await both.client.graphql(query)).data.node).toEqual({ __typename: 'AuditLogEntry', id });
  });

  test('needs the current password or a recent sign-in to be created in a session', async () => {
    const { owner } = await place();
    const session = await signedIn(owner, OWNER_PASSWORD);
    const input = { name: 'x', scopes: ['READ'] };
    expect((await session('createApiKey', input)).__typename).toBe('CreateApiKeyPayload');
    clock += 11 * MINUTE;
    expect((await session('createApiKey', input)).__typename).toBe('PasswordRequiredError');
    expect((await session('createApiKey', { ...input, currentPassword: 'wrong' })).message).toBe('Wrong password!');
    expect((await session('createApiKey', { ...input, currentPassword: OWNER_PASSWORD })).__typename).toBe(
      'CreateApiKeyPayload',
    );
    const mails = await service.app.db.outgoingMail.findMany({ where: { recipient: owner.email } });
    expect(mails.filter(({ body }) => body.includes('the API key "x" was created')).length).toBe(2);
  });

  test('without `read` gets no objects from mutations and events', async () => {
    const { owner } = await place();
    const { client } = await keyOf(owner, ['write', 'events']);
    const send = (selection: string) =>
      client.graphql(
        `mutation { setStatus(input: { text: "here" }) { ... on SetStatusPayload { position } ${selection} } }`,
      );
    expect((await send('')).errors).toBeUndefined();
    const { errors = [] } = await send('... on SetStatusPayload { status { text } }');
    expect(errors[0]?.extensions).toMatchObject({ code: 'UNAUTHORIZED_PRINCIPAL', required_scopes: 'read' });
    const register =
      'mutation { registerEventQueue(input: {}) { ... on RegisterEventQueuePayload { queueId query { viewer { id } } } } }';
    expect((await client.graphql(register)).errors?.[0]).toMatchObject({ extensions: { required_scopes: 'read' } });
    const { queue_id: queueId } = (await owner.register({ fetch_event_types: [] })) as Json;
    const stream = await EventStream.open(client, '... on UserStatusSetEvent { user { id } }', { queueId }).catch(
      (error: unknown) => error,
    );
    if (stream instanceof EventStream) expect(JSON.stringify(await stream.ended)).toContain('required_scopes');
  });
});

/** Returns the scopes that a mutation declares. */
const declared = ({ extensions }: GraphQLField<unknown, unknown>): KeyScope[] =>
  [(extensions['scope'] as KeyScope | KeyScope[] | undefined) ?? []].flat();

describe('over all endpoints and GraphQL fields', () => {
  let scene: Scene;
  let organizationId: number;
  const mutations = schema.getMutationType()?.getFields() ?? {};
  beforeAll(async () => {
    scene = await makeScene({ on: service });
    organizationId = await organizationOf(scene.owner);
  });

  /** Tables that workers, security emails or every sign-in of a key write. */
  const BY_WORKERS = [
    'named_api_key',
    'notification_progress',
    'outgoing_mail',
    'message_tally',
    'message_count',
    'search_progress',
    'searchable_message',
  ];

  /** Returns the rows of a table, without the positions of queues, which a worker writes later. */
  const rowsOf = (table: string) =>
    table === 'event_queue' ? '(SELECT realm_id, id, options, ended_at FROM event_queue)' : `"${table}"`;

  /** Returns a hash of the organization's rows in each table. */
  async function state(): Promise<Record<string, string>> {
    const { db } = service.app;
    const tables = await db.$queryRaw<{ table_name: string }[]>`
      SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE c.column_name = 'realm_id' AND c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'`;
    const hashes: Record<string, string> = {};
    for (const { table_name: table } of tables) {
      if (BY_WORKERS.includes(table)) continue;
      const [row] = await db.$queryRawUnsafe<{ hash: string | null }[]>(
        `SELECT md5(string_agg(t::text, '' ORDER BY t::text)) AS hash FROM ${rowsOf(table)} t WHERE realm_id = ${organizationId}`,
      );
      hashes[table] = row?.hash ?? '';
    }
    return hashes;
  }

  test('an endpoint needs the scope of its mutation', () => {
    const different = routes.flatMap((endpoint) => {
      if (endpoint.method === 'GET' || endpoint.auth === 'none') return [];
      const equivalents = endpoint.equivalents.flatMap((name) => mutations[/^\w+/.exec(name)?.[0] ?? ''] ?? []);
      const scopes = equivalents.map((field) => declared(field).join());
      // `DELETE /sessions/current` is the exception: its endpoint requires authentication, but its mutation is public.
      const isSame =
        equivalents.length === 0 || scopes.includes(scopesOf(endpoint).join()) || endpoint.path === '/sessions/current';
      return isSame ? [] : [`${endpoint.method} ${endpoint.path}: ${scopesOf(endpoint)}, ${scopes}`];
    });
    expect(different).toEqual([]);
    const read = routes.filter((endpoint) => endpoint.method !== 'GET' && scopesOf(endpoint).join() === 'read');
    expect(read.map(({ path }) => path)).toEqual(['/messages/render']);
  });

  test('the type of every list with a scope declares it for `node` as well', () => {
    const scoped = Object.values(schema.getTypeMap()).flatMap((type) =>
      isObjectType(type) && type !== schema.getMutationType()
        ? Object.values(type.getFields()).flatMap((field) =>
            declared(field).length === 0 ? [] : [`${type.name}.${field.name}`],
          )
        : [],
    );
    // Only `Organization.auditLogEntries` lists objects of a node type, whose `nodeModel` has the scope.
    expect(scoped.sort()).toEqual([
      'Bot.apiKey',
      'Invitation.linkUrl',
      'Organization.auditLogEntries',
      'Query.botApiKey',
      'Query.events',
    ]);
  });

  test('a key that can only read changes nothing: over REST, GraphQL, sockets, uploads and tus', async () => {
    const key = await keyOf(scene.owner, ['read']);
    const client = basic(scene.owner, key);
    const before = await state();
    const refusals: string[] = [];
    for (const endpoint of routes) {
      const name = `${endpoint.method} ${endpoint.path}`;
      if (endpoint.auth === 'none') continue;
      const isPermitted = scopesOf(endpoint).every((scope) => scope === 'read');
      for (const call of REST_CALLS[name]?.(scene.names) ?? []) {
        const { status, body } = await client.rest(
          endpoint.method as Method,
          pathOf(endpoint.path, call),
          call.parameters,
        );
        const isRefused = body?.code === 'UNAUTHORIZED_PRINCIPAL' && body.required_scopes !== undefined;
        expect([name, isRefused, isRefused ? status : 0]).toEqual([name, !isPermitted, isPermitted ? 0 : 403]);
        if (isRefused) refusals.push(name);
      }
    }
    expect(new Set(refusals).size).toBeGreaterThan(90);
    let refused = 0;
    for (const [name, calls] of Object.entries(GRAPHQL_CALLS)) {
      const [root, field = ''] = name.split('.');
      const definition = mutations[field];
      const isPublic = definition !== undefined && declared(definition).length === 0;
      if (root !== 'Mutation' || isPublic) continue;
      for (const call of calls(scene.names)) {
        const document = documentOf(schema, call).replace(
          '... on ServiceError',
          '... on ForbiddenError { scopes } ... on ServiceError',
        );
        const replies = [await key.client.graphql(document, call.args)];
        if (refused % 10 === 0 && !holdsFile(call.args))
          replies.push((await key.client.graphqlOverSocket(document, call.args as Parameters)) as never);
        for (const { data } of replies) {
          expect([field, data?.[field]?.code]).toEqual([field, 'UNAUTHORIZED_PRINCIPAL']);
          expect([field, data[field].scopes?.length > 0]).toEqual([field, true]);
        }
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(100);
    const tus = { 'tus-resumable': '1.0.0', 'upload-length': '3', 'upload-metadata': 'filename YQ==' };
    const upload = await send(service.url, {
      method: 'POST',
      path: '/tus',
      headers: { ...key.client.headers, ...tus },
    });
    expect([upload.status, upload.text]).toEqual([403, 'The API key lacks the scope write.\n']);
    const log = await send(service.url, {
      method: 'GET',
      path: '/audit-log/export?format=csv',
      headers: key.client.headers,
    });
    expect([log.status, log.text]).toEqual([403, 'The API key lacks the scope administration.\n']);
    for (const transport of ['ws', 'sse'] as const) {
      const opening = EventStream.open(key.client, 'position', { queueId: scene.names.queueId, transport });
      const outcome = await opening.then(
        async (stream) => JSON.stringify(await stream.ended),
        (error: unknown) => String(error) + JSON.stringify(error),
      );
      expect([transport, outcome]).toEqual([
        transport,
        expect.stringMatching(/lacks the scope events|UNAUTHORIZED_PRINCIPAL/),
      ]);
    }
    const after = await state();
    expect(Object.keys(before).filter((table) => after[table] !== before[table])).toEqual([]);
  });

  test.for(['write', 'events', 'administration'] as const)(
    'a key with %s alone is refused everything else',
    async (scope) => {
      const key = await keyOf(scene.owner, [scope]);
      const client = basic(scene.owner, key);
      const before = await state();
      for (const endpoint of routes) {
        const missing = scopesOf(endpoint).filter((one) => one !== scope);
        if (missing.length === 0) continue;
        const name = `${endpoint.method} ${endpoint.path}`;
        const [call] = REST_CALLS[name]?.(scene.names) ?? [];
        const { status, body } = await client.rest(
          endpoint.method as Method,
          pathOf(endpoint.path, call ?? {}),
          call?.parameters,
        );
        expect([name, status, body?.required_scopes]).toEqual([name, 403, missing.join(', ')]);
      }
      for (const [name, calls] of Object.entries(GRAPHQL_CALLS)) {
        const [root, field = ''] = name.split('.');
        const definition = mutations[field];
        const needed = root === 'Query' ? ['read'] : definition === undefined ? [] : declared(definition);
        if (needed.every((one) => one === scope)) continue;
        const [call] = calls(scene.names);
        if (call === undefined) continue;
        const { data, errors } = await key.client.graphql(documentOf(schema, call), call.args);
        const code = errors?.[0]?.extensions.code ?? data?.[field]?.code;
        expect([name, code]).toEqual([name, 'UNAUTHORIZED_PRINCIPAL']);
      }
      const after = await state();
      expect(Object.keys(before).filter((table) => after[table] !== before[table])).toEqual([]);
    },
  );

  test('a key without administration makes no change that the audit log records', async () => {
    const { client } = await keyOf(scene.owner, ['read', 'write', 'events']);
    const where = { organizationId };
    const before = await service.app.db.auditLogEntry.count({ where });
    let made = 0;
    for (const [name, calls] of Object.entries(GRAPHQL_CALLS)) {
      const [root, field = ''] = name.split('.');
      const definition = mutations[field];
      if (root !== 'Mutation' || definition === undefined || declared(definition).length === 0) continue;
      for (const call of calls(scene.names)) {
        const { data } = await client.graphql(documentOf(schema, call), call.args);
        if (data?.[field]?.code === undefined) made++;
      }
    }
    expect(made).toBeGreaterThan(40);
    expect(await service.app.db.auditLogEntry.count({ where })).toBe(before);
    const principals = {
      channelIds: [globalId('Channel', scene.names.channelId)],
      userIds: [globalId('User', scene.guest.id)],
    };
    expect(principals.userIds).toHaveLength(1);
    const refused = await basicOf(client).rest('POST', '/users/me/subscriptions', {
      subscriptions: [{ name: scene.names.channelName }],
      principals: [scene.guest.id],
    });
    expect([refused.status, refused.body.required_scopes]).toEqual([403, 'administration']);
  });

  /** Returns the client of the owner with the same key, over Basic authentication. */
  const basicOf = (client: Visitor): Visitor =>
    client.as(`Basic ${Buffer.from(`${scene.owner.email}:${client.authorization?.slice(7)}`).toString('base64')}`);
});
