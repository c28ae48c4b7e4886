import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { type EntityFacts, fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { sortedPageOf } from '../../api/graphql/sorted-list.ts';
import { byKeyIfAny } from '../../api/graphql/together.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { folderFacts, folderReference, placedFolder } from './entity-facts.ts';
import type { KnownFolder } from './events.ts';
import { createChannelFolder, reorderChannelFolders, updateChannelFolder, visibleTo } from './service.ts';
import type { FolderFacts } from './wire.ts';

const CALLED = 'What it is called, in at most 60 characters.';
const SOURCE = 'What it is for, in flavored Markdown; at most 1,024 characters.';
const HTML = 'What it is for, as HTML.';
const ORDER = "Its place in the organization's list, lowest first.";
const ARCHIVED = 'Whether it is out of use.';
const CREATED = 'When it was made.';
const CREATOR = 'Who made it; null when nobody is known to have.';
const NAME = 'Not blank; at most 60 characters; unique in the organization, in whatever case.';
const DESCRIPTION = 'Flavored Markdown; at most 1,024 characters.';

export const ChannelFolder = builder.prismaNode('ChannelFolder', {
  description: 'A heading under which channels stand together.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
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
  ORDER: { value: 'order', description: "Their place in the organization's list." },
  NAME: { value: 'name', description: 'What they are called, whatever the case.' },
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
          description: 'How they are sorted.',
        }),
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether archived folders are listed as well.',
        }),
      },
      resolve: async (_root, args, ctx, info) => {
        const where = { AND: [visibleTo(signedIn(ctx)), args.includeArchived ? {} : { isArchived: false }] };
        const orderBy = args.orderBy ?? AS_PLACED;
        const rows = await ctx.app.db.channelFolder.findMany({ where, select: { id: true, name: true, order: true } });
        const places = rows.map((folder) => ({ id: folder.id, key: folder[orderBy.field] }));
        const keyType = orderBy.field === 'name' ? 'string' : 'number';
        return sortedPageOf('ChannelFolder', { list: 'folders', places, orderBy, keyType, where, args, ctx, info });
      },
    },
    ChannelFolderConnection,
  ),
);

mutation('createChannelFolder', {
  description: 'Makes a channel folder, last in the order. For administrators.',
  input: (t) => ({
    name: t.string({ description: NAME }),
    description: t.string({ required: false, defaultValue: '', description: DESCRIPTION }),
  }),
  payload: () => ({ channelFolder: { type: ChannelFolder, description: 'The new folder.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { name, description }) => ({
    channelFolder: await createChannelFolder(ctx, { name, description: description ?? '' }),
  }),
});

mutation('updateChannelFolder', {
  description: 'Changes what is given of a channel folder, archives or restores it. For administrators.',
  input: (t) => ({
    channelFolderId: t.id({ ...refersTo('ChannelFolder'), description: 'Which folder to change.' }),
    name: t.string({ required: false, description: NAME }),
    description: t.string({ required: false, description: DESCRIPTION }),
    isArchived: t.boolean({
      required: false,
      description: 'Whether it is to be out of use: a folder with channels in it cannot be.',
    }),
  }),
  payload: () => ({ channelFolder: { type: ChannelFolder, description: 'The folder, after the change.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { channelFolderId, name, description, isArchived }) => ({
    channelFolder: await updateChannelFolder(ctx, channelFolderId, {
      name: name ?? undefined,
      description: description ?? undefined,
      isArchived: isArchived ?? undefined,
    }),
  }),
});

mutation('reorderChannelFolders', {
  description: 'Puts the channel folders into a new order. For administrators.',
  input: (t) => ({
    order: t.idList({ ...refersTo('ChannelFolder'), description: 'The id of every folder, archived ones included.' }),
  }),
  payload: () => ({
    channelFolders: { type: [ChannelFolder], description: 'All folders, in the new order; at most 1,000.' },
  }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { order }) => ({ channelFolders: await reorderChannelFolders(ctx, order) }),
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
      ...fromEvent(folderFacts),
    }),
  }),
  { description: 'An administrator made a channel folder.' },
);

eventType<unknown, KnownFolder>(
  'channel_folder',
  'update',
  'ChannelFolderUpdatedEvent',
  (t) => ({
    channelFolder: t.field({
      type: ChannelFolder,
      nullable: true,
      description: 'As it is now.',
      ...fromEvent<EventSource<unknown, KnownFolder>, FolderFacts | number>(
        ({ facts }) =>
          (facts.folder === undefined ? folderReference : folderFacts) as EntityFacts<FolderFacts | number>,
        ({ facts }) => facts.folder ?? facts.id,
      ),
    }),
  }),
  { description: 'An administrator changed a channel folder.' },
);

eventType<{ order: readonly number[] }>(
  'channel_folder',
  'reorder',
  'ChannelFoldersReorderedEvent',
  (t) => ({
    channelFolders: t.field({
      type: [ChannelFolder],
      nullable: { list: false, items: true },
      description: 'Every folder, in the new order.',
      ...fromEvent(placedFolder, ({ event }: EventSource<{ order: readonly number[] }>) =>
        event.order.map((id, order) => ({ id, order })),
      ),
    }),
  }),
  { description: 'An administrator put the channel folders into a new order.' },
);
