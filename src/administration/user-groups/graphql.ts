import { signedIn } from '../../access/context.ts';
import { holdsInGroup, managesGroup, wirePermissions } from '../../access/permissions/group-permissions.ts';
import { GROUP_PERMISSION_MEANINGS } from '../../access/permissions/meanings.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { byKeyIfAny } from '../../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import type { ConnectionArguments } from '../../api/graphql/schema/connection.ts';
import { refuseBoth, requireMember } from '../../api/graphql/schema/deprecated-members.ts';
import { byNumber, nodeModel, nodeOf, nodesOf, unlessAbsent } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { GroupSetting, permissionsType } from '../../api/graphql/schema/permission-fields.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { pageRead, sortedAmong, sortedConnection, sortedPageOf } from '../../api/graphql/schema/sorted-list.ts';
import { viewerAsActor } from '../../channels/loaders.ts';
import type { UserGroup as Row } from '../../generated/prisma/client.ts';
import { MessageMention } from '../../messages/graphql-content.ts';
import {
  BY_ID as BY_USER_ID,
  SORTED,
  sortedUsers,
  User,
  UserConnection,
  UserOrder,
  usersAt,
} from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import type { RowKey } from '../../platform/db/keyset.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { accessUserGroupBy, visibleTo } from './access.ts';
import { memberCounts, memberPages, memberships, subgroups } from './loaders.ts';
import { mayChangeMembers } from './members.ts';
import { GROUP_COLUMNS, GROUP_ID, type GroupField, listedGroups } from './reads.ts';

const GroupPermissions = permissionsType(
  'UserGroupPermissions',
  'Holders of each permission on a group.',
  GROUP_PERMISSION_MEANINGS,
);

const CALLED = 'Name of the group, at most 100 characters.';
const SAID = 'Description of the group, at most 1,024 characters.';
const ROLE_GROUP = 'Whether the members are determined by their roles. Such a group cannot be changed.';
const DEACTIVATED =
  'Whether the group is deactivated. A deactivated group cannot be given permissions or added to other groups.';
const CREATED = 'Creation time. Null for a role group.';
const CREATOR = 'User who created the group. Null for a role group, or if no creator is recorded.';
export const PERMISSIONS = 'Holders of each permission on the group.';
const DEPTH = 'Whether to include only direct members and direct subgroups, and not those of subgroups.';
export const GROUP_NAME = 'Name: not blank, at most 100 characters, unique in the organization (case-insensitive).';
export const GROUP_DESCRIPTION = 'Description, at most 1,024 characters.';

export const UserGroup = builder.prismaNode('UserGroup', {
  description:
    'A named set of users. For each role there is a role group: the users with this role or a higher one. ' +
    'Users can create other groups.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id of the group in the REST API.' }),
    name: t.exposeString('name', { description: CALLED }),
    description: t.exposeString('description', { description: SAID }),
    isRoleGroup: t.exposeBoolean('isSystem', {
      description: ROLE_GROUP,
    }),
    isDeactivated: t.boolean({ description: DEACTIVATED, resolve: ({ deactivatedAt }) => deactivatedAt !== null }),
    createdAt: t.expose('createdAt', { type: 'DateTime', nullable: true, description: CREATED }),
    creator: t.field({
      type: User,
      nullable: true,
      description: CREATOR,
      resolve: byKeyIfAny(usersById, ({ creatorId }) => creatorId),
    }),
    permissions: t.field({
      type: GroupPermissions,
      description: PERMISSIONS,
      resolve: async (group, _args, ctx) =>
        wirePermissions(await systemGroups(ctx.work.db, group.organizationId), group),
    }),
    hasMember: t.boolean({
      nullable: true,
      description: 'Whether the user is a member. Null if the group is deactivated or the user does not exist.',
      args: {
        userId: t.arg.id({ ...refersTo('User'), description: 'Id of the user.' }),
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
        description: 'Active members, including those of subgroups.',
        args: {
          orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_USER_ID, description: SORTED }),
          directOnly: t.arg.boolean({ defaultValue: false, description: DEPTH }),
        },
        resolve: async ({ id }, { directOnly, ...args }, ctx) => {
          const { sorted, page } = sortedUsers('members', args);
          const depth = { direct: directOnly ?? false };
          const found = pageRead(await memberPages(ctx, id, { ...depth, ...page }), sorted);
          const rows = await usersAt(ctx, found);
          const totalCount = () => memberCounts(ctx, id, depth);
          return sortedConnection(rows, found, { ...sorted, idOf: (user) => user.id, totalCount });
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
    description:
      'The group that holds the permission, if it is exactly one group. Null otherwise, and for guests, who cannot ' +
      'see groups.',
    resolve: (setting, _args, ctx) => nodeOf(ctx, 'UserGroup', typeof setting === 'number' ? setting : null),
  }),
  directMembers: t.field({
    type: [User],
    description: 'Users who hold the permission themselves, not as members of a group, each listed at most once.',
    resolve: (setting, _args, ctx) => (typeof setting === 'number' ? [] : nodesOf(ctx, 'User', setting.direct_members)),
  }),
  directSubgroups: t.field({
    type: [UserGroup],
    description:
      'Groups whose members hold the permission, including `group`, each listed at most once. Empty for guests.',
    resolve: (setting, _args, ctx) =>
      nodesOf(ctx, 'UserGroup', typeof setting === 'number' ? [setting] : setting.direct_subgroups),
  }),
}));

