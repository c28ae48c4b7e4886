import { z } from 'zod';
import { GROUP_PERMISSION_NAMES, type GroupPermissionName } from '../../access/permissions/group-permissions.ts';
import { GROUP_PERMISSION_MEANINGS } from '../../access/permissions/meanings.ts';
import { groupSetting, groupSettingEdit, wireUserGroup } from '../../access/permissions/wire.ts';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { permissionParams } from '../../api/rest/setting-params.ts';
import { deactivateUserGroup } from './deactivate.ts';
import { updateGroupMembers, updateSubgroups } from './members.ts';
import { isGroupMember, listMemberIds, listSubgroupIds } from './membership-reads.ts';
import { createUserGroup, listUserGroups, updateUserGroup } from './service.ts';

const PERMISSION = 'all users except guests';
const NAME = {
  description: 'Name of the group, at most 100 characters; unique in the organization.',
  example: 'sailors',
};
const DESCRIPTION = { description: 'Description of the group, at most 1,024 characters.', example: 'Who sails' };

/** Returns the permissions that the client sent, each converted by `read`. */
function permissionsIn<V, R>(
  values: Partial<Record<GroupPermissionName, V>>,
  read: (value: V) => R,
): Partial<Record<GroupPermissionName, R>> {
  const given = GROUP_PERMISSION_NAMES.flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [[name, read(value)] as const];
  });
  return Object.fromEntries(given) as Partial<Record<GroupPermissionName, R>>;
}

const groupId = inPath(z.int(), { description: 'Id of the group.' });
const ids = (description: string) => json(z.array(z.int()), { description, example: '[]' });

export const getUserGroups = endpoint({
  method: 'GET',
  path: '/user_groups',
  auth: 'basic',
  equivalents: ['userGroups', 'userGroup'],
  summary: 'List user groups',
  permission: PERMISSION,
  params: {
    include_deactivated_groups: json(z.boolean(), {
      description: 'Whether to include deactivated groups.',
    }).default(false),
  },
  reply: { user_groups: z.array(wireUserGroup) },
  async handle(ctx, { include_deactivated_groups }) {
    return { user_groups: await listUserGroups(ctx, { includeDeactivated: include_deactivated_groups }) };
  },
});

export const postUserGroup = endpoint({
  method: 'POST',
  path: '/user_groups/create',
  auth: 'basic',
  equivalents: ['createUserGroup'],
  scope: 'administration',
  summary: 'Create a user group',
  permission: 'users with the permission to create user groups',
  params: {
    name: text(z.string(), NAME),
    description: text(z.string(), DESCRIPTION),
    members: ids('Ids of the direct members.'),
    subgroups: ids('Ids of the direct subgroups.').default([]),
    ...permissionParams(GROUP_PERMISSION_MEANINGS, groupSetting),
  },
  reply: { group_id: z.int() },
  async handle(ctx, { name, description, members, subgroups, ...permissions }) {
    const group = await createUserGroup(ctx, {
      name,
      description,
      memberIds: members,
      subgroupIds: subgroups,
      permissions: permissionsIn(permissions, (value) => value),
    });
    return { group_id: group.id };
  },
});

export const patchUserGroup = endpoint({
  method: 'PATCH',
  path: '/user_groups/{user_group_id}',
  auth: 'basic',
  equivalents: ['updateUserGroup', 'reactivateUserGroup'],
  scope: 'administration',
  summary: 'Update a user group',
  permission: 'users who can manage the group',
  params: {
    user_group_id: groupId,
    name: text(z.string(), NAME).optional(),
    description: text(z.string(), DESCRIPTION).optional(),
    deactivated: json(z.boolean(), { description: 'False reactivates the group. True has no effect.' }).optional(),
    ...permissionParams(GROUP_PERMISSION_MEANINGS, groupSettingEdit),
  },
  reply: {},
  async handle(ctx, { user_group_id, name, description, deactivated, ...permissions }) {
    await updateUserGroup(ctx, user_group_id, {
      name,
      description,
      isDeactivated: deactivated,
      permissions: permissionsIn(permissions, (edit) => ({ value: edit.new, expected: edit.old })),
    });
  },
});

