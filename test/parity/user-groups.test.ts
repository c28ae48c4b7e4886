import { describe, expect, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who, type World } from '../helpers/both-doors.ts';
import { type Act, expectParity } from '../helpers/equivalents.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';

describe('user groups', () => {
  test.concurrent('POST /user_groups/create and createUserGroup', async () => {
    const act = (who: Who, fields: (world: World) => object, code?: string) =>
      bothDoors('POST', '/user_groups/create', 'createUserGroup')(
        who,
        (world) => ({ name: ' Third ', description: 'x', members: [], ...fields(world) }),
        (world) => {
          const {
            members: memberIds = [],
            subgroups: subgroupIds,
            ...texts
          } = fields(world) as Record<string, unknown>;
          return { name: ' Third ', description: 'x', memberIds, subgroupIds, ...texts };
        },
        code,
      );
    await expectParity(furnish, {
      'one with people and groups': act('owner', ({ owner, userGroups }) => ({
        members: [owner.id],
        subgroups: [userGroups[0]],
      })),
      'a name in use': act('owner', () => ({ name: 'SAILORS' }), 'BAD_REQUEST'),
      'a blank name': act('owner', () => ({ name: ' ' }), 'BAD_REQUEST'),
      'a user who is not there': act('owner', () => ({ members: [NOBODY] }), 'BAD_REQUEST'),
      'by a guest': act('guest', () => ({}), 'UNAUTHORIZED_PRINCIPAL'),
    });
  });

  test.concurrent('PATCH /user_groups/{id}, POST /user_groups/{id}/deactivate and their mutations', async () => {
    const act = (who: Who, fields: object, code?: string, id = ({ userGroups }: World) => userGroups[0]) =>
      bothDoors('PATCH', (world) => `/user_groups/${id(world)}`, 'updateUserGroup')(
        who,
        () => fields,
        (world) => ({ userGroupId: id(world), ...fields }),
        code,
      );
    const reactivate = (who: Who, code?: string, id = ({ userGroups }: World) => userGroups[0]) =>
      bothDoors('PATCH', (world) => `/user_groups/${id(world)}`, 'reactivateUserGroup')(
        who,
        () => ({ deactivated: false }),
        (world) => ({ userGroupId: id(world) }),
        code,
      );
    const deactivate = (who: Who, code?: string) =>
      bothDoors('POST', ({ userGroups }) => `/user_groups/${userGroups[0]}/deactivate`, 'deactivateUserGroup')(
        who,
        () => ({}),
        ({ userGroups }) => ({ userGroupId: userGroups[0] }),
        code,
      );
    const joined = (rest: (world: World) => object, graphql: (world: World) => object, code?: string): Act<World> =>
      bothDoors('PATCH', ({ userGroups }) => `/user_groups/${userGroups[0]}`, 'updateUserGroup')(
        'owner',
        (world) => ({ can_join_group: rest(world) }),
        (world) => ({ userGroupId: world.userGroups[0], permissions: { canJoin: graphql(world) } }),
        code,
      );
    await expectParity(furnish, {
      'name and description': act('owner', { name: 'Crew', description: 'Who sails' }),
      'a permission': joined(
        ({ userGroups }) => ({ new: userGroups[1] }),
        ({ userGroups }) => ({ new: { groupId: userGroups[1] } }),
      ),
      'one that is another': joined(
        ({ userGroups }) => ({ new: userGroups[1], old: userGroups[0] }),
        ({ userGroups }) => ({ new: { groupId: userGroups[1] }, old: { groupId: userGroups[0] } }),
        'EXPECTATION_MISMATCH',
      ),
      nothing: act('owner', {}, 'BAD_REQUEST'),
      'a name in use': act('owner', { name: 'captains' }, 'BAD_REQUEST'),
      'by a member': act('member', { name: 'x' }, 'BAD_REQUEST'),
      'one that is not there': act('owner', { name: 'x' }, 'BAD_REQUEST', () => NOBODY),
      'deactivated by a guest': deactivate('guest', 'UNAUTHORIZED_PRINCIPAL'),
      deactivated: deactivate('owner'),
      'deactivated again': deactivate('owner', 'BAD_REQUEST'),
      'reactivated by a member': reactivate('member', 'BAD_REQUEST'),
      'reactivated, not there': reactivate('owner', 'BAD_REQUEST', () => NOBODY),
      reactivated: reactivate('owner'),
      'reactivated again': reactivate('owner'),
    });
  });

  test.concurrent('POST /user_groups/{id}/members, /subgroups and their mutations', async () => {
    const change = (who: Who, fields: (world: World) => object, code?: string) =>
      bothDoors('POST', ({ userGroups }) => `/user_groups/${userGroups[0]}/members`, 'updateUserGroupMembers')(
        who,
        fields,
        (world) => {
          const { add, delete: remove, add_subgroups, delete_subgroups } = fields(world) as Record<string, unknown>;
          const people = { addMemberIds: add, removeMemberIds: remove };
          const groups = { addSubgroupIds: add_subgroups, removeSubgroupIds: delete_subgroups };
          return { userGroupId: world.userGroups[0], ...people, ...groups };
        },
        code,
      );
    const nest = (who: Who, fields: (world: World) => object, code?: string) =>
      bothDoors('POST', ({ userGroups }) => `/user_groups/${userGroups[0]}/subgroups`, 'updateUserGroupMembers')(
        who,
        fields,
        (world) => {
          const { add, delete: remove } = fields(world) as Record<string, unknown>;
          return { userGroupId: world.userGroups[0], addSubgroupIds: add, removeSubgroupIds: remove };
        },
        code,
      );
    await expectParity(furnish, {
      'users and groups come': change('owner', ({ owner, userGroups }) => ({
        add: [owner.id],
        add_subgroups: [userGroups[1]],
      })),
      'one comes again': change('owner', ({ owner }) => ({ add: [owner.id] }), 'BAD_REQUEST'),
      'a circle': nest('owner', ({ userGroups }) => ({ add: [userGroups[0]] }), 'BAD_REQUEST'),
      'nothing given': nest('owner', () => ({}), 'BAD_REQUEST'),
      'by a member': nest('member', ({ owners }) => ({ add: [owners] }), 'BAD_REQUEST'),
      'by a guest': nest('guest', ({ owners }) => ({ add: [owners] }), 'UNAUTHORIZED_PRINCIPAL'),
      'groups come and go': nest('owner', ({ owners, userGroups }) => ({ add: [owners], delete: [userGroups[1]] })),
      'all go': change('owner', ({ owner, owners }) => ({ delete: [owner.id], delete_subgroups: [owners] })),
    });
  });

  test.concurrent('GET /user_groups, their members and subgroups and userGroups, userGroup', async () => {
    const { owner, member, moderator } = await createOrganization();
    const group = (name: string, more: object) =>
      owner.ok('POST', '/user_groups/create', { name, description: 'x', members: [], ...more });
    const { group_id: inner } = await group('inner', { members: [member.id] });
    const { group_id: outer } = await group('outer', { members: [moderator.id], subgroups: [inner] });
    const IDS = '{ edges { node { databaseId } } }';
    const { userGroups, userGroup } = await member.query(`{
      userGroups(first: 50) { edges { node { databaseId name description isRoleGroup isDeactivated createdAt
        creator { databaseId } members(directOnly: true) ${IDS} subgroups(directOnly: true) ${IDS} } } }
      userGroup(by: { id: "${globalId('UserGroup', outer)}" }) { members ${IDS} subgroups ${IDS} } }`);
    const ids = ({ edges }: Json) => edges.map(({ node }: Json) => node.databaseId);
    const { user_groups } = await member.ok('GET', '/user_groups');
    expect(user_groups).toMatchObject(
      userGroups.edges.map(({ node }: Json) => ({
        ...{ id: node.databaseId, name: node.name, description: node.description, deactivated: node.isDeactivated },
        ...{ is_system_group: node.isRoleGroup, date_created: Math.floor(Date.parse(node.createdAt) / 1000) },
        creator_id: node.creator?.databaseId ?? null,
        members: ids(node.members),
        direct_subgroup_ids: ids(node.subgroups),
      })),
    );
    expect((await member.ok('GET', `/user_groups/${outer}/members`)).members).toEqual(ids(userGroup.members));
    expect((await member.ok('GET', `/user_groups/${outer}/subgroups`)).subgroups).toEqual(ids(userGroup.subgroups));
    expect(ids(userGroup.members)).toHaveLength(2);
  });
});
