import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeModel } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import type { WireFolderChanges } from './events.ts';
import { createChannelFolder, reorderChannelFolders, updateChannelFolder, visibleTo } from './service.ts';
import type { WireChannelFolder } from './wire.ts';

const NAME = 'Not blank; at most 60 characters; unique in the organization, in whatever case.';
const DESCRIPTION = 'Flavored Markdown; at most 1,024 characters.';

export const ChannelFolder = builder.prismaNode('ChannelFolder', {
  id: { field: 'id' },
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The id REST uses.' }),
    name: t.exposeString('name'),
    description: t.exposeString('description'),
    renderedDescription: t.exposeString('renderedDescription'),
    order: t.exposeInt('order'),
    isArchived: t.exposeBoolean('isArchived'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    creator: t.relation('creator', { nullable: true }),
  }),
});
nodeModel('ChannelFolder', 'ChannelFolder', visibleTo);

const ChannelFolderConnection = builder.connectionObject(
  { type: ChannelFolder, name: 'ChannelFolderConnection' },
  { name: 'ChannelFolderEdge' },
);

builder.queryField('channelFolders', (t) =>
  t.connection(
    {
      type: ChannelFolder,
      description: "The organization's channel folders in their order.",
      args: { includeArchived: t.arg.boolean({ required: false, defaultValue: false }) },
      resolve: (_root, args, ctx, info) => {
        const where = { AND: [visibleTo(signedIn(ctx)), args.includeArchived ? {} : { isArchived: false }] };
        return pageOf('ChannelFolder', { where, order: { order: 'asc', id: 'asc' }, args, ctx, info });
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
  payload: () => ({ channelFolder: { type: ChannelFolder } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { name, description }) => ({
    channelFolder: await createChannelFolder(ctx, { name, description: description ?? '' }),
  }),
});

mutation('updateChannelFolder', {
  description: 'Changes what is given of a channel folder, archives or restores it. For administrators.',
  input: (t) => ({
    channelFolderId: t.id(refersTo('ChannelFolder')),
    name: t.string({ required: false, description: NAME }),
    description: t.string({ required: false, description: DESCRIPTION }),
    isArchived: t.boolean({ required: false, description: 'A folder with channels in it cannot be archived.' }),
  }),
  payload: () => ({ channelFolder: { type: ChannelFolder } }),
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
  payload: () => ({ channelFolders: { type: [ChannelFolder] } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { order }) => ({ channelFolders: await reorderChannelFolders(ctx, order) }),
});

const ChannelFolderValue = builder.objectRef<WireChannelFolder>('ChannelFolderValue').implement({
  description: 'A channel folder as it was when the event happened.',
  fields: (t) => ({
    id: t.expose('id', { type: 'ID', ...refersTo('ChannelFolder'), description: 'The `id` of the ChannelFolder.' }),
    databaseId: t.exposeInt('id', { description: 'The id REST uses.' }),
    name: t.exposeString('name'),
    description: t.exposeString('description'),
    renderedDescription: t.exposeString('rendered_description'),
    order: t.exposeInt('order'),
    isArchived: t.exposeBoolean('is_archived'),
    createdAt: t.field({ type: 'DateTime', resolve: ({ date_created }) => fromUnix(date_created) }),
    creatorId: t.expose('creator_id', { type: 'ID', ...refersTo('User'), nullable: true }),
  }),
});

eventType<{ channel_folder: WireChannelFolder }>(
  'channel_folder',
  'add',
  'ChannelFolderAddedEvent',
  (t) => ({ channelFolder: t.field({ type: ChannelFolderValue, resolve: ({ event }) => event.channel_folder }) }),
  { description: 'An administrator made a channel folder.' },
);

eventType<{ channel_folder_id: number; data: WireFolderChanges }>(
  'channel_folder',
  'update',
  'ChannelFolderUpdatedEvent',
  (t) => ({
    channelFolderId: t.id({ ...refersTo('ChannelFolder'), resolve: ({ event }) => event.channel_folder_id }),
    name: t.string({ nullable: true, resolve: ({ event }) => event.data.name }),
    description: t.string({ nullable: true, resolve: ({ event }) => event.data.description }),
    renderedDescription: t.string({ nullable: true, resolve: ({ event }) => event.data.rendered_description }),
    isArchived: t.boolean({ nullable: true, resolve: ({ event }) => event.data.is_archived }),
  }),
  { description: 'An administrator changed a channel folder. What did not change is null.' },
);

eventType<{ order: readonly number[] }>(
  'channel_folder',
  'reorder',
  'ChannelFoldersReorderedEvent',
  (t) => ({
    order: t.idList({
      ...refersTo('ChannelFolder'),
      description: 'The id of every folder; its place here is its new order.',
      resolve: ({ event }) => event.order,
    }),
  }),
  { description: 'An administrator put the channel folders into a new order.' },
);
