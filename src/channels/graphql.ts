import { type Ctx, signedIn } from '../access/context.ts';
import {
  CHANNEL_PERMISSION_NAMES,
  type ChannelPermissionName,
  type ChannelPermissions,
  channelPermission,
} from '../access/permissions/channel-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS } from '../access/permissions/meanings.ts';
import { systemGroups, toWireGroupSetting, type WireGroupSetting } from '../access/permissions/system-groups.ts';
import { TOPICS_POLICY } from '../access/realm-settings.ts';
import { builder } from '../api/graphql/builder.ts';
import type { GraphQLContext } from '../api/graphql/context.ts';
import { errorType } from '../api/graphql/errors.ts';
import { nodeTypeForEach, unlessAbsent } from '../api/graphql/node.ts';
import { type OrderBy, orderInput } from '../api/graphql/order-by.ts';
import { pageSize } from '../api/graphql/page-size.ts';
import { permissionsType } from '../api/graphql/permission-fields.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { enumOf } from '../api/graphql/setting-fields.ts';
import { sortedPageOf } from '../api/graphql/sorted-list.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { contains } from '../platform/text.ts';
import { accessChannel, readableBy, visibleTo } from './access.ts';
import { readActivity } from './activity.ts';
import { ChannelAlreadyExistsError, ChannelDoesNotExistError } from './errors.ts';
import { channelActivities, visibleFor } from './loaders.ts';
import { findChannelId } from './reads.ts';
import type { TopicsPolicy } from './settings.ts';
import { countSubscribers } from './subscriptions/subscribers.ts';

const CALLED = 'What it is called, in at most 60 characters.';
const SOURCE = 'What it is for, in flavored Markdown; at most 1,024 characters.';
const HTML = 'What it is for, as HTML.';
export const PRIVATE = 'Whether only those read it who are subscribed or hold a permission for it.';
export const WEB_PUBLIC = 'Whether it can be read without signing in.';
export const HISTORY = 'Whether new subscribers see what was sent before they came; always so unless it is private.';
const ARCHIVED = 'Whether nothing more can be sent to it. It can still be read.';
export const DEFAULT = 'Whether new users are subscribed to it.';
const ACTIVE = 'Whether it was made, or written to, in the last 180 days.';
const TRAFFIC = 'Messages a week, in two significant digits; null in the first week.';
export const TOPICS = 'Whether messages in it must have a topic.';
const CREATED = 'When it was made.';
const CREATOR = 'Who made it; null when nobody is known to have.';
export const FOLDER = 'The folder it stands in; null for none.';
export const PERMISSIONS = 'Who may do what in it.';

export const NAME = 'Not blank; at most 60 characters; unique in the organization, in whatever case.';
export const CHANNEL_DESCRIPTION = 'Flavored Markdown; at most 1,024 characters. Line breaks become spaces.';

errorType(ChannelDoesNotExistError, 'The channel is not there, or not for the viewer.', (t) => ({
  channelId: t.id({
    ...refersTo('Channel'),
    nullable: true,
    description: 'The channel, where it was asked for by id.',
    resolve: ({ data }) => ('stream_id' in data ? data.stream_id : null),
  }),
  channelName: t.string({
    nullable: true,
    description: 'The name, where it was asked for by name.',
    resolve: ({ data }) => ('stream' in data ? data.stream : null),
  }),
}));
errorType(ChannelAlreadyExistsError, 'The name is taken, in whatever case.', (t) => ({
  channelName: t.string({ description: 'The name, as it was asked for.', resolve: ({ data }) => data.channel_name }),
}));

export const TopicsPolicyEnum = enumOf(TOPICS_POLICY);

type PermissionsSource = Record<ChannelPermissionName, WireGroupSetting>;

const ChannelPermissionsType = permissionsType(
  'ChannelPermissions',
  'Who may do what in a channel.',
  CHANNEL_PERMISSION_MEANINGS,
);
async function permissionsOf({ app, realmId }: Ctx, channel: ChannelPermissions): Promise<PermissionsSource> {
  const groups = await systemGroups(app.db, realmId);
  const settings = CHANNEL_PERMISSION_NAMES.map((name) => [
    name,
    toWireGroupSetting(groups, channelPermission(groups, channel, name)),
  ]);
  return Object.fromEntries(settings) as PermissionsSource;
}

