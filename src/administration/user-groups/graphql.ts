import { signedIn } from '../../access/context.ts';
import {
  GROUP_PERMISSION_NAMES,
  type GroupPermissionName,
  holdsInGroup,
  managesGroup,
  wirePermissions,
} from '../../access/permissions/group-permissions.ts';
import { systemGroups } from '../../access/permissions/system-groups.ts';
import { builder } from '../../api/graphql/builder.ts';
import { type ConnectionArguments, idInCursor, pageByIds, pageOf } from '../../api/graphql/connection.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeModel, nodeOf, nodesOf, unlessAbsent } from '../../api/graphql/node.ts';
import { pageSize } from '../../api/graphql/page-size.ts';
import {
  GroupSetting,
  permissionEditsGiven,
  permissionEditsInput,
  permissionsGiven,
  permissionsInput,
  permissionsType,
  toWireSetting,
} from '../../api/graphql/permission-fields.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { Channel } from '../../channels/graphql.ts';
import { viewerAsActor } from '../../channels/loaders.ts';
import { userReference } from '../../people/entity-facts.ts';
import { User, UserConnection } from '../../people/graphql.ts';
import { ExpectationMismatchError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { accessUserGroup, visibleTo } from './access.ts';
import { deactivateUserGroup } from './deactivate.ts';
import { factsAbout, groupReference } from './entity-facts.ts';
import { CannotDeactivateGroupInUseError, type GroupObjection } from './errors.ts';
import type { KnownGroup } from './events.ts';
import { memberPages, memberships, subgroups } from './loaders.ts';
import { mayChangeMembers, updateGroupMembers, updateSubgroups } from './members.ts';
import { createUserGroup, updateUserGroup } from './service.ts';

const MEANING: Record<GroupPermissionName, string> = {
  can_add_members_group: 'May put others, and groups, into it.',
  can_join_group: 'May put themselves into it.',
  can_leave_group: 'May take themselves out of it.',
  can_manage_group: 'May change everything about it.',
  can_mention_group: 'May mention it.',
  can_remove_members_group: 'May take others out of it.',
};

const GroupPermissions = permissionsType('UserGroupPermissions', 'Who may do what with a group.', MEANING);

const CALLED = 'What it is called, in at most 100 characters.';
const SAID = 'What it is for; at most 1,024 characters.';
const ROLE_GROUP = 'Whether its members follow from their roles. Nobody changes such a group.';
const DEACTIVATED = 'Whether it is out of use: it can be given no permission and be put into no group.';
const CREATED = 'When it was made; null for a role group.';
const CREATOR = 'Who made it; null for a role group, and when nobody is known to have.';
const PERMISSIONS = 'Who may do what with it.';
const DEPTH = 'Only what is in the group itself, not what is in groups within it.';
const GROUP_NAME = 'Not blank; at most 100 characters; unique in the organization, in whatever case.';
const GROUP_DESCRIPTION = 'At most 1,024 characters.';

export const UserGroup = builder.prismaNode('UserGroup', {
  description: 'A named set of users. There is one for each role, and any number of others.',
  id: { field: 'id' },
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    name: t.exposeString('name', { description: CALLED }),
    description: t.exposeString('description', { description: SAID }),
    isRoleGroup: t.exposeBoolean('isSystem', {
      description: ROLE_GROUP,
    }),
    isDeactivated: t.boolean({ description: DEACTIVATED, resolve: ({ deactivatedAt }) => deactivatedAt !== null }),
    createdAt: t.expose('createdAt', { type: 'DateTime', nullable: true, description: CREATED }),
    creator: t.relation('creator', { nullable: true, description: CREATOR }),
    permissions: t.field({
      type: GroupPermissions,
      description: PERMISSIONS,
      resolve: async (group, _args, ctx) => wirePermissions(await systemGroups(ctx.app.db, group.realmId), group),
    }),
    hasMember: t.boolean({
      nullable: true,
      description: 'Whether a user is in it; null of a deactivated group, and of nobody.',
      args: {
        userId: t.arg.id({ ...refersTo('User'), description: 'Which user.' }),
        directOnly: t.arg.boolean({ defaultValue: false, description: DEPTH }),
      },
      resolve: ({ id, deactivatedAt }, { userId, directOnly }, ctx) =>
        deactivatedAt === null
          ? unlessAbsent(memberships(ctx).load({ groupId: id, userId, direct: directOnly ?? false }))
          : null,
    }),
    members: t.connection(
      {
        type: User,
        description: 'The active users in it, by id.',
        args: { directOnly: t.arg.boolean({ defaultValue: false, description: DEPTH }) },
        resolve: async ({ id }, { directOnly, ...args }, ctx) => {
          const place = placeOf('member', args);
          const rows = await memberPages(ctx).load({ groupId: id, direct: directOnly ?? false, ...place });
          return pageFrom('member', rows, args);
        },
      },
      UserConnection,
    ),
  }),
});
nodeModel('UserGroup', 'UserGroup', visibleTo);

