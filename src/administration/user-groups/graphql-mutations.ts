import { GROUP_PERMISSION_NAMES } from '../../access/permissions/group-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS, GROUP_PERMISSION_MEANINGS } from '../../access/permissions/meanings.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { refuseBoth } from '../../api/graphql/schema/deprecated-members.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeOf, nodesOf } from '../../api/graphql/schema/node.ts';
import {
  permissionEditsGiven,
  permissionEditsInput,
  permissionsGiven,
  permissionsInput,
  toWireSetting,
} from '../../api/graphql/schema/permission-fields.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { Channel } from '../../channels/graphql.ts';
import { ExpectationMismatchError } from '../../platform/errors.ts';
import { PERMISSIONS_WITH_EFFECT } from '../organization/graphql.ts';
import { deactivateUserGroup } from './deactivate.ts';
import { CannotDeactivateGroupInUseError, type GroupObjection } from './errors.ts';
import { GROUP_DESCRIPTION, GROUP_NAME, PERMISSIONS, UserGroup } from './graphql.ts';
import { updateGroupMembers } from './members.ts';
import { createUserGroup, updateUserGroup } from './service.ts';

const GroupPermissionsInput = permissionsInput(
  'UserGroupPermissionsInput',
  'Holders of each permission of a new group. Omitted permissions get their defaults.',
  GROUP_PERMISSION_MEANINGS,
);

const GroupPermissionEditsInput = permissionEditsInput(
  'UserGroupPermissionEditsInput',
  'Permissions of a group to change. Omitted permissions do not change.',
  GROUP_PERMISSION_MEANINGS,
);

mutation('createUserGroup', {
  scope: 'administration',
  description: 'Creates a group. For users with the permission to create user groups.',
  input: (t) => ({
    name: t.string({ description: GROUP_NAME }),
    description: t.string({ description: GROUP_DESCRIPTION }),
    memberIds: t.idList({ ...refersTo('User'), description: 'Ids of the direct members.' }),
    subgroupIds: t.idList({ ...refersTo('UserGroup'), required: false, description: 'Ids of the direct subgroups.' }),
    permissions: t.field({ type: GroupPermissionsInput, required: false, description: PERMISSIONS }),
  }),
  payload: () => ({ userGroup: { type: UserGroup, description: 'The new group.' } }),
  resolve: async (ctx, { name, description, memberIds, subgroupIds, permissions }) => ({
    userGroup: await createUserGroup(ctx, {
      name,
      description,
      memberIds,
      subgroupIds: subgroupIds ?? [],
      permissions: permissionsGiven(GROUP_PERMISSION_NAMES, permissions, toWireSetting),
    }),
  }),
});

const GROUP_ID = 'Id of the group.';
const changedGroup = () => ({ userGroup: { type: UserGroup, description: 'The group after the change.' } });

mutation('updateUserGroup', {
  scope: 'administration',
  description: 'Updates a group. Omitted fields do not change. For users who can manage the group.',
  input: (t) => ({
    userGroupId: t.id({ ...refersTo('UserGroup'), description: GROUP_ID }),
    name: t.string({ required: false, description: GROUP_NAME }),
    description: t.string({ required: false, description: GROUP_DESCRIPTION }),
    isDeactivated: t.boolean({
      required: false,
      description: 'False reactivates the group. True has no effect.',
      deprecationReason: 'Use `reactivateUserGroup`.',
    }),
    permissions: t.field({ type: GroupPermissionEditsInput, required: false, description: PERMISSIONS }),
  }),
  payload: changedGroup,
  errors: [ExpectationMismatchError],
  resolve: async (ctx, { userGroupId, name, description, isDeactivated, permissions }) => ({
    userGroup: await updateUserGroup(ctx, userGroupId, {
      name: name ?? undefined,
      description: description ?? undefined,
      isDeactivated: isDeactivated ?? undefined,
      permissions: permissionEditsGiven(GROUP_PERMISSION_NAMES, permissions),
    }),
  }),
});

const GroupObjectionKind = builder.enumType('GroupObjectionKind', {
  description: 'Kind of an object that uses a group.',
  values: {
    SUBGROUP: { value: 'subgroup', description: 'Other groups that contain this group as a subgroup.' },
    CHANNEL: { value: 'channel', description: 'A channel in which this group holds permissions.' },
    USER_GROUP: { value: 'user_group', description: 'Another group on which this group holds permissions.' },
    ORGANIZATION: { value: 'realm', description: 'The organization, in which this group holds permissions.' },
  } as const,
});

const MEANINGS: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['In a channel', CHANNEL_PERMISSION_MEANINGS],
  ['On a group', GROUP_PERMISSION_MEANINGS],
  ['In an organization', PERMISSIONS_WITH_EFFECT],
];

/**
 * Returns the description of the permission with this name. It states the meaning of the permission on each kind of object that
 * has a permission of this name.
 */
const allowsWhat = (name: string): string =>
  MEANINGS.flatMap(([place, { [name]: meaning }]) =>
    meaning === undefined ? [] : [`${place}: ${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}`],
  ).join(' ');

const names = new Set(MEANINGS.flatMap(([, meanings]) => Object.keys(meanings)));

const PermissionName = builder.enumType('PermissionName', {
  description: 'A permission of a channel, a group or an organization, named as in their `permissions`.',
  values: Object.fromEntries(
    [...names].map((name) => [
      name.replace(/_group$/, '').toUpperCase(),
      { value: name, description: allowsWhat(name) },
    ]),
  ),
});

