import { GROUP_PERMISSION_NAMES } from '../../access/permissions/group-permissions.ts';
import {
  CHANNEL_PERMISSION_MEANINGS,
  GROUP_PERMISSION_MEANINGS,
  REALM_PERMISSION_MEANINGS,
} from '../../access/permissions/meanings.ts';
import { builder } from '../../api/graphql/builder.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeOf, nodesOf } from '../../api/graphql/node.ts';
import {
  permissionEditsGiven,
  permissionEditsInput,
  permissionsGiven,
  permissionsInput,
  toWireSetting,
} from '../../api/graphql/permission-fields.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { Channel } from '../../channels/graphql.ts';
import { ExpectationMismatchError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { deactivateUserGroup } from './deactivate.ts';
import { CannotDeactivateGroupInUseError, type GroupObjection } from './errors.ts';
import { GROUP_DESCRIPTION, GROUP_NAME, PERMISSIONS, UserGroup } from './graphql.ts';
import { updateGroupMembers, updateSubgroups } from './members.ts';
import { createUserGroup, updateUserGroup } from './service.ts';

const GroupPermissionsInput = permissionsInput(
  'UserGroupPermissionsInput',
  'Who is to hold which permission; what is left out stays or is the default.',
  GROUP_PERMISSION_MEANINGS,
);

const GroupPermissionEditsInput = permissionEditsInput(
  'UserGroupPermissionEditsInput',
  'Who is to hold which permission; what is left out stays.',
  GROUP_PERMISSION_MEANINGS,
);

mutation('createUserGroup', {
  description: 'Makes a group. For those whom the organization lets.',
  input: (t) => ({
    name: t.string({ description: GROUP_NAME }),
    description: t.string({ description: GROUP_DESCRIPTION }),
    memberIds: t.idList({ ...refersTo('User'), description: 'The users in it.' }),
    subgroupIds: t.idList({ ...refersTo('UserGroup'), required: false, description: 'The groups in it.' }),
    permissions: t.field({ type: GroupPermissionsInput, required: false, description: PERMISSIONS }),
  }),
  payload: () => ({ userGroup: { type: UserGroup, description: 'The new group.' } }),
  errors: [UnauthorizedPrincipalError],
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

mutation('updateUserGroup', {
  description: 'Changes what is given of a group, or brings it back. For those who manage it.',
  input: (t) => ({
    userGroupId: t.id({ ...refersTo('UserGroup'), description: 'Which group to change.' }),
    name: t.string({ required: false, description: GROUP_NAME }),
    description: t.string({ required: false, description: GROUP_DESCRIPTION }),
    isDeactivated: t.boolean({ required: false, description: 'False brings it back; true means nothing.' }),
    permissions: t.field({ type: GroupPermissionEditsInput, required: false, description: PERMISSIONS }),
  }),
  payload: () => ({ userGroup: { type: UserGroup, description: 'The group, after the change.' } }),
  errors: [UnauthorizedPrincipalError, ExpectationMismatchError],
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
  description: 'What it is that goes by a group.',
  values: {
    SUBGROUP: { value: 'subgroup', description: 'Groups it is within.' },
    CHANNEL: { value: 'channel', description: 'A channel, in which it holds permissions.' },
    USER_GROUP: { value: 'user_group', description: 'A group, over which it holds permissions.' },
    ORGANIZATION: { value: 'realm', description: 'The organization, in which it holds permissions.' },
  } as const,
});

const MEANINGS: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['Of a channel', CHANNEL_PERMISSION_MEANINGS],
  ['Of a group', GROUP_PERMISSION_MEANINGS],
  ['Of an organization', REALM_PERMISSION_MEANINGS],
];

/** What a permission allows, wherever there is one of this name. */
const allowsWhat = (name: string): string =>
  MEANINGS.flatMap(([place, { [name]: meaning }]) => (meaning === undefined ? [] : [`${place}: ${meaning}`])).join(' ');

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
  description: 'Something that goes by a group.',
  fields: (t) => ({
    kind: t.field({
      type: GroupObjectionKind,
      description: 'What it is; the field of its kind tells which one.',
      resolve: ({ type }) => type,
    }),
    supergroups: t.field({
      type: [UserGroup],
      description: 'The groups it is within, for SUBGROUP, no more than there are; empty for all others.',
      resolve: (objection, _args, ctx) =>
        'supergroup_ids' in objection ? nodesOf(ctx, 'UserGroup', objection.supergroup_ids) : [],
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Which channel, for CHANNEL; null when the viewer does not see it.',
      resolve: (objection, _args, ctx) =>
        nodeOf(ctx, 'Channel', 'channel_id' in objection ? objection.channel_id : null),
    }),
    userGroup: t.field({
      type: UserGroup,
      nullable: true,
      description: 'Which group, for USER_GROUP.',
      resolve: (objection, _args, ctx) => nodeOf(ctx, 'UserGroup', 'group_id' in objection ? objection.group_id : null),
    }),
    permissions: t.field({
      type: [PermissionName],
      description: 'The permissions it holds there, no more than there are; none for SUBGROUP.',
      resolve: (objection) => ('settings' in objection ? [...objection.settings] : []),
    }),
  }),
});

