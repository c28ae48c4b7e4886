import { type Ctx, signedIn } from '../../access/context.ts';
import { byKeyIfAny } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { refuseBoth, requireMember } from '../../api/graphql/schema/deprecated-members.ts';
import { type EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { sortedPageOf } from '../../api/graphql/schema/sorted-list.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { byName } from '../../platform/db/keyset.ts';
import type { ListedRows } from '../../platform/db/places.ts';
import { folderProjection, folderReference, placedFolder } from './event-projections.ts';
import type { ProjectedFolder } from './events.ts';
import { createChannelFolder, reorderChannelFolders, updateChannelFolder, visibleTo } from './service.ts';
import type { FolderSnapshot } from './wire.ts';

const CALLED = 'Name of the folder, at most 60 characters.';
const SOURCE = 'Description of the folder, in Markdown, at most 1,024 characters.';
const HTML = 'Description of the folder, as HTML.';
const ORDER = "Position among the organization's folders. The lowest is first.";
const ARCHIVED = 'Whether the folder is archived.';
const CREATED = 'Creation time.';
const CREATOR = 'User who created the folder. Null if no creator is recorded.';
const NAME = 'Name: not blank, at most 60 characters, unique in the organization (case-insensitive).';
const DESCRIPTION = 'Description in Markdown, at most 1,024 characters.';

export const ChannelFolder = builder.prismaNode('ChannelFolder', {
  description: "A named group of channels in the organization's list of channels.",
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id of the folder in the REST API.' }),
    name: t.exposeString('name', { description: CALLED }),
    description: t.exposeString('description', { description: SOURCE }),
    renderedDescription: t.exposeString('renderedDescription', { description: HTML }),
    order: t.exposeInt('order', { description: ORDER }),
    isArchived: t.exposeBoolean('isArchived', { description: ARCHIVED }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: CREATED }),
    creator: t.field({
      type: User,
      nullable: true,
      description: CREATOR,
      resolve: byKeyIfAny(usersById, ({ creatorId }) => creatorId),
    }),
  }),
});
nodeModel('ChannelFolder', 'ChannelFolder', visibleTo);

const ChannelFolderConnection = builder.connectionObject(
  { type: ChannelFolder, name: 'ChannelFolderConnection' },
  { name: 'ChannelFolderEdge' },
);

type FolderField = 'order' | 'name';

const FolderOrder = orderInput<FolderField>('ChannelFolder', 'folders', {
  ORDER: { value: 'order', description: "Position among the organization's folders." },
  NAME: { value: 'name', description: 'Name, case-insensitive.' },
});

const FOLDER_ID = Prisma.sql`f.id`;
const COLUMNS = {
  order: { key: Prisma.sql`f.position`, keyType: 'number' },
  name: { ...byName(Prisma.sql`f.name`), keyType: 'string' },
} as const;

const listedFolders = ({ organizationId }: Ctx, includeArchived: boolean): ListedRows => ({
  from: Prisma.sql`channel_folder f`,
  where: Prisma.sql`f.realm_id = ${organizationId} AND (${includeArchived}::boolean OR NOT f.is_archived)`,
});

const AS_PLACED: OrderBy<FolderField> = { field: 'order', direction: 'asc' };

builder.queryField('channelFolders', (t) =>
  t.connection(
    {
      type: ChannelFolder,
      description: "The organization's channel folders.",
      args: {
        orderBy: t.arg({
          type: FolderOrder,
          required: false,
          defaultValue: AS_PLACED,
          description: 'Sort order.',
        }),
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether to include archived folders.',
        }),
      },
      resolve: (_root, args, ctx, info) => {
        const request = signedIn(ctx);
        const [where, orderBy] = [visibleTo(request), args.orderBy ?? AS_PLACED];
        const { keyType, ...column } = COLUMNS[orderBy.field];
        const rows = listedFolders(request, args.includeArchived === true);
        const sorted = { list: 'folders', orderBy, keyType, args } as const;
        return sortedPageOf('ChannelFolder', { ...sorted, rows, column, id: FOLDER_ID, where, ctx, info });
      },
    },
    ChannelFolderConnection,
  ),
);

mutation('createChannelFolder', {
  scope: 'administration',
  description: 'Creates a channel folder at the end of the list. For administrators.',
  input: (t) => ({
    name: t.string({ description: NAME }),
    description: t.string({ required: false, defaultValue: '', description: DESCRIPTION }),
  }),
  payload: () => ({ channelFolder: { type: ChannelFolder, description: 'The new folder.' } }),
  resolve: async (ctx, { name, description }) => ({
    channelFolder: await createChannelFolder(ctx, { name, description: description ?? '' }),
  }),
});

