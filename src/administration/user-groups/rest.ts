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

const PERMISSION = 'everybody but guests';
const NAME = { description: 'At most 100 characters; unique in the organization.', example: 'sailors' };
const DESCRIPTION = { description: 'At most 1,024 characters.', example: 'Who sails' };

/** What is given of the permissions, each read by `read`. */
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

const groupId = inPath(z.int(), { description: 'The group.' });
const ids = (description: string) => json(z.array(z.int()), { description, example: '[]' });

export const getUserGroups = endpoint({
  method: 'GET',
  path: '/user_groups',
  auth: 'basic',
  twins: ['userGroups', 'userGroup'],
  summary: 'List user groups',
  permission: PERMISSION,
  params: {
    include_deactivated_groups: json(z.boolean(), {
      description: 'Whether those out of use are listed as well.',
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
  twins: ['createUserGroup'],
  summary: 'Create a user group',
  permission: 'who may create groups in the organization',
  params: {
    name: text(z.string(), NAME),
    description: text(z.string(), DESCRIPTION),
    members: ids('The users in it.'),
    subgroups: ids('The groups in it.').default([]),
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
  twins: ['updateUserGroup'],
  summary: 'Update a user group',
  permission: 'who manages the group',
  params: {
    user_group_id: groupId,
    name: text(z.string(), NAME).optional(),
    description: text(z.string(), DESCRIPTION).optional(),
    deactivated: json(z.boolean(), { description: 'False brings the group back; true means nothing.' }).optional(),
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
  twins: ['deactivateUserGroup'],
  summary: 'Deactivate a user group',
  permission: 'who manages the group',
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
  twins: ['updateUserGroupMembers'],
  summary: 'Update the members of a user group',
  permission: 'who manages the group, and who may add or remove what is named',
  params: {
    user_group_id: groupId,
    add: ids('Users to put into it.').optional(),
    delete: ids('Users to take out of it.').optional(),
    add_subgroups: ids('Groups to put into it.').optional(),
    delete_subgroups: ids('Groups to take out of it.').optional(),
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
  twins: ['UserGroup.members'],
  summary: 'List the members of a user group',
  permission: PERMISSION,
  params: {
    user_group_id: groupId,
    direct_member_only: json(z.boolean(), { description: 'Leaves out members of groups in it.' }).default(false),
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
  twins: ['UserGroup.hasMember'],
  summary: 'Get whether a user is in a user group',
  permission: PERMISSION,
  params: {
    user_group_id: groupId,
    user_id: inPath(z.int(), { description: 'Who may be in it.' }),
    direct_member_only: json(z.boolean(), { description: 'Whether to be in a group in it does not count.' }).default(
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
  twins: ['updateUserGroupSubgroups'],
  summary: 'Update the subgroups of a user group',
  permission: 'who manages the group; to add groups, who may add members as well',
  params: {
    user_group_id: groupId,
    add: ids('Groups to put into it.').optional(),
    delete: ids('Groups to take out of it.').optional(),
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
  twins: ['UserGroup.subgroups'],
  summary: 'List the subgroups of a user group',
  permission: PERMISSION,
  params: {
    user_group_id: groupId,
    direct_subgroup_only: json(z.boolean(), { description: 'Leaves out groups of groups in it.' }).default(false),
  },
  reply: { subgroups: z.array(z.int()) },
  async handle(ctx, { user_group_id, direct_subgroup_only }) {
    return { subgroups: [...(await listSubgroupIds(ctx, user_group_id, { direct: direct_subgroup_only }))] };
  },
});