errorType(CannotDeactivateGroupInUseError, 'The group is within others, or holds permissions.', (t) => ({
  objections: t.field({
    type: [GroupObjectionType],
    description: 'All that goes by it: one for each group, channel and organization.',
    resolve: ({ data }) => [...data.objections],
  }),
}));

mutation('deactivateUserGroup', {
  description: 'Deactivates a group that nothing goes by. For those who manage it.',
  input: (t) => ({ userGroupId: t.id({ ...refersTo('UserGroup'), description: 'Which group to deactivate.' }) }),
  payload: () => ({ userGroup: { type: UserGroup, description: 'The group, deactivated.' } }),
  errors: [UnauthorizedPrincipalError, CannotDeactivateGroupInUseError],
  resolve: async (ctx, { userGroupId }) => ({ userGroup: await deactivateUserGroup(ctx, userGroupId) }),
});

mutation('updateUserGroupMembers', {
  description: 'Puts users and groups into a group, and takes others out: all or none.',
  input: (t) => ({
    userGroupId: t.id({ ...refersTo('UserGroup'), description: 'Which group to change.' }),
    add: t.idList({ ...refersTo('User'), required: false, description: 'Users to put into it.' }),
    delete: t.idList({ ...refersTo('User'), required: false, description: 'Users to take out of it.' }),
    addSubgroups: t.idList({ ...refersTo('UserGroup'), required: false, description: 'Groups to put into it.' }),
    deleteSubgroups: t.idList({ ...refersTo('UserGroup'), required: false, description: 'Groups to take out of it.' }),
  }),
  payload: () => ({ userGroup: { type: UserGroup, description: 'The group, after the change.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { userGroupId, add, delete: remove, addSubgroups, deleteSubgroups }) => ({
    userGroup: await updateGroupMembers(ctx, userGroupId, {
      add: add ?? undefined,
      delete: remove ?? undefined,
      addSubgroups: addSubgroups ?? undefined,
      deleteSubgroups: deleteSubgroups ?? undefined,
    }),
  }),
});

mutation('updateUserGroupSubgroups', {
  description: 'Puts groups into a group, and takes others out: all or none.',
  input: (t) => ({
    userGroupId: t.id({ ...refersTo('UserGroup'), description: 'Which group to change.' }),
    add: t.idList({ ...refersTo('UserGroup'), required: false, description: 'Groups to put into it.' }),
    delete: t.idList({ ...refersTo('UserGroup'), required: false, description: 'Groups to take out of it.' }),
  }),
  payload: () => ({ userGroup: { type: UserGroup, description: 'The group, after the change.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { userGroupId, add, delete: remove }) => ({
    userGroup: await updateSubgroups(ctx, userGroupId, { add: add ?? undefined, delete: remove ?? undefined }),
  }),
});