const ID_DESCRIPTION = 'Id of the folder.';
const changedFolder = () => ({ channelFolder: { type: ChannelFolder, description: 'The folder after the change.' } });

mutation('updateChannelFolder', {
  scope: 'administration',
  description: 'Updates a channel folder. Omitted fields do not change. For administrators.',
  input: (t) => ({
    channelFolderId: t.id({ ...refersTo('ChannelFolder'), description: ID_DESCRIPTION }),
    name: t.string({ required: false, description: NAME }),
    description: t.string({ required: false, description: DESCRIPTION }),
    isArchived: t.boolean({
      required: false,
      description: 'Whether the folder is archived. A folder that contains channels cannot be archived.',
      deprecationReason: 'Use `archiveChannelFolder` or `unarchiveChannelFolder`.',
    }),
  }),
  payload: changedFolder,
  resolve: async (ctx, { channelFolderId, name, description, isArchived }) => ({
    channelFolder: await updateChannelFolder(ctx, channelFolderId, {
      name: name ?? undefined,
      description: description ?? undefined,
      isArchived: isArchived ?? undefined,
    }),
  }),
});

for (const [name, isArchived, description] of [
  ['archiveChannelFolder', true, 'Archives a channel folder. It must not contain channels. For administrators.'],
  ['unarchiveChannelFolder', false, 'Restores an archived channel folder. For administrators.'],
] as const) {
  mutation(name, {
    scope: 'administration',
    description,
    input: (t) => ({ channelFolderId: t.id({ ...refersTo('ChannelFolder'), description: ID_DESCRIPTION }) }),
    payload: changedFolder,
    resolve: async (ctx, { channelFolderId }) => ({
      channelFolder: await updateChannelFolder(ctx, channelFolderId, { isArchived }),
    }),
  });
}

const ALL_IN_ORDER = 'Ids of all folders, including archived ones, in the new order.';

mutation('reorderChannelFolders', {
  scope: 'administration',
  description: 'Reorders the channel folders. For administrators.',
  input: (t) => ({
    channelFolderIds: t.idList({
      ...refersTo('ChannelFolder'),
      required: false,
      description: `${ALL_IN_ORDER} Required, except with the deprecated \`order\`. The next version requires it.`,
    }),
    order: t.idList({
      ...refersTo('ChannelFolder'),
      required: false,
      description: ALL_IN_ORDER,
      deprecationReason: 'Use `channelFolderIds`.',
    }),
  }),
  payload: () => ({
    channelFolders: { type: [ChannelFolder], description: 'All folders in the new order, at most 1,000.' },
  }),
  resolve: async (ctx, { channelFolderIds, order }) => {
    refuseBoth('channelFolderIds', channelFolderIds != null, { order });
    const ids = requireMember('channelFolderIds', channelFolderIds ?? order);
    return { channelFolders: await reorderChannelFolders(ctx, ids) };
  },
});

eventType(
  'channel_folder',
  'add',
  'ChannelFolderAddedEvent',
  (t) => ({
    channelFolder: t.field({
      type: ChannelFolder,
      nullable: true,
      description: 'The new folder.',
      ...projectedFromEvent(folderProjection),
    }),
  }),
  { description: 'A channel folder was created.', outdates: ['channelFolders'] },
);

eventType<unknown, ProjectedFolder>(
  'channel_folder',
  'update',
  'ChannelFolderUpdatedEvent',
  (t) => ({
    channelFolder: t.field({
      type: ChannelFolder,
      nullable: true,
      description: 'The folder after the change.',
      ...projectedFromEvent<EventSource<unknown, ProjectedFolder>, FolderSnapshot | number>(
        ({ facts }) =>
          (facts.folder === undefined ? folderReference : folderProjection) as EventProjection<FolderSnapshot | number>,
        ({ facts }) => facts.folder ?? facts.id,
      ),
    }),
  }),
  { description: 'A channel folder changed.', outdates: ['channelFolders'] },
);

eventType<{ order: readonly number[] }>(
  'channel_folder',
  'reorder',
  'ChannelFoldersReorderedEvent',
  (t) => ({
    channelFolders: t.field({
      type: [ChannelFolder],
      nullable: { list: false, items: true },
      description: 'All folders in the new order.',
      ...projectedFromEvent(placedFolder, ({ event }: EventSource<{ order: readonly number[] }>) =>
        event.order.map((id, order) => ({ id, order })),
      ),
    }),
  }),
  { description: 'The channel folders were reordered.' },
);