builder.objectFields(GroupSetting, (t) => ({
  group: t.field({
    type: UserGroup,
    nullable: true,
    description: 'The group that holds it, when it is one group and nobody else; null for guests, who see no groups.',
    resolve: (setting, _args, ctx) => nodeOf(ctx, 'UserGroup', typeof setting === 'number' ? setting : null),
  }),
  directMembers: t.field({
    type: [User],
    description: 'The users who hold it themselves, whatever groups they are in; no more than there are users.',
    resolve: (setting, _args, ctx) => (typeof setting === 'number' ? [] : nodesOf(ctx, 'User', setting.direct_members)),
  }),
  directSubgroups: t.field({
    type: [UserGroup],
    description:
      'The groups whose members hold it, `group` included; no more than there are groups, and none for guests.',
    resolve: (setting, _args, ctx) =>
      nodesOf(ctx, 'UserGroup', typeof setting === 'number' ? [setting] : setting.direct_subgroups),
  }),
}));

const UserGroupConnection = builder.connectionObject(
  { type: UserGroup, name: 'UserGroupConnection' },
  { name: 'UserGroupEdge' },
);

/** Whether the viewer, who is no guest, is in the group by name. */
const isDirectMember = (ctx: GraphQLContext, groupId: number) =>
  memberships(ctx).load({ groupId, userId: signedIn(ctx).viewer.id, direct: true });

builder.prismaObjectFields(UserGroup, (t) => ({
  viewerCanManage: t.boolean({
    description: 'Whether the viewer may change everything about it, and deactivate it.',
    resolve: async (group, _args, ctx) => managesGroup(await viewerAsActor(ctx), group),
  }),
  viewerCanJoin: t.boolean({
    description: 'Whether the viewer is not in the group itself and may put themselves into it.',
    resolve: async (group, _args, ctx) => {
      const actor = await viewerAsActor(ctx);
      return mayChangeMembers({ actor, group }, { add: [actor.person.id] }) && !(await isDirectMember(ctx, group.id));
    },
  }),
  viewerCanLeave: t.boolean({
    description: 'Whether the viewer is in the group itself and may take themselves out of it.',
    resolve: async (group, _args, ctx) => {
      const actor = await viewerAsActor(ctx);
      return mayChangeMembers({ actor, group }, { remove: [actor.person.id] }) && isDirectMember(ctx, group.id);
    },
  }),
  viewerCanMention: t.boolean({
    description: 'Whether the viewer may mention it in messages. Nobody is told of a mention of a deactivated one.',
    resolve: async (group, _args, ctx) => holdsInGroup(await viewerAsActor(ctx), group, 'can_mention_group'),
  }),
}));

builder.prismaObjectField(UserGroup, 'subgroups', (t) =>
  t.connection(
    {
      type: UserGroup,
      description: 'The groups in it, by id.',
      args: { directOnly: t.arg.boolean({ defaultValue: false, description: DEPTH }) },
      resolve: async ({ id }, { directOnly, ...args }, ctx) => {
        const { after, before, limit, descending } = placeOf('subgroup', args);
        const all = await subgroups(ctx).load({ groupId: id, direct: directOnly ?? false });
        const within = all.filter((group) => group.id > after && group.id < before);
        const rows = (descending ? within.toReversed() : within).slice(0, limit);
        return pageFrom('subgroup', rows, args, () => all.length);
      },
    },
    UserGroupConnection,
  ),
);

/** Where the page lies that the arguments ask for, with one row more than it shows. */
const placeOf = (list: string, args: ConnectionArguments) => ({
  after: idInCursor(list, args, 'after') ?? 0,
  before: idInCursor(list, args, 'before') ?? 2 ** 31,
  limit: pageSize(args) + 1,
  descending: args.first == null && args.last != null,
});

function pageFrom<Row extends { readonly id: number }>(
  list: string,
  rows: readonly Row[],
  args: ConnectionArguments,
  totalCount?: () => number,
) {
  const { limit, descending } = placeOf(list, args);
  const page = rows.slice(0, limit - 1);
  const more = rows.length === limit;
  return pageByIds(list, descending ? page.toReversed() : page, { idOf: ({ id }) => id, more, args, totalCount });
}