export const postUserGroupDeactivate = endpoint({
  method: 'POST',
  path: '/user_groups/{user_group_id}/deactivate',
  auth: 'basic',
  equivalents: ['deactivateUserGroup'],
  scope: 'administration',
  summary: 'Deactivate a user group',
  permission: 'users who can manage the group',
  params: { user_group_id: groupId },
  reply: {},
  async handle(ctx, { user_group_id }) {
    await deactivateUserGroup(ctx, user_group_id);
  },
});

export const postUserGroupMembers = endpoint({
  method: 'POST',
  path: '/user_groups/{user_group_id}/members',
  auth: 'basic',
  equivalents: ['updateUserGroupMembers'],
  scope: 'administration',
  summary: 'Update the members of a user group',
  permission: 'users who can manage the group, or who can add or remove the given users and groups',
  params: {
    user_group_id: groupId,
    add: ids('Ids of users to add.').optional(),
    delete: ids('Ids of users to remove.').optional(),
    add_subgroups: ids('Ids of groups to add.').optional(),
    delete_subgroups: ids('Ids of groups to remove.').optional(),
  },
  reply: {},
  async handle(ctx, { user_group_id, add, delete: remove, add_subgroups, delete_subgroups }) {
    await updateGroupMembers(ctx, user_group_id, {
      add,
      delete: remove,
      addSubgroups: add_subgroups,
      deleteSubgroups: delete_subgroups,
    });
  },
});

export const getUserGroupMembers = endpoint({
  method: 'GET',
  path: '/user_groups/{user_group_id}/members',
  auth: 'basic',
  equivalents: ['UserGroup.members'],
  summary: 'List the members of a user group',
  permission: PERMISSION,
  params: {
    user_group_id: groupId,
    direct_member_only: json(z.boolean(), { description: 'Whether to leave out members of subgroups.' }).default(false),
  },
  reply: { members: z.array(z.int()) },
  async handle(ctx, { user_group_id, direct_member_only }) {
    return { members: [...(await listMemberIds(ctx, user_group_id, { direct: direct_member_only }))] };
  },
});

export const getUserGroupMember = endpoint({
  method: 'GET',
  path: '/user_groups/{user_group_id}/members/{user_id}',
  auth: 'basic',
  equivalents: ['UserGroup.hasMember'],
  summary: 'Check whether a user is in a user group',
  permission: PERMISSION,
  params: {
    user_group_id: groupId,
    user_id: inPath(z.int(), { description: 'Id of the user.' }),
    direct_member_only: json(z.boolean(), { description: 'Whether to ignore membership through subgroups.' }).default(
      false,
    ),
  },
  reply: { is_user_group_member: z.boolean() },
  async handle(ctx, { user_group_id, user_id, direct_member_only }) {
    return { is_user_group_member: await isGroupMember(ctx, user_group_id, user_id, { direct: direct_member_only }) };
  },
});

export const postUserGroupSubgroups = endpoint({
  method: 'POST',
  path: '/user_groups/{user_group_id}/subgroups',
  auth: 'basic',
  equivalents: ['updateUserGroupMembers'],
  scope: 'administration',
  summary: 'Update the subgroups of a user group',
  permission: 'users who can manage the group; users who can add members can also add subgroups',
  params: {
    user_group_id: groupId,
    add: ids('Ids of groups to add.').optional(),
    delete: ids('Ids of groups to remove.').optional(),
  },
  reply: {},
  async handle(ctx, { user_group_id, add, delete: remove }) {
    await updateSubgroups(ctx, user_group_id, { add, delete: remove });
  },
});

export const getUserGroupSubgroups = endpoint({
  method: 'GET',
  path: '/user_groups/{user_group_id}/subgroups',
  auth: 'basic',
  equivalents: ['UserGroup.subgroups'],
  summary: 'List the subgroups of a user group',
  permission: PERMISSION,
  params: {
    user_group_id: groupId,
    direct_subgroup_only: json(z.boolean(), { description: 'Whether to leave out subgroups of subgroups.' }).default(
      false,
    ),
  },
  reply: { subgroups: z.array(z.int()) },
  async handle(ctx, { user_group_id, direct_subgroup_only }) {
    return { subgroups: [...(await listSubgroupIds(ctx, user_group_id, { direct: direct_subgroup_only }))] };
  },
});