const UserGroupConnection = builder.connectionObject(
  { type: UserGroup, name: 'UserGroupConnection' },
  { name: 'UserGroupEdge' },
);

/** Returns whether the viewer, who must not be a guest, is a direct member of the group. */
const isDirectMember = (ctx: GraphQLContext, groupId: number) =>
  memberships(ctx).load({ groupId, userId: signedIn(ctx).viewer.id, direct: true });

/** Id that no user and no group has. In a permission check, it stands for any user other than the viewer, or for any group. */
const NOBODY = 0;

builder.prismaObjectFields(UserGroup, (t) => ({
  viewerCanManage: t.boolean({
    description: 'Whether the viewer can change all properties of the group and deactivate it.',
    resolve: async (group, _args, ctx) => managesGroup(await viewerAsActor(ctx), group),
  }),
  viewerCanAddMembers: t.boolean({
    description: 'Whether the viewer can add any user or group to this group.',
    resolve: async (group, _args, ctx) =>
      mayChangeMembers({ actor: await viewerAsActor(ctx), group }, { add: [NOBODY], addSubgroups: [NOBODY] }),
  }),
  viewerCanRemoveMembers: t.boolean({
    description:
      'Whether the viewer can remove any user from this group. Only users who can manage the group can remove ' +
      'subgroups.',
    resolve: async (group, _args, ctx) =>
      mayChangeMembers({ actor: await viewerAsActor(ctx), group }, { remove: [NOBODY] }),
  }),
  viewerCanJoin: t.boolean({
    description: 'Whether the viewer is not a direct member and can join the group.',
    resolve: async (group, _args, ctx) => {
      const actor = await viewerAsActor(ctx);
      return mayChangeMembers({ actor, group }, { add: [actor.person.id] }) && !(await isDirectMember(ctx, group.id));
    },
  }),
  viewerCanLeave: t.boolean({
    description: 'Whether the viewer is a direct member and can leave the group.',
    resolve: async (group, _args, ctx) => {
      const actor = await viewerAsActor(ctx);
      return mayChangeMembers({ actor, group }, { remove: [actor.person.id] }) && isDirectMember(ctx, group.id);
    },
  }),
  viewerCanMention: t.boolean({
    description:
      'Whether the viewer can mention the group in messages. A mention of a deactivated group notifies no user.',
    resolve: async (group, _args, ctx) => holdsInGroup(await viewerAsActor(ctx), group, 'can_mention_group'),
  }),
}));

builder.objectField(MessageMention, 'userGroup', (t) =>
  t.field({
    type: UserGroup,
    nullable: true,
    description: 'The mentioned group. Null if the type of the mention is not GROUP, or for guests.',
    resolve: ({ type, id }, _args, ctx) => nodeOf(ctx, 'UserGroup', type === 'group' ? id : null),
  }),
);

const UserGroupOrder = orderInput<GroupField>('UserGroup', 'groups', {
  ID: { value: 'id', description: 'Creation order, role groups first.' },
  NAME: { value: 'name', description: 'Name, case-insensitive.' },
  CREATED_AT: { value: 'createdAt', description: 'Creation time. Role groups have the lowest value.' },
});