export const RETENTION = "Days to keep messages; -1 keeps them for ever, null is the organization's value.";

export const Channel = builder.prismaNode('Channel', {
  description: 'A place for messages, each under a topic.',
  id: { field: 'id' },
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    name: t.exposeString('name', { description: CALLED }),
    description: t.exposeString('description', { description: SOURCE }),
    renderedDescription: t.exposeString('renderedDescription', { description: HTML }),
    isPrivate: t.exposeBoolean('inviteOnly', { description: PRIVATE }),
    isWebPublic: t.exposeBoolean('isWebPublic', { description: WEB_PUBLIC }),
    historyPublicToSubscribers: t.exposeBoolean('historyPublicToSubscribers', { description: HISTORY }),
    isArchived: t.exposeBoolean('isArchived', { description: ARCHIVED }),
    isDefault: t.exposeBoolean('isDefault', { description: DEFAULT }),
    isRecentlyActive: t.boolean({
      description: ACTIVE,
      resolve: async (channel, _args, ctx) => (await channelActivities(ctx).load(channel)).isRecentlyActive,
    }),
    weeklyTraffic: t.int({
      nullable: true,
      description: TRAFFIC,
      resolve: async (channel, _args, ctx) => (await channelActivities(ctx).load(channel)).weeklyTraffic,
    }),
    topicsPolicy: t.field({
      type: TopicsPolicyEnum,
      description: TOPICS,
      resolve: ({ topicsPolicy }) => topicsPolicy as TopicsPolicy,
    }),
    messageRetentionDays: t.exposeInt('messageRetentionDays', { nullable: true, description: RETENTION }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: CREATED }),
    creator: t.relation('creator', { nullable: true, description: CREATOR }),
    folder: t.relation('folder', { nullable: true, description: FOLDER }),
    permissions: t.field({
      type: ChannelPermissionsType,
      description: PERMISSIONS,
      resolve: (channel, _args, ctx) => permissionsOf(signedIn(ctx), channel),
    }),
  }),
});
nodeTypeForEach('Channel', visibleFor);

builder.queryField('channel', (t) =>
  t.prismaField({
    type: Channel,
    nullable: true,
    description: 'One channel, by `channelId` or by `name`; null when there is none, or none the viewer sees.',
    args: {
      channelId: t.arg.id({
        ...refersTo('Channel'),
        required: false,
        description: 'Which channel; absent with `name`.',
      }),
      name: t.arg.string({ required: false, description: 'What it is called, in whatever case.' }),
    },
    resolve: async (query, _root, { channelId, name }, ctx) => {
      if ((channelId == null) === (name == null)) throw new BadRequestError('Give either channelId or name');
      const me = signedIn(ctx);
      const found = async () => accessChannel(me, channelId ?? (await findChannelId(me, name ?? '')));
      const channel = await unlessAbsent(found());
      return channel === null ? null : ctx.app.db.channel.findUnique({ ...query, where: { id: channel.id } });
    },
  }),
);

export const ChannelConnection = builder.connectionObject(
  { type: Channel, name: 'ChannelConnection' },
  { name: 'ChannelEdge' },
);

type ChannelField = 'name' | 'createdAt' | 'subscriberCount' | 'weeklyTraffic';

const ChannelOrder = orderInput<ChannelField>('Channel', 'channels', {
  NAME: { value: 'name', description: 'What they are called, whatever the case.' },
  CREATED_AT: { value: 'createdAt', description: 'When they were made.' },
  SUBSCRIBER_COUNT: { value: 'subscriberCount', description: 'How many users are subscribed. It costs 10 more.' },
  WEEKLY_TRAFFIC: {
    value: 'weeklyTraffic',
    description: 'Messages a week; channels in their first week are the lowest. It costs 10 more.',
  },
});

const BY_NAME: OrderBy<ChannelField> = { field: 'name', direction: 'asc' };
/** Our choice: what it costs besides the page to sort by what must be counted of every channel. */
const COUNTING_COST = 10;
const isCounted = (field: ChannelField) => field === 'subscriberCount' || field === 'weeklyTraffic';

