import { GROUP_PERMISSION_NAMES } from '../../../src/access/permissions/group-permissions.ts';
import { toFieldName } from '../../../src/api/graphql/schema/setting-fields.ts';
import type { Names } from '../scene.ts';
import type { FeatureCalls } from './feature.ts';
import { fresh, PAGE } from './shared.ts';

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

export const userGroups: FeatureCalls = {
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
    userGroup: ({ customGroupId }) => [{ userGroupId: customGroupId }],
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
        ...{ userGroupId: names.customGroupId, name: fresh(), description: fresh(), isDeactivated: false },
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
      { userGroupId, add: [userId], addSubgroups: [groupId] },
      { userGroupId, delete: [userId], deleteSubgroups: [groupId] },
    ],
    updateUserGroupSubgroups: ({ customGroupId: userGroupId, membersGroupId }) => [
      { userGroupId, add: [membersGroupId] },
      { userGroupId, delete: [membersGroupId] },
    ],
    deactivateUserGroup: ({ idleGroupId }) => [{ userGroupId: idleGroupId }],
  },
  nodes: ({ customGroupId }) => ({ UserGroup: customGroupId }),
};