const BY_ID: OrderBy<GroupField> = { field: 'id', direction: 'asc' };

type Sortable = Pick<Row, 'id' | 'name' | 'createdAt'>;

const KEY_OF: Readonly<Record<GroupField, (group: Sortable) => string | number>> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  createdAt: ({ createdAt }) => createdAt?.getTime() ?? 0,
};

interface GroupListArguments extends ConnectionArguments {
  readonly orderBy?: OrderBy<GroupField> | null | undefined;
}

const sortedGroups = (list: string, { orderBy, ...args }: GroupListArguments) => {
  const by = orderBy ?? BY_ID;
  return { list, orderBy: by, keyType: by.field === 'name' ? 'string' : 'number', args } as const;
};

const rowKeyOf = (field: GroupField, group: Sortable): RowKey => ({ id: group.id, key: KEY_OF[field](group) });

builder.prismaObjectField(UserGroup, 'subgroups', (t) =>
  t.connection(
    {
      type: UserGroup,
      description: 'Subgroups, including those of subgroups.',
      args: {
        orderBy: t.arg({ type: UserGroupOrder, required: false, defaultValue: BY_ID, description: SORTED }),
        directOnly: t.arg.boolean({ defaultValue: false, description: DEPTH }),
      },
      resolve: async ({ id }, { directOnly, ...args }, ctx) => {
        const sorted = sortedGroups('subgroups', args);
        const all = await subgroups(ctx, id, { direct: directOnly ?? false });
        return sortedAmong(all, (group) => rowKeyOf(sorted.orderBy.field, group), sorted, ctx);
      },
    },
    UserGroupConnection,
  ),
);

/** Reference to a group by id or name. Resolvers receive it as a `UserGroupKey`. */
const UserGroupRef = builder.inputType('UserGroupRef', {
  isOneOf: true,
  description: 'A group, by id or name.',
  fields: (t) => ({
    id: t.id({ ...refersTo('UserGroup'), required: false, description: 'The `id` of the group.' }),
    name: t.string({ required: false, description: 'Name of the group. Case-insensitive.' }),
  }),
});

builder.queryField('userGroup', (t) =>
  t.field({
    type: UserGroup,
    nullable: true,
    description: 'A group, active or deactivated. Null if it does not exist, or for guests.',
    args: {
      by: t.arg({
        type: UserGroupRef,
        required: false,
        description: 'The group. Required, except with the deprecated `userGroupId`. The next version requires it.',
      }),
      userGroupId: t.arg.id({
        ...refersTo('UserGroup'),
        required: false,
        description: 'Id of the group.',
        deprecationReason: 'Use `by: { id }`.',
      }),
    },
    resolve: (_root, { by, userGroupId }, ctx) => {
      const me = signedIn(ctx);
      refuseBoth('by', by != null, { userGroupId });
      const key = requireMember('by', by ?? (userGroupId == null ? null : { id: userGroupId }));
      return unlessAbsent(accessUserGroupBy(me, key));
    },
  }),
);

builder.queryField('userGroups', (t) =>
  t.connection(
    {
      type: UserGroup,
      description: 'Groups of the organization, including role groups. Not available to guests.',
      args: {
        orderBy: t.arg({ type: UserGroupOrder, required: false, defaultValue: BY_ID, description: SORTED }),
        nameContains: t.arg.string({
          required: false,
          description:
            'Only groups whose name contains this text. A name also matches if each word of the text begins a word of ' +
            'the name, in any order. Case and accents are ignored.',
        }),
        includeDeactivated: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether to include deactivated groups.',
        }),
      },
      resolve: (_root, { nameContains, includeDeactivated, ...args }, ctx, info) => {
        if (nameContains != null) refuseNullBytes('nameContains', nameContains);
        const request = signedIn(ctx);
        const where = visibleTo(request);
        const sorted = sortedGroups('userGroups', args);
        const rows = listedGroups(request.organizationId, { nameContains, includeDeactivated });
        const column = GROUP_COLUMNS[sorted.orderBy.field];
        return sortedPageOf('UserGroup', { ...sorted, rows, column, id: GROUP_ID, where, ctx, info });
      },
    },
    UserGroupConnection,
  ),
);
