import { signedIn } from '../../access/context.ts';
import { holdsInGroup, managesGroup, wirePermissions } from '../../access/permissions/group-permissions.ts';
import { GROUP_PERMISSION_MEANINGS } from '../../access/permissions/meanings.ts';
import { systemGroups } from '../../access/permissions/system-groups.ts';
import { builder } from '../../api/graphql/builder.ts';
import type { ConnectionArguments } from '../../api/graphql/connection.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { byNumber, nodeModel, nodeOf, nodesOf, unlessAbsent } from '../../api/graphql/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { GroupSetting, permissionsType } from '../../api/graphql/permission-fields.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { pageRead, sortedAmong, sortedConnection, sortedPageOf } from '../../api/graphql/sorted-list.ts';
import { byKeyIfAny } from '../../api/graphql/together.ts';
import { viewerAsActor } from '../../channels/loaders.ts';
import type { UserGroup as Row } from '../../generated/prisma/client.ts';
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
import type { Place } from '../../platform/db/keyset.ts';
import { contains } from '../../platform/text.ts';
import { accessUserGroup, visibleTo } from './access.ts';
import { memberCounts, memberPages, memberships, subgroups } from './loaders.ts';
import { mayChangeMembers } from './members.ts';

const GroupPermissions = permissionsType(
  'UserGroupPermissions',
  'Who may do what with a group.',
  GROUP_PERMISSION_MEANINGS,
);

const CALLED = 'What it is called, in at most 100 characters.';
const SAID = 'What it is for; at most 1,024 characters.';
const ROLE_GROUP = 'Whether its members follow from their roles. Nobody changes such a group.';
const DEACTIVATED = 'Whether it is out of use: it can be given no permission and be put into no group.';
const CREATED = 'When it was made; null for a role group.';
const CREATOR = 'Who made it; null for a role group, and when nobody is known to have.';
export const PERMISSIONS = 'Who may do what with it.';
const DEPTH = 'Only what is in the group itself, not what is in groups within it.';
export const GROUP_NAME = 'Not blank; at most 100 characters; unique in the organization, in whatever case.';
export const GROUP_DESCRIPTION = 'At most 1,024 characters.';

export const UserGroup = builder.prismaNode('UserGroup', {
  description: 'A named set of users. There is one for each role, and any number of others.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
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
        description: 'The active users in it.',
        args: {
          orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_USER_ID, description: SORTED }),
          directOnly: t.arg.boolean({ defaultValue: false, description: DEPTH }),
        },
        resolve: async ({ id }, { directOnly, ...args }, ctx) => {
          const { sorted, page } = sortedUsers('members', args);
          const which = { groupId: id, direct: directOnly ?? false };
          const found = pageRead(await memberPages(ctx).load({ ...which, ...page }), sorted);
          const rows = await usersAt(ctx, found);
          const totalCount = () => memberCounts(ctx).load(which);
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

/** Nobody's id, so not the viewer's either. */
const NOBODY = 0;

builder.prismaObjectFields(UserGroup, (t) => ({
  viewerCanManage: t.boolean({
    description: 'Whether the viewer may change everything about it, and deactivate it.',
    resolve: async (group, _args, ctx) => managesGroup(await viewerAsActor(ctx), group),
  }),
  viewerCanAddMembers: t.boolean({
    description: 'Whether the viewer may put any user or group into it.',
    resolve: async (group, _args, ctx) =>
      mayChangeMembers({ actor: await viewerAsActor(ctx), group }, { add: [NOBODY], addSubgroups: [NOBODY] }),
  }),
  viewerCanRemoveMembers: t.boolean({
    description: 'Whether the viewer may take any user out of it. Groups are taken out by those who manage it.',
    resolve: async (group, _args, ctx) =>
      mayChangeMembers({ actor: await viewerAsActor(ctx), group }, { remove: [NOBODY] }),
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

type GroupField = 'id' | 'name' | 'createdAt';

const UserGroupOrder = orderInput<GroupField>('UserGroup', 'groups', {
  ID: { value: 'id', description: 'The order in which they were made, role groups first.' },
  NAME: { value: 'name', description: 'What they are called, whatever the case.' },
  CREATED_AT: { value: 'createdAt', description: 'When they were made; role groups are the lowest.' },
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

const placeOf = (field: GroupField, group: Sortable): Place => ({ id: group.id, key: KEY_OF[field](group) });

builder.prismaObjectField(UserGroup, 'subgroups', (t) =>
  t.connection(
    {
      type: UserGroup,
      description: 'The groups in it.',
      args: {
        orderBy: t.arg({ type: UserGroupOrder, required: false, defaultValue: BY_ID, description: SORTED }),
        directOnly: t.arg.boolean({ defaultValue: false, description: DEPTH }),
      },
      resolve: async ({ id }, { directOnly, ...args }, ctx) => {
        const sorted = sortedGroups('subgroups', args);
        const all = await subgroups(ctx).load({ groupId: id, direct: directOnly ?? false });
        return sortedAmong(all, (group) => placeOf(sorted.orderBy.field, group), sorted);
      },
    },
    UserGroupConnection,
  ),
);

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
      description: "The organization's groups, role groups among them. For all but guests.",
      args: {
        orderBy: t.arg({ type: UserGroupOrder, required: false, defaultValue: BY_ID, description: SORTED }),
        nameContains: t.arg.string({ required: false, description: 'What stands in its name, in whatever case.' }),
        includeDeactivated: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether deactivated groups are listed as well.',
        }),
      },
      resolve: async (_root, args, ctx, info) => {
        const where = { AND: [visibleTo(signedIn(ctx)), args.includeDeactivated ? {} : { deactivatedAt: null }] };
        const sorted = sortedGroups('userGroups', args);
        const rows = await ctx.app.db.userGroup.findMany({ where, select: { id: true, name: true, createdAt: true } });
        const places = rows
          .filter(({ name }) => contains(name, args.nameContains))
          .map((group) => placeOf(sorted.orderBy.field, group));
        return sortedPageOf('UserGroup', { ...sorted, places, where, ctx, info });
      },
    },
    UserGroupConnection,
  ),
);
