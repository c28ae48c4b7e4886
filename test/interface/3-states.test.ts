import { describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import type { Json } from '../helpers/http.ts';
import { createOrganization, serverOf } from '../helpers/server.ts';
import { channelOf } from '../helpers/talk.ts';

describe.concurrent('3 States: a user', () => {
  test('is active until an administrator deactivates it', async () => {
    const { administrator, member, owner } = await createOrganization();
    const isActive = async () => (await owner.ok('GET', `/users/${member.id}`)).user.is_active;
    expect(await isActive()).toBe(true);
    await administrator.ok('DELETE', `/users/${member.id}`);
    expect(await isActive()).toBe(false);
  });

  test('cannot be deactivated if it is the only organization owner', async () => {
    const { administrator, owner, member } = await createOrganization();
    for (const by of [administrator, owner]) {
      expect((await by.rest('DELETE', `/users/${owner.id}`)).status).toBe(400);
    }
    expect((await member.ok('GET', `/users/${owner.id}`)).user.is_active).toBe(true);
  });

  test("is deactivated after the user's bots", async () => {
    const { owner, signUp, bot, administrator } = await createOrganization();
    await owner.ok('PATCH', `/users/${(await signUp('second')).id}`, { role: 100 });
    const heard = await administrator.receiving({ event_types: ['realm_user'] });
    const second = (await administrator.ok('GET', '/users')).members.find(
      ({ full_name }: Json) => full_name === 'second',
    );
    const by = owner;
    expect(second.is_owner).toBe(true);
    await by.ok('DELETE', `/users/${by.id}`);
    const gone = (await heard()).filter(({ person }) => person.is_active === false).map(({ person }) => person.user_id);
    expect(gone).toEqual([bot.id, by.id]);
  });
});

describe.concurrent('3 States: a channel folder', () => {
  test('is archived and unarchived with is_archived, by administrators only', async () => {
    const { administrator, member } = await createOrganization();
    const { channel_folder_id: id } = await administrator.ok('POST', '/channel_folders/create', {
      ...{ name: 'Ships', description: '' },
    });
    const isArchived = async () =>
      (await member.ok('GET', '/channel_folders', { include_archived: true })).channel_folders[0].is_archived;
    expect(await isArchived()).toBe(false);
    for (const is_archived of [true, false]) {
      expect((await member.rest('PATCH', `/channel_folders/${id}`, { is_archived })).status).toBe(400);
      await administrator.ok('PATCH', `/channel_folders/${id}`, { is_archived });
      expect(await isArchived()).toBe(is_archived);
    }
  });
});

describe.concurrent('3 States: an API-created user', () => {
  test('is a stub until the first login, which sends an event and sets the date of joining', async () => {
    const { owner, member, anonymous, organization } = await createOrganization();
    const right = { org: organization.subdomain, user: owner.email, right: 'can_create_users' };
    await runCommand(serverOf().dataDir, 'user grant', right);
    const account = { email: 'ada@new.example', password: 'correct horse battery' };
    const { user_id } = await owner.ok('POST', '/users', { ...account, full_name: 'Ada' });
    const ada = async () => (await member.ok('GET', `/users/${user_id}`)).user;
    expect((await ada()).is_imported_stub).toBe(true);
    const heard = await member.receiving({ event_types: ['realm_user'] });
    const login = { username: account.email, password: account.password };
    await anonymous.ok('POST', '/fetch_api_key', login);
    const { is_imported_stub, date_joined } = await ada();
    expect(is_imported_stub).toBe(false);
    const told = { type: 'realm_user', op: 'update' };
    expect(await heard()).toEqual([
      { ...told, person: { user_id, is_imported_stub: false } },
      { ...told, person: { user_id, date_joined } },
    ]);
    await anonymous.ok('POST', '/fetch_api_key', login);
    expect(await heard()).toHaveLength(2);
  });
});

describe.concurrent('3 States: muting a subscription', () => {
  test.for([
    ['is_muted', true],
    ['in_home_view', false],
  ] as const)('by %s sends two events: one for each property', async ([property, value]) => {
    const { owner, member } = await createOrganization();
    const stream_id = await channelOf(owner, 'general', [member]);
    const heard = await member.receiving({ event_types: ['subscription'] });
    await member.ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id, property, value }],
    });
    const told = (await heard()).map(({ property, value, ...event }) => [event, property, value]);
    const event = { type: 'subscription', op: 'update', stream_id };
    expect(told).toHaveLength(2);
    expect(told).toEqual(
      expect.arrayContaining([
        [event, 'is_muted', true],
        [event, 'in_home_view', false],
      ]),
    );
  });
});
