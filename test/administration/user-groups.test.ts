import { describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const NOBODY = 2_000_000_000;

const makeGroup = async (person: Person, name: string, more: Parameters = {}): Promise<number> =>
  (await person.ok('POST', '/user_groups/create', { name, description: '', members: [], ...more })).group_id;

const members = (person: Person, group: number, change: Parameters) =>
  person.rest('POST', `/user_groups/${group}/members`, change);

const subgroups = (person: Person, group: number, change: Parameters) =>
  person.rest('POST', `/user_groups/${group}/subgroups`, change);

/** Checks that a request is refused with this error code and, if given, this message. */
async function expectRefusal(reply: Promise<{ status: number; body: Json }>, code: string, msg?: string) {
  const { status, body } = await reply;
  expect([status, body.code]).toEqual([400, code]);
  if (msg !== undefined) expect(body.msg).toBe(msg);
}

async function expectSuccess(reply: Promise<{ status: number; body: Json }>) {
  const { status, body } = await reply;
  expect(body).toMatchObject({ result: 'success' });
  expect(status).toBe(200);
}

/** Returns the ids of the role groups by name. */
async function roleGroups(person: Person): Promise<Record<string, number>> {
  const { user_groups } = await person.ok('GET', '/user_groups');
  const named = user_groups.filter(({ is_system_group }: Json) => is_system_group);
  return Object.fromEntries(named.map(({ id, name }: Json) => [name.replace('role:', ''), id]));
}

const memberIds = async (person: Person, group: number, parameters: Parameters = {}): Promise<number[]> =>
  (await person.ok('GET', `/user_groups/${group}/members`, parameters)).members;

const ids = (...people: Person[]) => people.map(({ id }) => id).sort((a, b) => a - b);

describe('a group', () => {
  test.concurrent('is created with its defaults, with an event for all users, and is listed in both APIs', async () => {
    const { owner, member, guest, administrator } = await createOrganization();
    const groups = await roleGroups(member);
    const heard = await guest.receiving({ event_types: ['user_group'] });
    const id = await makeGroup(member, '  Sailors ', {
      description: 'Who sails',
      members: [owner.id, guest.id, owner.id],
      subgroups: [groups['moderators']],
    });
    const onlyCreator = { direct_members: [member.id], direct_subgroups: [] };
    const record = {
      ...{ id, name: 'Sailors', description: 'Who sails', creator_id: member.id },
      date_created: expect.any(Number),
      members: ids(owner, guest),
      direct_subgroup_ids: [groups['moderators']],
      ...{ is_system_group: false, deactivated: false },
      can_add_members_group: onlyCreator,
      can_join_group: groups['nobody'],
      can_leave_group: groups['everyone'],
      can_manage_group: onlyCreator,
      can_mention_group: groups['everyone'],
      can_remove_members_group: groups['nobody'],
    };
    expect(await heard()).toEqual([{ type: 'user_group', op: 'add', group: record }]);
    const { user_groups } = await administrator.ok('GET', '/user_groups');
    expect(user_groups.at(-1)).toEqual(record);
    const { realm_user_groups } = await guest.register({ fetch_event_types: ['realm_user_groups'] });
    expect(realm_user_groups).toEqual(user_groups);
    const { userGroup } = await member.query(`{ userGroup(by: { id: "${globalId('UserGroup', id)}" }) {
      name description isRoleGroup isDeactivated creator { databaseId }
      permissions { canJoin { group { databaseId } } canManage { group { name } directMembers { databaseId } } }
      direct: members(directOnly: true) { edges { node { databaseId } } }
      all: members { edges { node { databaseId } } }
      subgroups { edges { node { name } } }
      hasMember(userId: "${globalId('User', administrator.id)}")
    } }`);
    const people = ({ edges }: Json) => edges.map(({ node }: Json) => node.databaseId);
    expect(people(userGroup.direct)).toEqual(ids(owner, guest));
    expect(people(userGroup.all)).toEqual(await memberIds(member, id));
    expect(userGroup).toMatchObject({
      ...{ name: 'Sailors', description: 'Who sails', isRoleGroup: false, isDeactivated: false, hasMember: true },
      creator: { databaseId: member.id },
      permissions: {
        canJoin: { group: { databaseId: groups['nobody'] } },
        canManage: { group: null, directMembers: [{ databaseId: member.id }] },
      },
      subgroups: {
        edges: ['role:moderators', 'role:administrators', 'role:owners'].toReversed().map(() => expect.anything()),
      },
    });
  });

  test.concurrent('is changed with one event that contains the changes, in both APIs', async () => {
    const { member, guest } = await createOrganization();
    const groups = await roleGroups(member);
    const id = await makeGroup(member, 'Sailors');
    const heard = await guest.receiving({ event_types: ['user_group'] });
    await expectSuccess(
      member.rest('PATCH', `/user_groups/${id}`, {
        name: 'SAILORS',
        can_join_group: { new: groups['members'], old: groups['nobody'] },
        // This value is the current one.
        can_leave_group: { new: { direct_members: [], direct_subgroups: [groups['everyone']] } },
      }),
    );
    await expectSuccess(member.rest('PATCH', `/user_groups/${id}`, { name: 'SAILORS', deactivated: true }));
    await member.mutate(
      'updateUserGroup',
      { userGroupId: id, description: 'Who sails', permissions: { canManage: { new: { groupId: id } } } },
      'userGroup { name }',
    );
    const update = { type: 'user_group', op: 'update', group_id: id };
    expect(await heard()).toEqual([
      { ...update, data: { name: 'SAILORS', can_join_group: groups['members'] } },
      { ...update, data: { description: 'Who sails', can_manage_group: id } },
    ]);
    // Only the members of the group can manage it now, but it has no members.
    await expectRefusal(
      member.rest('PATCH', `/user_groups/${id}`, { name: 'x' }),
      'BAD_REQUEST',
      'Insufficient permission',
    );
  });

  test.concurrent('is refused with an empty, long, reserved or existing name', async () => {
    const { member } = await createOrganization();
    await makeGroup(member, 'Sailors');
    const other = await makeGroup(member, 'Others');
    const cases = [
      ['  ', "User group name can't be empty!"],
      ['a'.repeat(101), 'User group name cannot exceed 100 characters.'],
      ['@sailors', "User group name cannot start with '@'."],
      ['role:sailors', "User group name cannot start with 'role:'."],
      ['user:sailors', "User group name cannot start with 'user:'."],
      ['stream:sailors', "User group name cannot start with 'stream:'."],
      ['channel:sailors', "User group name cannot start with 'channel:'."],
      ['sAILORS', "User group 'sAILORS' already exists."],
    ] as const;
    for (const [name, msg] of cases) {
      const group = { name, description: '', members: [] };
      await expectRefusal(member.rest('POST', '/user_groups/create', group), 'BAD_REQUEST', msg);
      await expectRefusal(member.rest('PATCH', `/user_groups/${other}`, { name }), 'BAD_REQUEST', msg);
    }
    const long = { name: 'x', description: 'a'.repeat(1025), members: [] };
    await expectRefusal(member.rest('POST', '/user_groups/create', long), 'BAD_REQUEST');
  });

  test.concurrent('is created once if several requests with its name arrive at once', async () => {
    const { member } = await createOrganization();
    const names = ['Crew', 'crew', 'CREW', 'cReW'];
    const replies = await Promise.all(
      names.map((name) => member.rest('POST', '/user_groups/create', { name, description: '', members: [] })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  });

  test.concurrent('is refused with unknown members or groups, or with invalid permissions', async () => {
    const { owner, member } = await createOrganization();
    const groups = await roleGroups(member);
    const gone = await makeGroup(owner, 'gone');
    await owner.ok('POST', `/user_groups/${gone}/deactivate`);
    const refused = (more: Parameters, msg: string) =>
      expectRefusal(
        member.rest('POST', '/user_groups/create', { name: 'x', description: '', members: [], ...more }),
        'BAD_REQUEST',
        msg,
      );
    await refused({ members: [NOBODY] }, `Invalid user ID: ${NOBODY}`);
    await refused({ subgroups: [NOBODY] }, `Invalid user group ID: ${NOBODY}`);
    await refused({ subgroups: [gone] }, 'User group is deactivated.');
    await refused({ can_join_group: gone }, 'User group is deactivated.');
    await refused({ can_join_group: NOBODY }, 'Invalid user group');
    for (const name of ['can_add_members_group', 'can_join_group', 'can_manage_group', 'can_remove_members_group']) {
      await refused({ [name]: groups['everyone'] }, `'${name}' setting cannot be set to 'role:everyone' group.`);
    }
    await refused(
      { can_mention_group: groups['internet'] },
      "'can_mention_group' setting cannot be set to 'role:internet' group.",
    );
    const id = await makeGroup(member, 'x', { can_mention_group: groups['nobody'] });
    await expectRefusal(member.rest('PATCH', `/user_groups/${id}`), 'BAD_REQUEST', 'No new data supplied');
    const edit = { can_mention_group: { new: groups['members'], old: groups['everyone'] } };
    const { body } = await member.rest('PATCH', `/user_groups/${id}`, edit);
    expect(body).toMatchObject({ code: 'EXPECTATION_MISMATCH', field_name: 'old' });
  });

  test.concurrent("can be created with the organization's permission, and is hidden from guests", async () => {
    const { owner, member, moderator, guest, bot } = await createOrganization();
    const groups = await roleGroups(owner);
    const id = await makeGroup(bot, 'of a bot');
    await owner.ok('PATCH', '/realm', { can_create_groups: { new: groups['moderators'] } });
    const group = { name: 'x', description: '', members: [] };
    await expectRefusal(member.rest('POST', '/user_groups/create', group), 'BAD_REQUEST', 'Insufficient permission');
    await expectSuccess(moderator.rest('POST', '/user_groups/create', group));
    for (const [method, path, parameters] of [
      ['GET', '/user_groups', {}],
      ['POST', '/user_groups/create', group],
      ['PATCH', `/user_groups/${id}`, { name: 'y' }],
      ['POST', `/user_groups/${id}/deactivate`, {}],
      ['POST', `/user_groups/${id}/members`, { add: [guest.id] }],
      ['GET', `/user_groups/${id}/members`, {}],
      ['GET', `/user_groups/${id}/members/${guest.id}`, {}],
      ['POST', `/user_groups/${id}/subgroups`, { add: [groups['members']] }],
      ['GET', `/user_groups/${id}/subgroups`, {}],
    ] as const) {
      await expectRefusal(
        guest.rest(method, path, parameters),
        'UNAUTHORIZED_PRINCIPAL',
        'Must be an organization member',
      );
    }
    const { errors } = await guest.graphql('{ userGroups { edges { node { name } } } }');
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'UNAUTHORIZED_PRINCIPAL' });
  });
});

describe('role groups', () => {
  test.concurrent('contain the users with the role, and the group of the next higher role', async () => {
    const { owner, administrator, moderator, member, guest, bot } = await createOrganization();
    const { user_groups } = await member.ok('GET', '/user_groups');
    const held = Object.fromEntries(
      user_groups.map(({ name, members: direct, direct_subgroup_ids }: Json) => [
        name,
        [direct, direct_subgroup_ids.map((id: number) => user_groups.find((group: Json) => group.id === id).name)],
      ]),
    );
    expect(held).toEqual({
      'role:internet': [[], ['role:everyone']],
      'role:everyone': [ids(guest), ['role:members']],
      'role:members': [ids(member, bot), ['role:fullmembers']],
      'role:fullmembers': [ids(member, bot), ['role:moderators']],
      'role:moderators': [ids(moderator), ['role:administrators']],
      'role:administrators': [ids(administrator), ['role:owners']],
      'role:owners': [ids(owner), []],
      'role:nobody': [[], []],
    });
    const groups = await roleGroups(member);
    expect(await memberIds(member, groups['administrators'] ?? 0)).toEqual(ids(owner, administrator));
    expect((await member.ok('GET', `/user_groups/${groups['moderators']}/subgroups`)).subgroups).toEqual(
      [groups['administrators'] ?? 0, groups['owners'] ?? 0].sort((a, b) => a - b),
    );
    const { subgroups: direct } = await member.ok('GET', `/user_groups/${groups['moderators']}/subgroups`, {
      direct_subgroup_only: true,
    });
    expect(direct).toEqual([groups['administrators']]);
  });

  test.concurrent('cannot be changed', async () => {
    const { owner, member } = await createOrganization();
    const groups = await roleGroups(owner);
    const group = groups['members'] ?? 0;
    const own = await makeGroup(owner, 'own');
    for (const reply of [
      owner.rest('PATCH', `/user_groups/${group}`, { name: 'x' }),
      owner.rest('POST', `/user_groups/${group}/deactivate`),
      members(owner, group, { add: [member.id] }),
      subgroups(owner, group, { add: [own] }),
    ]) {
      await expectRefusal(reply, 'BAD_REQUEST', 'Insufficient permission');
    }
  });

  test.concurrent('follow role changes, new users, and the waiting period', async () => {
    const { owner, member, guest, signUp } = await createOrganization();
    const groups = await roleGroups(owner);
    const heard = await guest.receiving({ event_types: ['user_group'] });
    await owner.ok('PATCH', `/users/${member.id}`, { role: 300 });
    await owner.ok('PATCH', `/users/${member.id}`, { role: 600 });
    const ann = await signUp('Ann', 'administrator');
    const bob = await signUp('Bob');
    await owner.ok('PATCH', '/realm', { waiting_period_threshold: 3 });
    const change = (op: string, group: string, ...people: Person[]) => ({
      type: 'user_group',
      op: `${op}_members`,
      group_id: groups[group],
      user_ids: people.length === 0 ? expect.any(Array) : ids(...people),
    });
    expect(await heard()).toEqual([
      change('remove', 'members', member),
      change('remove', 'fullmembers', member),
      change('add', 'moderators', member),
      change('remove', 'moderators', member),
      change('add', 'everyone', member),
      change('add', 'administrators', ann),
      change('add', 'members', bob),
      change('add', 'fullmembers', bob),
      change('remove', 'fullmembers'),
    ]);
    expect(await memberIds(owner, groups['fullmembers'] ?? 0, { direct_member_only: true })).toEqual([]);
  });

  test.concurrent('within other groups contain their current members', async () => {
    const { owner, administrator, moderator, member, signUp } = await createOrganization();
    const groups = await roleGroups(owner);
    const id = await makeGroup(owner, 'x', { subgroups: [groups['fullmembers']] });
    const outer = await makeGroup(owner, 'outer', { subgroups: [id] });
    await owner.ok('PATCH', '/realm', { waiting_period_threshold: 1 });
    // The account of a member is too new to be a full member, so only higher roles are full members.
    expect(await memberIds(owner, outer)).toEqual(ids(owner, administrator, moderator));
    await owner.ok('PATCH', `/users/${member.id}`, { role: 300 });
    const newcomer = await signUp('Ann', 'moderator');
    expect(await memberIds(owner, outer)).toEqual(ids(owner, administrator, moderator, member, newcomer));
    await owner.ok('PATCH', `/users/${newcomer.id}`, { role: 400 });
    expect(await memberIds(owner, outer)).toEqual(ids(owner, administrator, moderator, member));
    await owner.ok('PATCH', '/realm', { waiting_period_threshold: 0 });
    expect(await memberIds(owner, outer)).toContain(newcomer.id);
  });
});

describe('members', () => {
  test.concurrent('can be added and removed by users with the permissions', async () => {
    const { owner, administrator, moderator, member, guest } = await createOrganization({ ann: 'member' });
    const groups = await roleGroups(owner);
    const just = (person: Person) => ({ direct_members: [person.id], direct_subgroups: [] });
    const id = await makeGroup(owner, 'x', {
      can_add_members_group: just(member),
      can_join_group: groups['moderators'],
      can_leave_group: groups['nobody'],
      can_remove_members_group: just(moderator),
      can_manage_group: groups['administrators'],
    });
    const no = ['BAD_REQUEST', 'Insufficient permission'] as const;
    await expectRefusal(members(moderator, id, { add: [guest.id] }), ...no);
    await expectSuccess(members(moderator, id, { add: [moderator.id] }));
    await expectRefusal(members(moderator, id, { add: [member.id, moderator.id] }), ...no);
    await expectSuccess(members(member, id, { add: [guest.id, member.id] }));
    await expectRefusal(members(member, id, { delete: [member.id] }), ...no);
    await expectSuccess(members(moderator, id, { delete: [guest.id, moderator.id] }));
    // The permission to add members also permits adding subgroups. Removing subgroups requires another permission.
    await expectSuccess(subgroups(member, id, { add: [groups['owners']] }));
    await expectRefusal(subgroups(member, id, { delete: [groups['owners']] }), ...no);
    await expectRefusal(members(moderator, id, { delete_subgroups: [groups['owners']] }), ...no);
    await expectSuccess(
      members(administrator, id, {
        ...{ add: [guest.id], delete: [member.id], delete_subgroups: [groups['owners']] },
        add_subgroups: [groups['moderators']],
      }),
    );
    expect(await memberIds(owner, id, { direct_member_only: true })).toEqual(ids(guest));
    // The permission of the organization to manage all groups includes all permissions of each group.
    await owner.ok('PATCH', `/user_groups/${id}`, { can_manage_group: { new: groups['nobody'] } });
    await expectRefusal(members(administrator, id, { delete: [guest.id] }), ...no);
    await expectSuccess(members(owner, id, { delete: [guest.id] }));
    await owner.ok('PATCH', '/realm', { can_manage_all_groups: { new: groups['members'] } });
    await expectSuccess(members(member, id, { add: [guest.id] }));
  });

  test.concurrent('are refused if unknown, already in the group, or not in it, without any change', async () => {
    const { owner, member, guest } = await createOrganization();
    const id = await makeGroup(owner, 'x', { members: [member.id] });
    await expectRefusal(
      members(owner, id, { add: [] }),
      'BAD_REQUEST',
      'Nothing to do. Specify at least one of "add", "delete", "add_subgroups" or "delete_subgroups".',
    );
    const refused = (change: Parameters, msg: string) => expectRefusal(members(owner, id, change), 'BAD_REQUEST', msg);
    await refused({ add: [guest.id, NOBODY] }, `Invalid user ID: ${NOBODY}`);
    await refused({ delete: [-1] }, 'Invalid user ID: -1');
    await refused({ add: [guest.id, member.id] }, `User ${member.id} is already a member of this group`);
    await refused({ add: [guest.id], delete: [owner.id] }, `There is no member '${owner.id}' in this user group`);
    await refused({ add: [guest.id], add_subgroups: [NOBODY] }, `Invalid user group ID: ${NOBODY}`);
    expect(await memberIds(owner, id)).toEqual([member.id]);
    await expectRefusal(members(owner, NOBODY, { add: [guest.id] }), 'BAD_REQUEST', 'Invalid user group');
    await expectRefusal(owner.rest('GET', `/user_groups/${id}/members/${NOBODY}`), 'BAD_REQUEST', 'No such user');
    await expectRefusal(owner.rest('GET', `/user_groups/${NOBODY}/members`), 'BAD_REQUEST', 'Invalid user group');
  });

  test.concurrent('are read of a group by id or by name in any case, deactivated or not, by all but guests', async () => {
    const { owner, member, guest } = await createOrganization();
    const other = await createOrganization();
    const id = await makeGroup(owner, 'Crew_%', {});
    await makeGroup(other.owner, 'Elsewhere', {});
    const find = async (by: Person, name: string) =>
      (await by.query('query ($name: String!) { userGroup(by: { name: $name }) { databaseId } }', { name })).userGroup;
    for (const name of ['Crew_%', ' cREW_% ']) expect(await find(member, name)).toEqual({ databaseId: id });
    expect(await find(guest, 'Crew_%')).toBeNull();
    for (const name of ['Crew__', 'Crew%', '', 'Crew_%\0', '\ud800', 'Elsewhere'])
      expect(await find(owner, name)).toBeNull();
    await owner.ok('POST', `/user_groups/${id}/deactivate`);
    expect(await find(member, 'crew_%')).toEqual({ databaseId: id });
    const { userGroup } = await owner.query('{ userGroup(by: { name: "role:members" }) { isRoleGroup } }');
    expect(userGroup).toEqual({ isRoleGroup: true });
  });

  test.concurrent('can be checked one by one, directly and at any depth', async () => {
    const { owner, member, moderator } = await createOrganization();
    const inner = await makeGroup(owner, 'inner', { members: [member.id] });
    const outer = await makeGroup(owner, 'outer', { members: [moderator.id], subgroups: [inner] });
    const isIn = async (person: Person, direct: boolean) =>
      (await owner.ok('GET', `/user_groups/${outer}/members/${person.id}`, { direct_member_only: direct }))
        .is_user_group_member;
    expect([await isIn(member, false), await isIn(member, true)]).toEqual([true, false]);
    expect([await isIn(moderator, false), await isIn(moderator, true)]).toEqual([true, true]);
    expect(await isIn(owner, false)).toBe(false);
    const { userGroup } = await owner.query(`{ userGroup(by: { id: "${globalId('UserGroup', outer)}" }) {
      deep: hasMember(userId: "${globalId('User', member.id)}") direct: hasMember(userId: "${globalId('User', member.id)}", directOnly: true)
      first: members(first: 1) { edges { node { databaseId } } pageInfo { hasNextPage endCursor } }
    } }`);
    const [least, most] = ids(member, moderator);
    expect(userGroup).toMatchObject({ deep: true, direct: false, first: { edges: [{ node: { databaseId: least } }] } });
    const { endCursor } = userGroup.first.pageInfo;
    const next = await owner.query(`{ userGroup(by: { id: "${globalId('UserGroup', outer)}" }) {
      members(first: 5, after: "${endCursor}") { edges { node { databaseId } } pageInfo { hasNextPage } } } }`);
    expect(next.userGroup.members).toEqual({
      edges: [{ node: { databaseId: most } }],
      pageInfo: { hasNextPage: false },
    });
  });

  test.concurrent('receive a message from the service, except bots and the acting user', async () => {
    const { owner, member, bot } = await createOrganization();
    const last = async () => {
      const { messages } = await member.ok('GET', '/messages', {
        ...{ anchor: 'newest', num_before: 1, num_after: 0, narrow: [['is', 'dm']], apply_markdown: false },
      });
      return messages.at(-1)?.content;
    };
    const id = await makeGroup(owner, 'Sailors', { members: [owner.id, member.id, bot.id] });
    expect(await last()).toBe(`@_**owner|${owner.id}** added you to the group @_*Sailors*.`);
    await owner.ok('POST', `/user_groups/${id}/members`, { delete: [member.id] });
    expect(await last()).toBe(`@_**owner|${owner.id}** removed you from the group @_*Sailors*.`);
    const own = { ...{ anchor: 'newest', num_before: 5, num_after: 0 }, narrow: [['is', 'dm']] };
    expect((await owner.ok('GET', '/messages', own)).messages).toEqual([]);
  });
});

test.concurrent('deactivated users are in no list, and return to all their groups when reactivated', async () => {
  const { owner, member, guest, moderator } = await createOrganization();
  const groups = await roleGroups(owner);
  const inner = await makeGroup(owner, 'inner', { members: [member.id, guest.id] });
  const outer = await makeGroup(owner, 'outer', { subgroups: [inner] });
  await owner.ok('DELETE', `/users/${member.id}`);
  expect(await memberIds(owner, inner)).toEqual([guest.id]);
  expect(await memberIds(owner, outer)).toEqual([guest.id]);
  expect(await memberIds(owner, groups['members'] ?? 0)).not.toContain(member.id);
  await expectRefusal(members(owner, outer, { add: [member.id] }), 'BAD_REQUEST', `Invalid user ID: ${member.id}`);
  const heard = await moderator.receiving({ event_types: ['user_group'] });
  await owner.ok('POST', `/users/${member.id}/reactivate`);
  const joined = [groups['members'], groups['fullmembers'], inner].map((group_id) => ({
    ...{ type: 'user_group', op: 'add_members', group_id, user_ids: [member.id] },
  }));
  expect(await heard()).toEqual(joined);
  expect(await memberIds(owner, outer)).toEqual(ids(member, guest));
});

describe('groups within groups', () => {
  test.concurrent('can be added and removed in both APIs, with events', async () => {
    const { owner, guest } = await createOrganization();
    const groups = await roleGroups(owner);
    const [outer, inner] = [await makeGroup(owner, 'outer'), await makeGroup(owner, 'inner')];
    const heard = await guest.receiving({ event_types: ['user_group'] });
    await expectSuccess(subgroups(owner, outer, { add: [inner, groups['guests'] ?? groups['members']] }));
    await expectSuccess(subgroups(owner, outer, { add: [groups['owners']], delete: [inner] }));
    const change = { userGroupId: outer, addSubgroupIds: [inner], removeSubgroupIds: [groups['owners']] };
    await owner.mutate('updateUserGroupMembers', change, 'userGroup { name }');
    const event = (op: string, ...subgroupIds: unknown[]) => ({
      ...{ type: 'user_group', op: `${op}_subgroups`, group_id: outer, direct_subgroup_ids: subgroupIds },
    });
    expect(await heard()).toEqual([
      event('add', inner, groups['members']),
      event('add', groups['owners']),
      event('remove', inner),
      event('add', inner),
      event('remove', groups['owners']),
    ]);
    const { subgroups: all } = await owner.ok('GET', `/user_groups/${outer}/subgroups`);
    const within = ['members', 'fullmembers', 'moderators', 'administrators', 'owners'].map(
      (name) => groups[name] ?? 0,
    );
    expect(all).toEqual([...within, inner].sort((a, b) => a - b));
  });

  test.concurrent('are refused if they are subgroups already, are not, or would form a cycle', async () => {
    const { owner } = await createOrganization();
    const [a, b, c] = [await makeGroup(owner, 'a'), await makeGroup(owner, 'b'), await makeGroup(owner, 'c')];
    await expectSuccess(subgroups(owner, a, { add: [b] }));
    await expectSuccess(subgroups(owner, b, { add: [c] }));
    const refused = (group: number, change: Parameters, msg: string) =>
      expectRefusal(subgroups(owner, group, change), 'BAD_REQUEST', msg);
    const circle = (group: number) => `User group ${group} is already a subgroup of one of the passed subgroups.`;
    await refused(a, {}, 'Nothing to do. Specify at least one of "add" or "delete".');
    await refused(a, { add: [], delete: [] }, 'Nothing to do. Specify at least one of "add" or "delete".');
    await refused(a, { add: [NOBODY] }, `Invalid user group ID: ${NOBODY}`);
    await refused(a, { add: [b] }, `User group ${b} is already a subgroup of this group.`);
    await refused(a, { add: [a] }, circle(a));
    await refused(c, { add: [a] }, circle(c));
    await refused(b, { add: [a] }, circle(b));
    await refused(a, { delete: [c] }, `User group ${c} is not a subgroup of this group.`);
    await refused(NOBODY, { add: [c] }, 'Invalid user group');
    // If one part of a request is refused, none of it is applied.
    await refused(a, { add: [c], delete: [NOBODY] }, `User group ${NOBODY} is not a subgroup of this group.`);
    expect((await owner.ok('GET', `/user_groups/${a}/subgroups`, { direct_subgroup_only: true })).subgroups).toEqual([
      b,
    ]);
  });

  test.concurrent('never form a cycle, even through two concurrent changes', async () => {
    const { owner, administrator } = await createOrganization();
    const groups = await roleGroups(owner);
    await owner.ok('PATCH', '/realm', { can_manage_all_groups: { new: groups['administrators'] } });
    for (let i = 0; i < 5; i++) {
      const [a, b] = [await makeGroup(owner, `a ${i}`), await makeGroup(owner, `b ${i}`)];
      const replies = await Promise.all([subgroups(owner, a, { add: [b] }), subgroups(administrator, b, { add: [a] })]);
      expect(replies.map(({ status }) => status).sort()).toEqual([200, 400]);
    }
  });

  test.concurrent('hold exactly whom a client works out from the lists, after many changes', async () => {
    const { owner, administrator, moderator, member, guest, bot } = await createOrganization();
    const groups = await roleGroups(owner);
    const people = [administrator, moderator, member, guest, bot];
    const made: number[] = [];
    for (let i = 0; i < 5; i++) made.push(await makeGroup(owner, `group ${i}`));
    let seed = 11;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    const one = <T>(choices: readonly T[]) => choices[random(choices.length)] as T;
    const within = [...made, groups['moderators'] ?? 0, groups['fullmembers'] ?? 0];
    const acts = [
      () => members(owner, one(made), { add: [one(people).id] }),
      () => members(owner, one(made), { delete: [one(people).id] }),
      () => subgroups(owner, one(made), { add: [one(within)] }),
      () => subgroups(owner, one(made), { add: [one(within)] }),
      () => subgroups(owner, one(made), { delete: [one(within)] }),
      () => owner.rest('PATCH', `/users/${one([member, moderator]).id}`, { role: one([300, 400, 600]) }),
    ];
    for (let i = 0; i < 60; i++) await one(acts)();
    const { user_groups } = await owner.ok('GET', '/user_groups');
    const byId = new Map<number, Json>(user_groups.map((group: Json) => [group.id, group]));
    const reach = (id: number): number[] => {
      const group = byId.get(id);
      return [...group.members, ...group.direct_subgroup_ids.flatMap(reach)];
    };
    const sizes: number[] = [];
    for (const id of byId.keys()) {
      const held = [...new Set(reach(id))].sort((a, b) => a - b);
      sizes.push(held.length);
      expect(await memberIds(owner, id), byId.get(id).name).toEqual(held);
    }
    expect(Math.max(...sizes.slice(8))).toBeGreaterThan(2);
  });
});

describe('a deactivated group', () => {
  test.concurrent('is not listed with the others, does not show its members, and can be reactivated', async () => {
    const { owner, member } = await createOrganization();
    const id = await makeGroup(owner, 'x', { members: [member.id] });
    await expectRefusal(member.rest('POST', `/user_groups/${id}/deactivate`), 'BAD_REQUEST', 'Insufficient permission');
    const capable = { notification_settings_null: true, include_deactivated_groups: true };
    const told = await member.receiving({ event_types: ['user_group'], client_capabilities: capable });
    const untold = await member.receiving({ event_types: ['user_group'] });
    await owner.ok('POST', `/user_groups/${id}/deactivate`);
    await expectRefusal(
      owner.rest('POST', `/user_groups/${id}/deactivate`),
      'BAD_REQUEST',
      'User group is deactivated.',
    );
    const listed = async (parameters: Parameters = {}) =>
      (await member.ok('GET', '/user_groups', parameters)).user_groups.find((group: Json) => group.id === id);
    expect(await listed()).toBeUndefined();
    expect(await listed({ include_deactivated_groups: true })).toMatchObject({
      deactivated: true,
      members: [member.id],
    });
    const { realm_user_groups } = await member.register({
      fetch_event_types: ['realm_user_groups'],
      client_capabilities: capable,
    });
    expect(realm_user_groups.at(-1)).toMatchObject({ id, deactivated: true });
    for (const path of ['members', `members/${member.id}`, 'subgroups']) {
      await expectRefusal(owner.rest('GET', `/user_groups/${id}/${path}`), 'BAD_REQUEST', 'User group is deactivated.');
    }
    // A deactivated group can still be renamed, and get members and subgroups.
    const inner = await makeGroup(owner, 'inner');
    await owner.ok('PATCH', `/user_groups/${id}`, { name: 'y' });
    await expectSuccess(members(owner, id, { add: [owner.id] }));
    await expectSuccess(subgroups(owner, id, { add: [inner] }));
    await owner.ok('PATCH', `/user_groups/${id}`, { deactivated: false });
    const ops = async (heard: () => Promise<Json[]>) =>
      (await heard()).filter(({ group_id, group }) => (group_id ?? group.id) === id).map(({ op, data }) => [op, data]);
    expect(await ops(told)).toEqual([
      ['update', { deactivated: true }],
      ['update', { name: 'y' }],
      ['add_members', undefined],
      ['add_subgroups', undefined],
      ['update', { deactivated: false }],
    ]);
    expect(await ops(untold)).toEqual([
      ['remove', undefined],
      ['add', undefined],
    ]);
    expect(await listed()).toMatchObject({ name: 'y', members: ids(owner, member), direct_subgroup_ids: [inner] });
  });

  test.concurrent('must not be in use: every use is reported as an objection, in both APIs', async () => {
    const { owner } = await createOrganization();
    const id = await makeGroup(owner, 'used');
    const outer = await makeGroup(owner, 'outer', { subgroups: [id], can_mention_group: id, can_join_group: id });
    const channel = await owner.ok('POST', '/channels/create', {
      ...{ name: 'general', subscribers: [], can_send_message_group: id },
      can_resolve_topics_group: { direct_members: [owner.id], direct_subgroups: [id] },
    });
    await owner.ok('PATCH', '/realm', { can_create_bots_group: { new: id } });
    const { status, body } = await owner.rest('POST', `/user_groups/${id}/deactivate`);
    expect([status, body]).toEqual([
      400,
      {
        result: 'error',
        code: 'CANNOT_DEACTIVATE_GROUP_IN_USE',
        msg: 'Cannot deactivate user group in use.',
        objections: [
          { type: 'subgroup', supergroup_ids: [outer] },
          { type: 'channel', channel_id: channel.id, settings: ['can_resolve_topics_group', 'can_send_message_group'] },
          { type: 'user_group', group_id: outer, settings: ['can_join_group', 'can_mention_group'] },
          { type: 'realm', settings: ['can_create_bots_group'] },
        ],
      },
    ]);
    const { data } =
      await owner.graphql(`mutation { deactivateUserGroup(input: { userGroupId: "${globalId('UserGroup', id)}" }) {
      ... on CannotDeactivateGroupInUseError { code
        objections { kind supergroups { databaseId } channel { databaseId } userGroup { databaseId } permissions } } } }`);
    expect(data.deactivateUserGroup).toMatchObject({
      code: 'CANNOT_DEACTIVATE_GROUP_IN_USE',
      objections: [
        { kind: 'SUBGROUP', supergroups: [{ databaseId: outer }], channel: null, userGroup: null, permissions: [] },
        {
          kind: 'CHANNEL',
          channel: { databaseId: channel.id },
          permissions: ['CAN_RESOLVE_TOPICS', 'CAN_SEND_MESSAGE'],
        },
        { kind: 'USER_GROUP', userGroup: { databaseId: outer }, permissions: ['CAN_JOIN', 'CAN_MENTION'] },
        { kind: 'ORGANIZATION', permissions: ['CAN_CREATE_BOTS'] },
      ],
    });
    // A permission in the organization's settings also prevents deactivation.
    await owner.ok('PATCH', '/realm', { can_create_bots_group: { new: outer } });
    await expectRefusal(owner.rest('POST', `/user_groups/${outer}/deactivate`), 'CANNOT_DEACTIVATE_GROUP_IN_USE');
  });
});

describe('permissions by group', () => {
  test.concurrent('are held by its members at any depth, as soon as they are added', async () => {
    const { owner, member, guest } = await createOrganization();
    const inner = await makeGroup(owner, 'inner');
    const outer = await makeGroup(owner, 'outer', { subgroups: [inner] });
    await owner.ok('PATCH', '/realm', { can_create_public_channel_group: { new: outer } });
    const create = (person: Person, name: string) => person.rest('POST', '/channels/create', { name, subscribers: [] });
    await expectRefusal(create(member, 'one'), 'BAD_REQUEST', 'Insufficient permission');
    await owner.ok('POST', `/user_groups/${inner}/members`, { add: [member.id, guest.id] });
    await expectSuccess(create(member, 'one'));
    // A group does not give guests a permission that must not be given to everyone.
    await expectRefusal(create(guest, 'two'), 'UNAUTHORIZED_PRINCIPAL');
    await owner.ok('POST', `/user_groups/${outer}/subgroups`, { delete: [inner] });
    await expectRefusal(create(member, 'three'), 'BAD_REQUEST', 'Insufficient permission');
  });

  test.concurrent('apply to guests in channels, if everyone can hold them', async () => {
    const { owner, member, guest } = await createOrganization();
    const id = await makeGroup(owner, 'writers', { members: [guest.id] });
    const channel = await owner.ok('POST', '/channels/create', {
      ...{ name: 'general', subscribers: [guest.id, member.id], can_send_message_group: id },
    });
    const send = (person: Person) =>
      person.rest('POST', '/messages', { type: 'channel', to: channel.id, topic: 'x', content: 'hello' });
    await expectSuccess(send(guest));
    await expectRefusal(send(member), 'BAD_REQUEST', 'You do not have permission to post in this channel.');
    await owner.ok('POST', `/user_groups/${id}/members`, { add: [member.id], delete: [guest.id] });
    await expectSuccess(send(member));
    await expectRefusal(send(guest), 'BAD_REQUEST', 'You do not have permission to post in this channel.');
  });

  test.concurrent('show private channels to users who join the group, and hide them from users who leave', async () => {
    const { owner, member, moderator, guest } = await createOrganization();
    const inner = await makeGroup(owner, 'inner', { members: [moderator.id, guest.id] });
    const outer = await makeGroup(owner, 'outer', { subgroups: [inner] });
    const { id } = await owner.ok('POST', '/channels/create', {
      ...{ name: 'hidden', subscribers: [owner.id], invite_only: true, can_subscribe_group: outer },
    });
    const sees = async (person: Person) => (await person.rest('GET', `/streams/${id}`)).status === 200;
    expect([await sees(moderator), await sees(member), await sees(guest)]).toEqual([true, false, false]);
    const heard = await member.receiving({ event_types: ['stream', 'subscription'], include_subscribers: 'true' });
    const others = await guest.receiving({ event_types: ['stream', 'subscription'] });
    await owner.ok('POST', `/user_groups/${inner}/members`, { add: [member.id] });
    expect(await sees(member)).toBe(true);
    // The member receives events about the channel as long as the group gives them access to it.
    await owner.ok('PATCH', `/streams/${id}`, { description: 'for the crew' });
    await owner.ok('POST', `/user_groups/${outer}/subgroups`, { delete: [inner] });
    expect(await sees(member)).toBe(false);
    await owner.ok('PATCH', `/streams/${id}`, { description: 'for nobody' });
    expect((await heard()).map(({ type, op, property }: Json) => [type, op, property])).toEqual([
      ['stream', 'create', undefined],
      ['subscription', 'peer_add', undefined],
      ['stream', 'update', 'description'],
      ['stream', 'delete', undefined],
    ]);
    expect(await others()).toEqual([]);
  });
});

test.concurrent('a waiting period hides private channels from users who are no longer full members', async () => {
  const { owner, member, guest } = await createOrganization();
  const { user_groups } = await owner.ok('GET', '/user_groups');
  const full = user_groups.find(({ name }: Json) => name === 'role:fullmembers').id;
  const crew = await makeGroup(owner, 'crew', { subgroups: [full] });
  const made: number[] = [];
  for (const [name, can_subscribe_group] of Object.entries({ direct: full, nested: crew })) {
    const channel = { name, subscribers: [owner.id], invite_only: true, can_subscribe_group };
    made.push((await owner.ok('POST', '/channels/create', channel)).id);
  }
  const heard = await member.receiving({ event_types: ['stream'] });
  const others = [
    await owner.receiving({ event_types: ['stream'] }),
    await guest.receiving({ event_types: ['stream'] }),
  ];
  const seen = async () => (await member.register()).streams.map(({ stream_id }: Json) => stream_id);
  expect(await seen()).toEqual(made);
  await owner.ok('PATCH', '/realm', { waiting_period_threshold: 10 });
  expect(await seen()).toEqual([]);
  await owner.ok('PATCH', '/realm', { waiting_period_threshold: 0 });
  expect(await seen()).toEqual(made);
  const told = (await heard()).map(({ op, streams }: Json) => [op, ...streams.map((stream: Json) => stream.stream_id)]);
  expect(told).toEqual([...made.map((id) => ['delete', id]), ...made.map((id) => ['create', id])]);
  for (const hear of others) expect(await hear()).toEqual([]);
});

describe('mentions of a group', () => {
  const flagsOf = async (person: Person, id: number) => {
    const parameters = { anchor: id, num_before: 0, num_after: 0 };
    return (await person.ok('GET', '/messages', parameters)).messages.at(-1)?.flags ?? [];
  };

  async function crew() {
    const made = await createOrganization({ ann: 'member', bob: 'member' });
    const { owner, member, ann, bob, guest } = made;
    const inner = await makeGroup(owner, 'inner', { members: [ann.id, guest.id] });
    const group = await makeGroup(owner, 'Crew', { members: [bob.id], subgroups: [inner] });
    const { id: channel } = await owner.ok('POST', '/channels/create', {
      ...{ name: 'general', subscribers: ids(owner, member, ann, guest) },
    });
    const send = (person: Person, content: string) =>
      person.rest('POST', '/messages', { type: 'channel', to: channel, topic: 'x', content });
    return { ...made, inner, group, channel, send };
  }

  test.concurrent('reach the members at any depth who receive the message', async () => {
    const { owner, member, ann, bob, guest, group, send } = await crew();
    const { body } = await send(member, 'Ahoy @*crew*');
    expect(await flagsOf(ann, body.id)).toEqual(['mentioned']);
    expect(await flagsOf(guest, body.id)).toEqual(['mentioned']);
    expect(await flagsOf(owner, body.id)).toEqual([]);
    // Bob is in the group, but is not subscribed to the channel.
    expect(await flagsOf(bob, body.id)).not.toContain('mentioned');
    const { message } = await ann.ok('GET', `/messages/${body.id}`);
    expect(message.content).toBe(
      `<p>Ahoy <span class="user-group-mention" data-user-group-id="${group}">@Crew</span></p>`,
    );
    const silent = await send(member, 'Ahoy @_*crew*');
    expect(await flagsOf(ann, silent.body.id)).toEqual([]);
    const direct = await member.ok('POST', '/messages', { type: 'direct', to: ids(bob, owner), content: '@*crew*' });
    expect(await flagsOf(bob, direct.id)).toEqual(['mentioned']);
    expect(await flagsOf(owner, direct.id)).toEqual([]);
    // Editing a message can add and remove mentions.
    await member.ok('PATCH', `/messages/${silent.body.id}`, { content: 'Ahoy @*crew*' });
    expect(await flagsOf(ann, silent.body.id)).toEqual(['mentioned']);
    await member.ok('PATCH', `/messages/${silent.body.id}`, { content: 'Ahoy' });
    expect(await flagsOf(ann, silent.body.id)).toEqual([]);
  });

  test.concurrent('require its permission, and are silent when it is deactivated', async () => {
    const { owner, member, ann, group, inner, send } = await crew();
    const groups = await roleGroups(owner);
    await owner.ok('PATCH', `/user_groups/${group}`, { can_mention_group: { new: inner } });
    const msg = "You are not allowed to mention user group 'Crew'.";
    await expectRefusal(send(member, '@*crew*'), 'BAD_REQUEST', msg);
    await expectSuccess(send(member, '@_*crew* and `@*crew*`'));
    await expectSuccess(send(ann, '@*crew*'));
    await expectRefusal(
      send(owner, '@*role:members*'),
      'BAD_REQUEST',
      "You are not allowed to mention user group 'role:members'.",
    );
    await owner.ok('PATCH', `/user_groups/${group}`, { can_mention_group: { new: groups['nobody'] } });
    await owner.ok('POST', `/user_groups/${group}/deactivate`);
    const { body } = await send(member, '@*crew*');
    expect(await flagsOf(ann, body.id)).toEqual([]);
    const { message } = await ann.ok('GET', `/messages/${body.id}`);
    expect(message.content).toContain('user-group-mention silent');
  });
});
