import { GROUP_PERMISSION_NAMES } from '../../src/access/permissions/group-permissions.ts';
import { toFieldName } from '../../src/api/graphql/schema/setting-fields.ts';
import { fresh, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Hoard, heldBy } from '../helpers/piles.ts';
import type { Names } from '../helpers/scene.ts';

/**
 * Returns every permission of a group as REST parameters. Their values are alternately a group, and lists of members and
 * subgroups.
 */
const restPermissions = ({ groupId, userId }: Names) =>
  GROUP_PERMISSION_NAMES.map(
    (name, i) => [name, i % 2 === 0 ? groupId : { direct_members: [userId], direct_subgroups: [groupId] }] as const,
  );

/**
 * Returns every permission of a group as GraphQL fields. Their values are alternately a group, and lists of members and
 * subgroups.
 */
const graphqlPermissions = ({ groupId, userId }: Names) =>
  GROUP_PERMISSION_NAMES.map((name, i) => {
    const value = i % 2 === 0 ? { groupId } : { direct: { memberIds: [userId], subgroupIds: [groupId] } };
    return [toFieldName(name.replace(/_group$/, '')), value] as const;
  });

const GROUPS = {
  fill: (creator: string) => `INSERT INTO user_group (realm_id, name, creator_id, deactivated_at)
    SELECT $1, 'group ' || n, ${creator}, now() FROM generate_series(1, $3::int) AS n`,
  rest: ({ member }: Hoard, i: number) =>
    member.rest('POST', '/user_groups/create', { name: `new ${i}`, description: '', members: [] }),
  graphql: (_: Hoard, i: number) => ['createUserGroup', { name: `new ${i}`, description: '', memberIds: [] }] as const,
};

export const userGroups: FeatureTests = {
  rest: {
    'GET /user_groups': () => [{ parameters: { include_deactivated_groups: true } }],
    'POST /user_groups/create': (names) => [
      {
        parameters: {
          ...{ name: fresh(), description: 'new', members: [names.userId], subgroups: [names.groupId] },
          ...Object.fromEntries(restPermissions(names)),
        },
      },
    ],
    'PATCH /user_groups/{user_group_id}': (names) => [
      {
        slots: { user_group_id: names.customGroupId },
        parameters: {
          ...{ name: fresh(), description: fresh(), deactivated: false },
          ...Object.fromEntries(restPermissions(names).map(([name, value]) => [name, { new: value }])),
        },
      },
    ],
    'POST /user_groups/{user_group_id}/members': ({ customGroupId, userId, groupId }) => [
      { slots: { user_group_id: customGroupId }, parameters: { add: [userId], add_subgroups: [groupId] } },
      { slots: { user_group_id: customGroupId }, parameters: { delete: [userId], delete_subgroups: [groupId] } },
    ],
    'GET /user_groups/{user_group_id}/members': ({ customGroupId }) => [
      { slots: { user_group_id: customGroupId }, parameters: { direct_member_only: true } },
    ],
    'GET /user_groups/{user_group_id}/members/{user_id}': ({ customGroupId, userId }) => [
      { slots: { user_group_id: customGroupId, user_id: userId }, parameters: { direct_member_only: true } },
    ],
    'POST /user_groups/{user_group_id}/subgroups': ({ customGroupId, membersGroupId }) => [
      { slots: { user_group_id: customGroupId }, parameters: { add: [membersGroupId] } },
      { slots: { user_group_id: customGroupId }, parameters: { delete: [membersGroupId] } },
    ],
    'GET /user_groups/{user_group_id}/subgroups': ({ customGroupId }) => [
      { slots: { user_group_id: customGroupId }, parameters: { direct_subgroup_only: true } },
    ],
    'POST /user_groups/{user_group_id}/deactivate': ({ idleGroupId }) => [{ slots: { user_group_id: idleGroupId } }],
  },
  queries: {
    userGroup: ({ customGroupId }) => [
      { by: { id: globalId('UserGroup', customGroupId) } },
      { by: { name: 'role:members' } },
    ],
    userGroups: () => [
      { ...PAGE, includeDeactivated: true, nameContains: 'e', orderBy: { field: 'NAME', direction: 'ASC' } },
    ],
  },
  mutations: {
    createUserGroup: (names) => [
      {
        ...{ name: fresh(), description: 'new', memberIds: [names.userId], subgroupIds: [names.groupId] },
        permissions: Object.fromEntries(graphqlPermissions(names)),
      },
    ],
    updateUserGroup: (names) => [
      {
        ...{ userGroupId: names.customGroupId, name: fresh(), description: fresh() },
        permissions: Object.fromEntries(graphqlPermissions(names).map(([name, value]) => [name, { new: value }])),
      },
      {
        userGroupId: names.customGroupId,
        permissions: Object.fromEntries(
          graphqlPermissions(names).map(([name, value]) => [name, { new: value, old: value }]),
        ),
      },
    ],
    updateUserGroupMembers: ({ customGroupId: userGroupId, userId, groupId }) => [
      { userGroupId, addMemberIds: [userId], addSubgroupIds: [groupId] },
      { userGroupId, removeMemberIds: [userId], removeSubgroupIds: [groupId] },
    ],
    deactivateUserGroup: ({ idleGroupId }) => [{ userGroupId: idleGroupId }],
    reactivateUserGroup: ({ idleGroupId }) => [{ userGroupId: idleGroupId }],
  },
  nodes: ({ customGroupId }) => ({ UserGroup: customGroupId }),
  piles: {
    user_groups_per_user: {
      ...GROUPS,
      fill: ({ sql }) => sql(GROUPS.fill('$2'), 200),
      held: heldBy('user_group', 'creator_id = $1'),
      free: "DELETE FROM user_group WHERE realm_id = $1 AND creator_id = $2 AND name = 'group 1'",
    },
    user_groups: {
      ...GROUPS,
      fill: ({ sql }) => sql(GROUPS.fill('NULL'), 2_500),
      held: heldBy('user_group', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
      free: "DELETE FROM user_group WHERE realm_id = $1 AND name = 'group 1'",
    },
  },
  lists: { realm_user_groups: 'id' },
  rules: {
    'user_group/add': (state, { group }) => {
      state['realm_user_groups'][group.id] = group;
    },
    'user_group/update': (state, { group_id, data }) => {
      Object.assign(state['realm_user_groups'][group_id], data);
    },
    'user_group/remove': (state, { group_id }) => {
      delete state['realm_user_groups'][group_id];
    },
    'user_group/add_members': (state, { group_id, user_ids }) => {
      const group = state['realm_user_groups'][group_id];
      group.members = [...group.members, ...user_ids].sort((a, b) => a - b);
    },
    'user_group/remove_members': (state, { group_id, user_ids }) => {
      const group = state['realm_user_groups'][group_id];
      group.members = group.members.filter((id: number) => !user_ids.includes(id));
    },
    'user_group/add_subgroups': (state, { group_id, direct_subgroup_ids }) => {
      const group = state['realm_user_groups'][group_id];
      group.direct_subgroup_ids = [...group.direct_subgroup_ids, ...direct_subgroup_ids].sort((a, b) => a - b);
    },
    'user_group/remove_subgroups': (state, { group_id, direct_subgroup_ids }) => {
      const group = state['realm_user_groups'][group_id];
      group.direct_subgroup_ids = group.direct_subgroup_ids.filter((id: number) => !direct_subgroup_ids.includes(id));
    },
  },
};
