import { describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization, serverOf } from '../helpers/server.ts';

const MINUTE = /^\d{4}-\d\d-\d\dT\d\d:\d\d\+00:00$/;
const NO_SUCH_USER = { status: 400, body: { result: 'error', code: 'BAD_REQUEST', msg: 'No such user' } };
const NOT_ADMINISTRATOR = {
  status: 400,
  body: { code: 'UNAUTHORIZED_PRINCIPAL', msg: 'Must be an organization administrator' },
};
const NOT_OWNER = { status: 400, body: { code: 'UNAUTHORIZED_PRINCIPAL', msg: 'Must be an organization owner' } };

const get = async (viewer: Person, userId: number) => (await viewer.ok('GET', `/users/${userId}`)).user;

describe('GET /users/{user_id}', () => {
  test.concurrent('returns an active or deactivated user in the documented shape', async () => {
    const { guest, member } = await createOrganization();
    expect(await get(guest, member.id)).toEqual({
      ...{ user_id: member.id, delivery_email: member.email, email: member.email, full_name: 'member' },
      ...{ date_joined: expect.stringMatching(MINUTE), is_active: true, is_owner: false, is_admin: false },
      ...{ is_guest: false, is_bot: false, bot_type: null, bot_owner_id: null, role: 400, timezone: '' },
      ...{ avatar_url: expect.any(String), avatar_version: 1, is_imported_stub: false },
    });
  });

  test.concurrent('returns the role of each user, with its flags', async () => {
    const organised = await createOrganization();
    const roles = ['owner', 'administrator', 'moderator', 'member', 'guest'] as const;
    const users = await Promise.all(roles.map((role) => get(organised.guest, organised[role].id)));
    expect(users.map((u) => [u.role, u.is_owner, u.is_admin, u.is_guest])).toEqual([
      [100, true, true, false],
      [200, false, true, false],
      [300, false, false, false],
      [400, false, false, false],
      [600, false, false, true],
    ]);
  });

  test.concurrent('returns a bot with its owner', async () => {
    const { member, bot, owner } = await createOrganization();
    expect(await get(member, bot.id)).toMatchObject({ is_bot: true, bot_type: 1, bot_owner_id: owner.id, role: 400 });
  });

  test.concurrent('includes profile data on request, for people only', async () => {
    const { member, bot } = await createOrganization();
    const parameters = { include_custom_profile_fields: true };
    expect((await member.ok('GET', `/users/${member.id}`, parameters)).user.profile_data).toEqual({});
    expect((await member.ok('GET', `/users/${bot.id}`, parameters)).user).not.toHaveProperty('profile_data');
    expect(await get(member, member.id)).not.toHaveProperty('profile_data');
  });

  test.concurrent('finds no unknown users, nor users of another organization', async () => {
    const [{ member }, other] = await Promise.all([createOrganization(), createOrganization()]);
    for (const id of [other.member.id, 2_000_000_000, 2 ** 31, 10 ** 20, 0]) {
      expect(await member.rest('GET', `/users/${id}`)).toMatchObject(NO_SUCH_USER);
    }
  });

  test.concurrent.for([
    ['client_gravatar', '1', 'client_gravatar is not a boolean'],
    ['client_gravatar', 'yes', 'client_gravatar is not valid JSON'],
    ['include_custom_profile_fields', '"true"', 'include_custom_profile_fields is not a boolean'],
  ])('refuses %s with the value %s', async ([name = '', value, msg]) => {
    const { member } = await createOrganization();
    const { status, body } = await member.rest('GET', `/users/${member.id}`, { [name]: value });
    expect([status, body.code, body.msg]).toEqual([400, 'BAD_REQUEST', msg]);
  });
});

describe('GET /users/{email}', () => {
  test.concurrent('finds a user by address, in any case', async () => {
    const { guest, member } = await createOrganization();
    const path = `/users/${encodeURIComponent(member.email.toUpperCase())}`;
    expect((await guest.ok('GET', path)).user.user_id).toBe(member.id);
  });

  test.concurrent('finds no unknown addresses, nor those of another organization', async () => {
    const [{ member }, other] = await Promise.all([createOrganization(), createOrganization()]);
    for (const email of ['nobody@example.com', other.member.email, 'user2000000000@users.invalid', 'a\0b']) {
      const reply = await member.rest('GET', `/users/${encodeURIComponent(email)}`);
      expect(reply.status).toBe(400);
      expect(reply.body.code).toBe('BAD_REQUEST');
    }
  });
});