builder.queryField('userGroup', (t) =>
  t.field({
    type: UserGroup,
    nullable: true,
    description: 'One group, deactivated or not; null when there is none, and for guests.',
    args: { userGroupId: t.arg.id({ ...refersTo('UserGroup'), description: 'Which group.' }) },
    resolve: (_root, { userGroupId }, ctx) => unlessAbsent(accessUserGroup(signedIn(ctx), userGroupId)),
  }),
);

builder.queryField('userGroups', (t) =>
  t.connection(
    {
      type: UserGroup,
      description: "The organization's groups by id, role groups among them. For all but guests.",
      args: {
        includeDeactivated: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether deactivated groups are listed as well.',
        }),
      },
      resolve: (_root, args, ctx, info) => {
        const where = { AND: [visibleTo(signedIn(ctx)), args.includeDeactivated ? {} : { deactivatedAt: null }] };
        return pageOf('UserGroup', { where, order: { id: 'asc' }, args, ctx, info });
      },
    },
    UserGroupConnection,
  ),
);

const GroupPermissionsInput = permissionsInput(
  'UserGroupPermissionsInput',
  'Who is to hold which permission; what is left out stays or is the default.',
  MEANING,
);

const GroupPermissionEditsInput = permissionEditsInput(
  'UserGroupPermissionEditsInput',
  'Who is to hold which permission; what is left out stays.',
  MEANING,
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
      description: 'The groups it is within, for SUBGROUP; empty for all others.',
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
    settings: t.stringList({
      description: 'The permissions it holds there, by their names in the REST API.',
      resolve: (objection) => ('settings' in objection ? [...objection.settings] : []),
    }),
  }),
});

errorType(CannotDeactivateGroupInUseError, 'The group is within others, or holds permissions.', (t) => ({
  objections: t.field({
    type: [GroupObjectionType],
    description: 'All that goes by it.',
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

/** The group that an event is about. */
const aboutGroup = fromEvent(factsAbout, ({ facts }: EventSource<unknown, KnownGroup>) => facts.group);

eventType<unknown, KnownGroup>(
  'user_group',
  'add',
  'UserGroupAddedEvent',
  (t) => ({ userGroup: t.field({ type: UserGroup, nullable: true, description: 'The group.', ...aboutGroup }) }),
  { description: 'There is a new group; or one came back, to clients that know no deactivated ones.' },
);

eventType<unknown, KnownGroup>(
  'user_group',
  'update',
  'UserGroupUpdatedEvent',
  (t) => ({
    userGroup: t.field({ type: UserGroup, nullable: true, description: 'As it is now.', ...aboutGroup }),
  }),
  { description: 'A group changed.' },
);

eventType<{ group_id: number }>(
  'user_group',
  'remove',
  'UserGroupRemovedEvent',
  (t) => ({
    userGroupId: t.id({ ...refersTo('UserGroup'), description: 'The group.', resolve: ({ event }) => event.group_id }),
  }),
  { description: 'A group was deactivated. To clients that know no deactivated ones.' },
);

for (const [op, name, description] of [
  ['add_members', 'UserGroupMembersAddedEvent', 'Users came into a group.'],
  ['remove_members', 'UserGroupMembersRemovedEvent', 'Users are in a group no more.'],
] as const) {
  eventType<{ user_ids: readonly number[] }, KnownGroup>(
    'user_group',
    op,
    name,
    (t) => ({
      userGroup: t.field({ type: UserGroup, nullable: true, description: 'The group.', ...aboutGroup }),
      users: t.field({
        type: [User],
        nullable: { list: false, items: true },
        description: 'Those who came or went, into or out of the group itself.',
        ...fromEvent(userReference, ({ event }: EventSource<{ user_ids: readonly number[] }>) => event.user_ids),
      }),
    }),
    { description },
  );
}

type WithSubgroups = KnownGroup & { readonly subgroupIds: readonly number[] };

for (const [op, name, description] of [
  ['add_subgroups', 'UserGroupSubgroupsAddedEvent', 'Groups came into a group.'],
  ['remove_subgroups', 'UserGroupSubgroupsRemovedEvent', 'Groups are in a group no more.'],
] as const) {
  eventType<unknown, WithSubgroups>(
    'user_group',
    op,
    name,
    (t) => ({
      userGroup: t.field({ type: UserGroup, nullable: true, description: 'The group.', ...aboutGroup }),
      subgroups: t.field({
        type: [UserGroup],
        nullable: { list: false, items: true },
        description: 'Those that came or went, into or out of the group itself. None to guests, who see no groups.',
        ...fromEvent(groupReference, ({ facts }: EventSource<unknown, WithSubgroups>) => facts.subgroupIds),
      }),
    }),
    { description },
  );
}