const GroupObjectionType = builder.objectRef<GroupObjection>('GroupObjection').implement({
  description: 'An object that uses a group, which prevents its deactivation.',
  fields: (t) => ({
    kind: t.field({
      type: GroupObjectionKind,
      description: 'Kind of the object. It determines which of the other fields is set.',
      resolve: ({ type }) => type,
    }),
    supergroups: t.field({
      type: [UserGroup],
      description:
        'For SUBGROUP: the groups that contain the group as a subgroup, each listed at most once. Empty for other ' +
        'kinds.',
      resolve: (objection, _args, ctx) =>
        'supergroup_ids' in objection ? nodesOf(ctx, 'UserGroup', objection.supergroup_ids) : [],
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'For CHANNEL: the channel. Null for other kinds, or if the viewer cannot see the channel.',
      resolve: (objection, _args, ctx) =>
        nodeOf(ctx, 'Channel', 'channel_id' in objection ? objection.channel_id : null),
    }),
    userGroup: t.field({
      type: UserGroup,
      nullable: true,
      description: 'For USER_GROUP: the group. Null for other kinds.',
      resolve: (objection, _args, ctx) => nodeOf(ctx, 'UserGroup', 'group_id' in objection ? objection.group_id : null),
    }),
    permissions: t.field({
      type: [PermissionName],
      description:
        'Permissions that the group holds on the object, each listed at most once. Permissions without effect, ' +
        'which only REST has, are left out. Empty for SUBGROUP.',
      resolve: (objection) => ('settings' in objection ? objection.settings.filter((name) => names.has(name)) : []),
    }),
  }),
});

errorType(
  CannotDeactivateGroupInUseError,
  'The group cannot be deactivated, because it is a subgroup of other groups or holds permissions.',
  (t) => ({
    objections: t.field({
      type: [GroupObjectionType],
      description: 'Objects that use the group: one for each channel, group and organization.',
      resolve: ({ data }) => [...data.objections],
    }),
  }),
);

mutation('deactivateUserGroup', {
  scope: 'administration',
  description: 'Deactivates a group that is not in use. For users who can manage the group.',
  input: (t) => ({ userGroupId: t.id({ ...refersTo('UserGroup'), description: GROUP_ID }) }),
  payload: changedGroup,
  errors: [CannotDeactivateGroupInUseError],
  resolve: async (ctx, { userGroupId }) => ({ userGroup: await deactivateUserGroup(ctx, userGroupId) }),
});

mutation('reactivateUserGroup', {
  scope: 'administration',
  description: 'Reactivates a deactivated group. For users who can manage the group.',
  input: (t) => ({ userGroupId: t.id({ ...refersTo('UserGroup'), description: GROUP_ID }) }),
  payload: changedGroup,
  resolve: async (ctx, { userGroupId }) => ({
    userGroup: await updateUserGroup(ctx, userGroupId, { isDeactivated: false }),
  }),
});

const users = (description: string) => ({ ...refersTo('User'), required: false as const, description });
const groups = (description: string) => ({ ...refersTo('UserGroup'), required: false as const, description });

mutation('updateUserGroupMembers', {
  scope: 'administration',
  description: 'Adds and removes members and subgroups of a group. If one change is refused, nothing changes.',
  input: (t) => ({
    userGroupId: t.id({ ...refersTo('UserGroup'), description: GROUP_ID }),
    addMemberIds: t.idList(users('Ids of users to add.')),
    removeMemberIds: t.idList(users('Ids of users to remove.')),
    addSubgroupIds: t.idList(groups('Ids of groups to add.')),
    removeSubgroupIds: t.idList(groups('Ids of groups to remove.')),
    add: t.idList({ ...users('Ids of users to add.'), deprecationReason: 'Use `addMemberIds`.' }),
    delete: t.idList({ ...users('Ids of users to remove.'), deprecationReason: 'Use `removeMemberIds`.' }),
    addSubgroups: t.idList({ ...groups('Ids of groups to add.'), deprecationReason: 'Use `addSubgroupIds`.' }),
    deleteSubgroups: t.idList({ ...groups('Ids of groups to remove.'), deprecationReason: 'Use `removeSubgroupIds`.' }),
  }),
  payload: changedGroup,
  resolve: async (ctx, { userGroupId, ...edit }) => {
    refuseBoth('addMemberIds', edit.addMemberIds != null, { add: edit.add });
    refuseBoth('removeMemberIds', edit.removeMemberIds != null, { delete: edit.delete });
    refuseBoth('addSubgroupIds', edit.addSubgroupIds != null, { addSubgroups: edit.addSubgroups });
    refuseBoth('removeSubgroupIds', edit.removeSubgroupIds != null, { deleteSubgroups: edit.deleteSubgroups });
    return {
      userGroup: await updateGroupMembers(ctx, userGroupId, {
        add: edit.addMemberIds ?? edit.add ?? undefined,
        delete: edit.removeMemberIds ?? edit.delete ?? undefined,
        addSubgroups: edit.addSubgroupIds ?? edit.addSubgroups ?? undefined,
        deleteSubgroups: edit.removeSubgroupIds ?? edit.deleteSubgroups ?? undefined,
      }),
    };
  },
});