describe('GET /users/me', () => {
  test.concurrent('returns the caller at the top level, also for bots', async () => {
    const { guest, bot } = await createOrganization();
    expect(await guest.ok('GET', '/users/me')).toMatchObject({
      ...{ result: 'success', user_id: guest.id, full_name: 'guest', role: 600, is_guest: true },
      ...{ max_message_id: -1, profile_data: {}, delivery_email: guest.email },
    });
    expect(await bot.ok('GET', '/users/me')).toMatchObject({ user_id: bot.id, is_bot: true });
  });
});

describe('GET /users', () => {
  test.concurrent('lists all users of the organization by id, also to guests', async () => {
    const organised = await createOrganization();
    const { members } = await organised.guest.ok('GET', '/users');
    const ids = everybody(organised).map(({ id }) => id);
    expect(members.map(({ user_id }: { user_id: number }) => user_id)).toEqual(ids.sort((a, b) => a - b));
  });

  test.concurrent('lists only the given users, and skips unknown ids', async () => {
    const [{ owner, guest }, other] = await Promise.all([createOrganization(), createOrganization()]);
    const user_ids = [guest.id, owner.id, other.owner.id, 2_000_000_000, 2 ** 40, -1];
    const { members } = await owner.ok('GET', '/users', { user_ids });
    expect(members.map(({ full_name }: { full_name: string }) => full_name)).toEqual(['owner', 'guest']);
    const { body } = await owner.rest('GET', '/users', { user_ids: ['1'] });
    expect(body).toEqual({ result: 'error', code: 'BAD_REQUEST', msg: 'user_ids[0] is not an integer' });
  });

  test.concurrent('filters by role, bot and activity over GraphQL', async () => {
    const { guest } = await createOrganization({ ann: 'guest' });
    const names = async (filter: string) => {
      const { users } = await guest.query(`{ users(${filter}) { edges { node { fullName } } } }`);
      return users.edges.map(({ node }: { node: { fullName: string } }) => node.fullName);
    };
    expect(await names('role: GUEST')).toEqual(['guest', 'ann']);
    expect(await names('isBot: true')).toEqual(['bot']);
    expect(await names('isBot: false, role: MEMBER')).toEqual(['member']);
    expect(await names('isActive: false')).toEqual([]);
  });
});