builder.queryField('channels', (t) =>
  t.connection(
    {
      type: Channel,
      description: 'The channels the viewer sees. Each argument given leaves out those it does not fit.',
      complexity: ({ orderBy, ...page }) => ({
        field: orderBy != null && isCounted(orderBy.field) ? 1 + COUNTING_COST : 1,
        multiplier: pageSize(page),
      }),
      args: {
        orderBy: t.arg({
          type: ChannelOrder,
          required: false,
          defaultValue: BY_NAME,
          description: 'How they are sorted.',
        }),
        nameContains: t.arg.string({ required: false, description: 'What stands in its name, in whatever case.' }),
        isSubscribed: t.arg.boolean({ required: false, description: 'Whether the viewer is subscribed to it.' }),
        onlyReadable: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Leaves out channels of which the viewer may not read what is written.',
        }),
        isPrivate: t.arg.boolean({ required: false, description: PRIVATE }),
        isWebPublic: t.arg.boolean({ required: false, description: WEB_PUBLIC }),
        isDefault: t.arg.boolean({ required: false, description: DEFAULT }),
        folderId: t.arg.id({
          ...refersTo('ChannelFolder'),
          required: false,
          description: 'The folder it stands in.',
        }),
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether archived channels are listed as well.',
        }),
      },
      resolve: async (_root, { nameContains, ...args }, ctx, info) => {
        const where = { AND: [await visibleTo(signedIn(ctx)), await filterOf(signedIn(ctx), args)] };
        const rows = await ctx.app.db.channel.findMany({ where, select: { id: true, name: true, createdAt: true } });
        const orderBy = args.orderBy ?? BY_NAME;
        const keyType = orderBy.field === 'name' ? 'string' : 'number';
        const wanted = rows.filter(({ name }) => contains(name, nameContains));
        const places = await placesBy(orderBy.field, wanted, ctx);
        return sortedPageOf('Channel', { list: 'channels', places, orderBy, keyType, where, args, ctx, info });
      },
    },
    ChannelConnection,
  ),
);

interface Sortable {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
}

/** Of each channel what a list is sorted by: what is counted takes two statements, however many channels. */
async function placesBy(field: ChannelField, channels: readonly Sortable[], ctx: GraphQLContext) {
  const countOf =
    field === 'subscriberCount'
      ? await countSubscribers(
          ctx.app.db,
          channels.map(({ id }) => id),
        )
      : null;
  const { realm } = signedIn(ctx).viewer;
  const activityOf = field === 'weeklyTraffic' ? await readActivity(ctx.app.db, realm, channels, ctx.app.now()) : null;
  const keyOf: Readonly<Record<ChannelField, (channel: Sortable) => string | number>> = {
    name: ({ name }) => name,
    createdAt: ({ createdAt }) => createdAt.getTime(),
    subscriberCount: ({ id }) => countOf?.(id) ?? 0,
    weeklyTraffic: ({ id }) => activityOf?.(id).weeklyTraffic ?? -1,
  };
  return channels.map((channel) => ({ id: channel.id, key: keyOf[field](channel) }));
}

interface ChannelArguments {
  readonly isSubscribed?: boolean | null | undefined;
  readonly onlyReadable?: boolean | null | undefined;
  readonly isPrivate?: boolean | null | undefined;
  readonly isWebPublic?: boolean | null | undefined;
  readonly isDefault?: boolean | null | undefined;
  readonly folderId?: number | null | undefined;
  readonly includeArchived?: boolean | null | undefined;
}

async function filterOf(ctx: Ctx, args: ChannelArguments) {
  const { isSubscribed, onlyReadable, isPrivate, isWebPublic, isDefault, folderId, includeArchived } = args;
  const mine = { userId: ctx.viewer.id, active: true };
  return {
    ...(isPrivate != null && { inviteOnly: isPrivate }),
    ...(isWebPublic != null && { isWebPublic }),
    ...(isDefault != null && { isDefault }),
    // An id that no row can have is the id of no folder.
    ...(folderId != null && { folderId: isRowId(folderId) ? folderId : -1 }),
    ...(isSubscribed != null && { subscriptions: isSubscribed ? { some: mine } : { none: mine } }),
    ...(includeArchived !== true && { isArchived: false }),
    ...(onlyReadable === true && { AND: [await readableBy(ctx)] }),
  };
}

/** The channel, unless the change put it out of the viewer's sight. */
export async function stillSeen(ctx: Ctx, channelId: number) {
  const where = { AND: [{ id: channelId }, await visibleTo(ctx)] };
  return { channel: await ctx.app.db.channel.findFirst({ where }) };
}
