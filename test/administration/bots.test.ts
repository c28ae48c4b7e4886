import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import { basic, Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf } from '../helpers/talk.ts';

const NOBODY = 2_000_000_000;
const NO_DEFAULTS = {
  ...{ default_sending_stream: null, default_events_register_stream: null },
  default_all_public_streams: false,
};

const make = (person: Person, name: string, more: object = {}): Promise<Json> =>
  person.ok('POST', '/bots', { full_name: name, short_name: name.toLowerCase().replaceAll(/\W/g, ''), ...more });

const msgOf = async (reply: Promise<{ body: Json }>): Promise<string> => (await reply).body.msg;
const botEvents = (person: Person) => person.receiving({ event_types: ['realm_bot'] });
const userOf = async (person: Person, id: number): Promise<Json> => (await person.ok('GET', `/users/${id}`)).user;

describe('POST /bots', () => {
  test.concurrent('creates a bot of the viewer with an API key, and notifies the users who can administer it', async () => {
    const { owner, member, moderator, organization } = await createOrganization();
    const channel = `deploys of ${organization.subdomain}`;
    await channelOf(member, channel, [member]);
    const heard = [await member.receiving(), await owner.receiving(), await moderator.receiving()];
    const defaults = { default_sending_stream: channel, default_all_public_streams: true };
    const bot = await make(member, 'Build Bot', defaults);
    expect(bot).toMatchObject({
      ...{ user_id: expect.any(Number), api_key: expect.stringMatching(/^[A-Za-z0-9]{32}$/) },
      ...{ avatar_url: expect.stringContaining(`/avatar/${bot.user_id}`), ...NO_DEFAULTS, ...defaults },
    });
    const user = await userOf(owner, bot.user_id);
    expect(user).toMatchObject({
      is_bot: true,
      bot_type: 1,
      bot_owner_id: member.id,
      role: 400,
      full_name: 'Build Bot',
    });
    expect(user.email).toBe(`buildbot-bot@${organization.subdomain}.localhost`);
    expect(bot.email).toBe(user.email);
    const own = owner.as(basic(bot.email, bot.api_key));
    expect((await own.ok('GET', '/users/me/subscriptions')).subscriptions).toEqual([]);
    const wire = { user_id: bot.user_id, ...NO_DEFAULTS, ...defaults, services: [] };
    const [toMember, toOwner, toModerator] = await Promise.all(heard.map((hear) => hear()));
    for (const events of [toMember, toOwner]) {
      const kinds = events?.map(({ type, op }) => `${type}/${op}`).filter((kind) => !kind.startsWith('user_group'));
      expect(kinds).toEqual(['realm_user/add', 'realm_bot/add']);
      expect(events?.find(({ type }) => type === 'realm_bot').bot).toEqual(wire);
    }
    expect(toModerator?.some(({ type }) => type === 'realm_bot')).toBe(false);
    expect((await member.register()).realm_bots).toEqual([wire]);
    expect((await owner.register()).realm_bots).toContainEqual(wire);
    expect((await moderator.register()).realm_bots).toEqual([]);
  });

  test.concurrent('notifies the bot that it has no subscriptions, until it has one, in both APIs', async () => {
    const { owner, member } = await createOrganization();
    const channelId = await channelOf(owner, 'quay', [owner, member]);
    const { email, api_key, user_id } = await make(member, 'Listener');
    const bot = new Person(member, { id: user_id, name: 'Listener', email, apiKey: api_key, role: 400 });
    const notices = async (options: Json = {}, input: Json = {}) => [
      (await bot.register({ fetch_event_types: [], ...options })).notice,
      (await bot.mutate('registerEventQueue', input, 'notice')).notice ?? undefined,
    ];
    const told = expect.stringContaining('subscribed to no channel');
    expect(await notices()).toEqual([told, told]);
    // The notice says that the client receives few messages. Clients get no notice if they receive no messages, or the messages
    // of all public channels.
    expect(await notices({ event_types: ['reaction'] }, { eventTypes: ['REACTION'] })).toEqual([undefined, undefined]);
    expect(await notices({ all_public_streams: true }, { allPublicChannels: true })).toEqual([undefined, undefined]);
    expect((await member.register({ fetch_event_types: [] })).notice).toBeUndefined();
    // Subscribes the bot to a channel, which is the next step in the documentation of POST /bots.
    await member.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'quay' }], principals: [user_id] });
    expect(await notices()).toEqual([undefined, undefined]);
    const hear = await bot.receiving({ event_types: ['message'] });
    await member.ok('POST', '/messages', { type: 'channel', to: channelId, topic: 't', content: 'hello' });
    expect((await hear()).map(({ message }) => message.content)).toEqual(['hello']);
    await bot.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['quay'] });
    expect(await notices()).toEqual([told, told]);
  });

  test.concurrent('refuses other bot types, taken names and addresses, and users who cannot create bots', async () => {
    const { owner, member, guest, bot, organization } = await createOrganization();
    const hidden = `hidden of ${organization.subdomain}`;
    await channelOf(owner, hidden, [owner], { invite_only: true });
    await make(member, 'Helper');
    const ask = { full_name: 'Other', short_name: 'other' };
    const refusal = (parameters: object, person: Person = member) =>
      msgOf(person.rest('POST', '/bots', { ...ask, ...parameters }));
    for (const bot_type of [0, 2, 3, 4, 5]) expect(await refusal({ bot_type })).toBe('Invalid bot type');
    expect(await refusal({ full_name: 'hELPER' })).toBe('Name is already in use.');
    expect(await refusal({ short_name: 'helper' })).toBe('Email is already in use.');
    expect(await refusal({ short_name: ' ' })).toBe('Bad name or username');
    expect(await refusal({ short_name: 'a b' })).toBe('Bad name or username');
    expect(await refusal({ full_name: ' ' })).toBe('Name must not be empty!');
    expect(await refusal({ default_sending_stream: hidden })).toBe(`Invalid channel name '${hidden}'`);
    expect(await refusal({ default_events_register_stream: 'nothing' })).toBe("Invalid channel name 'nothing'");
    expect(await refusal({}, bot)).toBe('Insufficient permission');
    expect((await guest.rest('POST', '/bots', ask)).body).toMatchObject({ code: 'UNAUTHORIZED_PRINCIPAL' });
    const { realm_can_manage_all_groups: owners } = await owner.register({ fetch_event_types: ['realm'] });
    await owner.ok('PATCH', '/realm', { can_create_bots_group: { new: owners } });
    expect(await refusal({})).toBe('Insufficient permission');
    expect((await member.ok('GET', '/bots')).bots).toHaveLength(1);
  });

  test.concurrent('accepts an image', async () => {
    const { member } = await createOrganization();
    const { user_id } = await make(member, 'Painter', { file: PNG });
    expect((await userOf(member, user_id)).avatar_version).toBe(2);
  });

  test.concurrent('stores no reply under an idempotency key, because it would contain the API key of the bot', async () => {
    const { member } = await createOrganization();
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
    const ask = { full_name: 'Helper', short_name: 'helper' };
    await member.ok('POST', '/bots', ask, { headers });
    expect(await msgOf(member.rest('POST', '/bots', ask, { headers }))).toBe('Name is already in use.');
  });
});