describe('POST /users', () => {
  const ada = { email: 'ada@example.com', password: 'correct horse', full_name: 'Ada' };

  test.concurrent('creates a member, who joins when they first fetch an API key', async () => {
    const { owner, member, anonymous } = await createOrganization();
    const heard = await member.receiving();
    const { user_id } = await owner.ok('POST', '/users', { ...ada, full_name: '  Ada ' });
    const user = await get(member, user_id);
    expect(user).toMatchObject({ full_name: 'Ada', role: 400, is_imported_stub: true, email: ada.email });
    const joined = { type: 'user_group', op: 'add_members', group_id: expect.any(Number), user_ids: [user_id] };
    expect(await heard()).toEqual([
      { type: 'realm_user', op: 'add', person: { ...user, profile_data: {} } },
      // The user joins two groups: that of members and that of full members.
      joined,
      joined,
    ]);
    const login = await anonymous.ok('POST', '/fetch_api_key', { username: ada.email, password: ada.password });
    expect(login.user_id).toBe(user_id);
    expect((await get(member, user_id)).is_imported_stub).toBe(false);
  });

  test.concurrent('subscribes the new member to the default channels', async () => {
    const { owner, member } = await createOrganization();
    const channel = { name: 'general', subscribers: [member.id], is_default_stream: true };
    const { id } = await owner.ok('POST', '/channels/create', channel);
    const heard = await member.receiving();
    const { user_id } = await owner.ok('POST', '/users', ada);
    expect(await heard()).toMatchObject([
      { type: 'realm_user', op: 'add' },
      { type: 'user_group', op: 'add_members' },
      { type: 'user_group', op: 'add_members' },
      { type: 'subscription', op: 'peer_add', stream_ids: [id], user_ids: [user_id] },
    ]);
  });

  test.concurrent('requires an administrator with the permission', async () => {
    const organised = await createOrganization();
    const { administrator } = organised;
    for (const person of [organised.moderator, organised.member, organised.guest, organised.bot]) {
      expect(await person.rest('POST', '/users', ada), person.name).toMatchObject(NOT_ADMINISTRATOR);
    }
    const without = await administrator.rest('POST', '/users', ada);
    expect(without.body).toMatchObject({ code: 'BAD_REQUEST', msg: 'User not authorized to create users' });
    const grant = { org: organised.organization.subdomain, user: administrator.email, right: 'can_create_users' };
    await runCommand(serverOf().dataDir, 'user grant', grant);
    await administrator.ok('POST', '/users', ada);
  });

  test.concurrent.for<[string, object, string]>([
    ['an address without a domain', { email: 'ada' }, 'Bad name or username'],
    ['an address with a space', { email: 'a da@example.com' }, 'Bad name or username'],
    ['a blank name', { full_name: ' ' }, 'Name must not be empty!'],
    ['a name that is too long', { full_name: 'n'.repeat(101) }, 'Name too long!'],
    ['a name with a star', { full_name: 'A*da' }, 'Invalid characters in name!'],
    ['a name with a null byte', { full_name: 'A\0da' }, ''],
    ['a name that looks like a mention', { full_name: 'Ada|7' }, 'Invalid format!'],
    ['a short password', { password: '1234567' }, 'password is too short.'],
    ['a long password', { password: 'p'.repeat(101) }, 'password is too long (limit: 100 characters)'],
  ])('refuses %s', async ([, fields, msg]) => {
    const { owner } = await createOrganization();
    const heard = await owner.receiving();
    const { status, body } = await owner.rest('POST', '/users', { ...ada, ...fields });
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    if (msg !== '') expect(body.msg).toBe(msg);
    expect(await heard()).toEqual([]);
  });

  test.concurrent('refuses an address in use, in any case, but not one of another organization', async () => {
    const [{ owner, member }, other] = await Promise.all([createOrganization(), createOrganization()]);
    const { status, body } = await owner.rest('POST', '/users', { ...ada, email: member.email.toUpperCase() });
    expect([status, body.code, body.msg]).toEqual([400, 'BAD_REQUEST', 'Email is already in use.']);
    await owner.ok('POST', '/users', { ...ada, email: other.member.email });
  });

  test.concurrent.for([['email'], ['password'], ['full_name']])('requires %s', async ([name = '']) => {
    const { owner } = await createOrganization();
    const { body } = await owner.rest('POST', '/users', { ...ada, [name]: undefined });
    expect([body.code, body.var_name]).toEqual(['REQUEST_VARIABLE_MISSING', name]);
  });
});

describe('PATCH /users/{user_id}', () => {
  test.concurrent('renames a user, and notifies all users', async () => {
    const { administrator, guest, member } = await createOrganization();
    const heard = await guest.receiving();
    await administrator.ok('PATCH', `/users/${member.id}`, { full_name: ' Grace ' });
    expect((await get(guest, member.id)).full_name).toBe('Grace');
    const person = { user_id: member.id, full_name: 'Grace' };
    expect(await heard()).toEqual([{ type: 'realm_user', op: 'update', person }]);
  });

  test.concurrent('accepts an address instead of the id', async () => {
    const { administrator, member } = await createOrganization();
    await administrator.ok('PATCH', `/users/${encodeURIComponent(member.email)}`, { full_name: 'Grace' });
    expect((await get(member, member.id)).full_name).toBe('Grace');
  });

  test.concurrent('changes nothing and sends no events for unchanged values and for a blank name', async () => {
    const { owner, member } = await createOrganization();
    const heard = await owner.receiving();
    await owner.ok('PATCH', `/users/${member.id}`, { full_name: 'member', role: 400 });
    await owner.ok('PATCH', `/users/${member.id}`, { full_name: '  ' });
    await owner.ok('PATCH', `/users/${member.id}`);
    expect(await heard()).toEqual([]);
  });

  test.concurrent('changes a role, starting with the next request', async () => {
    const { administrator, member, owner } = await createOrganization();
    const heard = await owner.receiving();
    expect(await member.rest('PATCH', `/users/${owner.id}`, { full_name: 'x' })).toMatchObject(NOT_ADMINISTRATOR);
    await administrator.ok('PATCH', `/users/${member.id}`, { role: 200 });
    expect(await heard()).toContainEqual({
      ...{ type: 'realm_user', op: 'update', person: { user_id: member.id, role: 200 } },
    });
    await member.ok('PATCH', `/users/${owner.id}`, { full_name: 'Renamed' });
  });

  test.concurrent('lets only owners give or take the owner role', async () => {
    const { owner, administrator, member } = await createOrganization();
    const second = await administrator.rest('PATCH', `/users/${member.id}`, { role: 100 });
    expect(second).toMatchObject(NOT_OWNER);
    expect(await administrator.rest('PATCH', `/users/${owner.id}`, { role: 400 })).toMatchObject(NOT_OWNER);
    await owner.ok('PATCH', `/users/${member.id}`, { role: 100 });
    await member.ok('PATCH', `/users/${owner.id}`, { role: 200 });
  });

  test.concurrent('keeps the only owner, even if two owners resign at once', async () => {
    const { owner, member } = await createOrganization();
    const msg = 'The owner permission cannot be removed from the only organization owner.';
    const refusal = { status: 400, body: { code: 'BAD_REQUEST', msg } };
    expect(await owner.rest('PATCH', `/users/${owner.id}`, { role: 200 })).toMatchObject(refusal);
    await owner.ok('PATCH', `/users/${member.id}`, { role: 100 });
    const resign = (person: Person) => person.rest('PATCH', `/users/${person.id}`, { role: 400 });
    const statuses = (await Promise.all([resign(owner), resign(member)])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 400]);
  });

  test.concurrent('requires an administrator', async () => {
    const { moderator, member, guest } = await createOrganization();
    for (const person of [moderator, member, guest]) {
      expect(await person.rest('PATCH', `/users/${person.id}`, { full_name: 'Me' })).toMatchObject(NOT_ADMINISTRATOR);
    }
  });

  test.concurrent.for<[string, object, string]>([
    ['a role there is not', { role: 500 }, 'Invalid role'],
    ['a role that is a text', { role: '"400"' }, 'role is not an integer'],
    ['a name with a quote', { full_name: '"Ada"' }, 'Invalid characters in name!'],
    ['a good name beside a bad role', { full_name: 'Ada', role: 1 }, 'Invalid role'],
  ])('refuses %s', async ([, fields, msg]) => {
    const { owner, member } = await createOrganization();
    const { status, body } = await owner.rest('PATCH', `/users/${member.id}`, { ...fields });
    expect([status, body.code, body.msg]).toEqual([400, 'BAD_REQUEST', msg]);
    expect(await get(owner, member.id)).toMatchObject({ full_name: 'member', role: 400 });
  });

  test.concurrent('finds no unknown users, nor users of another organization', async () => {
    const [{ owner }, other] = await Promise.all([createOrganization(), createOrganization()]);
    for (const who of [other.member.id, 2_000_000_000, 2 ** 31, 10 ** 20, 'nobody@example.com', other.member.email]) {
      expect(await owner.rest('PATCH', `/users/${who}`, { full_name: 'Mine' })).toMatchObject(NO_SUCH_USER);
    }
  });
});

test.concurrent('every users endpoint names the parameters that it ignored', async () => {
  const { owner, member } = await createOrganization();
  let made = 0;
  const user = () => ({ email: `u${++made}@example.com`, password: 'correct horse', full_name: 'Ada' });
  await expectIgnoredParameters(owner, 'POST', async () => ({ path: '/users', parameters: user() }));
  await expectIgnoredParameters(owner, 'GET', async () => ({ path: '/users' }));
  await expectIgnoredParameters(owner, 'GET', async () => ({ path: '/users/me' }));
  await expectIgnoredParameters(owner, 'GET', async () => ({ path: `/users/${member.id}` }), 'user_id');
  await expectIgnoredParameters(owner, 'GET', async () => ({ path: `/users/${member.email}` }), 'email');
  await expectIgnoredParameters(owner, 'PATCH', async () => ({ path: `/users/${member.id}` }), 'user_id');
  await expectIgnoredParameters(owner, 'PATCH', async () => ({ path: `/users/${member.email}` }), 'email');
});

function everybody({ owner, administrator, moderator, member, guest, bot }: Organization): Person[] {
  return [owner, administrator, moderator, member, guest, bot];
}