describe('GET /bots', () => {
  test.concurrent("lists the viewer's active bots with their API keys, oldest first", async () => {
    const { owner, member, guest } = await createOrganization();
    const [one, two, gone] = [await make(member, 'One'), await make(member, 'Two'), await make(member, 'Gone')];
    await make(owner, 'Other');
    await member.ok('DELETE', `/bots/${gone.user_id}`);
    const expected = [one, two].map(({ user_id, api_key, avatar_url }, i) => ({
      ...{ full_name: ['One', 'Two'][i], api_key, avatar_url, ...NO_DEFAULTS, user_id },
    }));
    const { bots } = await member.ok('GET', '/bots');
    const { members } = await member.ok('GET', '/users');
    const idOf = (email: string) => members.find((user: Json) => user.email === email).user_id;
    expect(bots.map(({ username, ...bot }: Json) => ({ ...bot, user_id: idOf(username) }))).toEqual(expected);
    const query = '{ ownBots(first: 10) { edges { node { fullName bot { apiKey hearsAllPublicChannels } } } } }';
    const { ownBots } = await member.query(query);
    expect(ownBots.edges.map(({ node }: Json) => [node.fullName, node.bot.apiKey])).toEqual([
      ['One', one.api_key],
      ['Two', two.api_key],
    ]);
    expect((await guest.rest('GET', '/bots')).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    expect((await guest.graphql(query)).errors?.[0].extensions.code).toBe('UNAUTHORIZED_PRINCIPAL');
    await expectIgnoredParameters(member, 'GET', async () => ({ path: '/bots' }));
  });

  test.concurrent('shows administration fields of a bot only to its owner and to administrators', async () => {
    const { owner, administrator, moderator, member } = await createOrganization();
    const { user_id, api_key } = await make(member, 'Helper');
    const query = `{ user(by: { id: "${globalId('User', user_id)}" }) { fullName bot { apiKey } } }`;
    for (const person of [member, owner, administrator]) {
      expect((await person.query(query)).user.bot).toEqual({ apiKey: api_key });
    }
    expect((await moderator.query(query)).user.bot).toBeNull();
    expect(
      (await member.query(`{ user(by: { id: "${globalId('User', owner.id)}" }) { bot { apiKey } } }`)).user.bot,
    ).toBeNull();
  });
});

describe('PATCH /bots/{bot_id}', () => {
  test.concurrent('changes the given fields, with one event for each change, and returns the result', async () => {
    const { owner, member, organization } = await createOrganization();
    const channel = `deploys of ${organization.subdomain}`;
    const channelId = await channelOf(member, channel, [member]);
    const { user_id } = await make(member, 'Helper');
    const hear = await owner.receiving({ event_types: ['realm_bot', 'realm_user'] });
    const path = `/bots/${user_id}`;
    const defaults = { default_sending_stream: channel, default_events_register_stream: channel };
    const changed = await member.ok('PATCH', path, {
      full_name: 'Robot',
      ...defaults,
      default_all_public_streams: true,
    });
    expect(changed).toMatchObject({
      ...{ full_name: 'Robot', bot_owner: member.email, ...defaults, default_all_public_streams: true },
    });
    await owner.ok('PATCH', `/streams/${channelId}`, { new_name: `${channel} renamed` });
    await member.ok('PATCH', path, { default_sending_stream: '', full_name: 'Robot' });
    const renamed = `${channel} renamed`;
    expect((await hear()).map(({ person, bot }) => person ?? bot)).toEqual([
      { user_id, full_name: 'Robot' },
      { user_id, default_sending_stream: channel },
      { user_id, default_events_register_stream: channel },
      { user_id, default_all_public_streams: true },
      { user_id, default_sending_stream: renamed },
      { user_id, default_events_register_stream: renamed },
      { user_id, default_sending_stream: null },
    ]);
    await owner.ok('PATCH', path, { role: 300, file: PNG });
    expect(await userOf(owner, user_id)).toMatchObject({ role: 300, avatar_version: 2 });
    await expectIgnoredParameters(member, 'PATCH', async () => ({ path, parameters: { full_name: 'Robot' } }));
  });

  test.concurrent('transfers the bot to another owner, and notifies the users concerned', async () => {
    const { owner, member, moderator, bot, guest, signUp } = await createOrganization();
    const gone = await signUp('gone');
    await owner.ok('DELETE', `/users/${gone.id}`);
    const { user_id } = await make(member, 'Helper');
    const path = `/bots/${user_id}`;
    const refusal = (bot_owner_id: number) => msgOf(member.rest('PATCH', path, { bot_owner_id }));
    expect(await refusal(NOBODY)).toBe('Failed to change owner, no such user');
    expect(await refusal((await createOrganization()).member.id)).toBe('Failed to change owner, no such user');
    expect(await refusal(gone.id)).toBe('Failed to change owner, user is deactivated');
    expect(await refusal(bot.id)).toBe("Failed to change owner, bots can't own other bots");
    const heard = await Promise.all([member, moderator, owner].map(botEvents));
    const people = await guest.receiving({ event_types: ['realm_user'] });
    const changed = await member.ok('PATCH', path, { bot_owner_id: moderator.id });
    expect(changed.bot_owner).toBe(moderator.email);
    const [toMember, toModerator, toOwner] = await Promise.all(heard.map((hear) => hear()));
    expect(toMember).toEqual([{ type: 'realm_bot', op: 'delete', bot: { user_id } }]);
    expect(toModerator).toMatchObject([{ op: 'add', bot: { user_id, ...NO_DEFAULTS, services: [] } }]);
    expect(toOwner).toEqual([]);
    expect((await people()).map(({ person }) => person)).toEqual([{ user_id, bot_owner_id: moderator.id }]);
    expect(await msgOf(member.rest('PATCH', path, { full_name: 'Mine' }))).toBe('Insufficient permission');
    const mine = { botId: user_id, ownerId: member.id };
    await moderator.mutate('updateBot', mine, 'user { botOwner { databaseId } }');
    expect((await userOf(owner, user_id)).bot_owner_id).toBe(member.id);
  });

  test.concurrent('is for the owner of the bot and administrators; only administrators change its role', async () => {
    const { owner, administrator, moderator, member, guest } = await createOrganization();
    const { user_id } = await make(member, 'Helper');
    await make(member, 'Taken');
    const patch = (person: Person, parameters: object = {}, id = user_id) =>
      person.rest('PATCH', `/bots/${id}`, { ...parameters });
    expect(await msgOf(patch(member, {}, NOBODY))).toBe('No such bot');
    expect(await msgOf(patch(owner, {}, member.id))).toBe('No such bot');
    expect(await msgOf(patch(owner, {}, (await createOrganization()).bot.id))).toBe('No such bot');
    expect(await msgOf(patch(moderator))).toBe('Insufficient permission');
    expect((await patch(guest)).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    expect((await patch(member, { role: 300 })).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    expect(await msgOf(patch(administrator, { role: 350 }))).toBe('Invalid role');
    expect((await patch(administrator, { role: 100 })).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    expect(await msgOf(patch(member, { full_name: 'TAKEN' }))).toBe('Name is already in use.');
    expect(await msgOf(patch(member, { full_name: 'a*b' }))).toBe('Invalid characters in name!');
    await owner.ok('PATCH', `/bots/${user_id}`, { role: 100 });
    // An administrator must not read the API key of a bot with the owner role, because the key grants the rights of an owner.
    expect((await administrator.rest('GET', `/bots/${user_id}/api_key`)).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
  });
});

describe('DELETE /bots/{bot_id}', () => {
  test.concurrent('deactivates the bot once, and its API key is refused immediately', async () => {
    const { owner, member, moderator, guest } = await createOrganization();
    const { user_id, api_key } = await make(member, 'Helper');
    const { email } = await userOf(owner, user_id);
    const self = new Person(member, { id: user_id, name: 'Helper', email, apiKey: api_key, role: 400 });
    const path = `/bots/${user_id}`;
    expect(await msgOf(moderator.rest('DELETE', path))).toBe('Insufficient permission');
    expect(await msgOf(owner.rest('DELETE', `/bots/${member.id}`))).toBe('No such bot');
    expect((await guest.rest('DELETE', path)).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    const hear = await moderator.receiving();
    await member.ok('DELETE', path);
    await owner.ok('DELETE', path);
    expect(await hear()).toEqual([{ type: 'realm_user', op: 'update', person: { user_id, is_active: false } }]);
    expect((await self.rest('GET', '/users/me')).body.code).toBe('USER_DEACTIVATED');
    const again = await make(member, 'Second');
    const { user } = await owner.mutate('deactivateBot', { botId: again.user_id }, 'user { isActive }');
    expect(user.isActive).toBe(false);
  });
});

describe('API keys', () => {
  test.concurrent('a new API key invalidates the old one immediately, for users and bots, and closes connections', async () => {
    const { member, guest, bot } = await createOrganization();
    for (const person of [member, guest, bot]) {
      await using live = await person.events('position');
      const { api_key } = await person.ok('POST', '/users/me/api_key/regenerate');
      expect(api_key).toMatch(/^[A-Za-z0-9]{32}$/);
      expect(api_key).not.toBe(person.apiKey);
      expect((await person.rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
      expect((await live.ended).how).not.toBe('errors');
      const renewed = new Person(person, { ...person, apiKey: api_key });
      expect((await renewed.ok('GET', '/users/me')).user_id).toBe(person.id);
      const second = await renewed.mutate('regenerateApiKey', {}, 'apiKey');
      expect((await renewed.rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
      expect((await new Person(person, { ...person, apiKey: second.apiKey }).ok('GET', '/users/me')).result).toBe(
        'success',
      );
    }
  });

  test.concurrent('only the owner of a bot and administrators can see and regenerate its API key', async () => {
    const { owner, administrator, moderator, member, guest } = await createOrganization();
    const { user_id, api_key } = await make(member, 'Helper');
    const [read, renew] = [`/bots/${user_id}/api_key`, `/bots/${user_id}/api_key/regenerate`];
    for (const person of [member, owner, administrator]) {
      expect((await person.ok('GET', read)).api_key).toBe(api_key);
      expect((await person.query(`{ botApiKey(botId: "${globalId('User', user_id)}") }`)).botApiKey).toBe(api_key);
    }
    for (const [method, path] of [
      ['GET', read],
      ['POST', renew],
    ] as const) {
      expect(await msgOf(moderator.rest(method, path))).toBe('Insufficient permission');
      expect((await guest.rest(method, path)).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
      expect(await msgOf(owner.rest(method, path.replace(`${user_id}`, `${member.id}`)))).toBe('No such bot');
    }
    const { api_key: renewed } = await administrator.ok('POST', renew);
    const { email } = await userOf(owner, user_id);
    const signIn = (key: string) => owner.as(basic(email, key)).rest('GET', '/users/me');
    expect((await signIn(api_key)).body.code).toBe('INVALID_API_KEY');
    expect((await signIn(renewed)).status).toBe(200);
    const again = await member.mutate('regenerateApiKey', { botId: user_id }, 'apiKey');
    expect((await signIn(again.apiKey)).status).toBe(200);
  });

  test.concurrent('regenerating a key under an idempotency key stores no reply: each request creates another key', async () => {
    const { member } = await createOrganization();
    const { user_id } = await make(member, 'Helper');
    const headers = { 'idempotency-key': 'the same' };
    const renew = async () => (await member.ok('POST', `/bots/${user_id}/api_key/regenerate`, {}, { headers })).api_key;
    expect(await renew()).not.toBe(await renew());
  });
});

test('a new administrator receives all bots, a former one keeps their own', async () => {
  const { owner, member } = await createOrganization();
  const own = await make(member, 'Own');
  const { user_id } = await make(owner, 'Other');
  const hear = await botEvents(member);
  await owner.ok('PATCH', `/users/${member.id}`, { role: 200 });
  const added = (await hear()).map(({ op, bot }) => [op, bot.user_id]);
  expect(added).toContainEqual(['add', user_id]);
  expect(added).not.toContainEqual(['add', own.user_id]);
  await owner.ok('PATCH', `/users/${member.id}`, { role: 400 });
  expect((await member.register()).realm_bots.map((bot: Json) => bot.user_id)).toEqual([own.user_id]);
});
