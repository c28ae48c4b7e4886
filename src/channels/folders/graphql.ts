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
  id: { field: 'id' },
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    name: t.exposeString('name', { description: CALLED }),
    description: t.exposeString('description', { description: SOURCE }),
    renderedDescription: t.exposeString('renderedDescription', { description: HTML }),
    order: t.exposeInt('order', { description: ORDER }),
    isArchived: t.exposeBoolean('isArchived', { description: ARCHIVED }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: CREATED }),
    creator: t.relation('creator', { nullable: true, description: CREATOR }),
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
      args: {
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether archived folders are listed as well.',
        }),
      },
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
  payload: () => ({ channelFolders: { type: [ChannelFolder], description: 'All folders, in the new order.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { order }) => ({ channelFolders: await reorderChannelFolders(ctx, order) }),
});

const ChannelFolderValue = builder.objectRef<WireChannelFolder>('ChannelFolderValue').implement({
  description: 'A channel folder as it was when the event happened.',
  fields: (t) => ({
    id: t.expose('id', { type: 'ID', ...refersTo('ChannelFolder'), description: 'The `id` of the ChannelFolder.' }),
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    name: t.exposeString('name', { description: CALLED }),
    description: t.exposeString('description', { description: SOURCE }),
    renderedDescription: t.exposeString('rendered_description', { description: HTML }),
    order: t.exposeInt('order', { description: ORDER }),
    isArchived: t.exposeBoolean('is_archived', { description: ARCHIVED }),
    createdAt: t.field({
      type: 'DateTime',
      description: CREATED,
      resolve: ({ date_created }) => fromUnix(date_created),
    }),
    creatorId: t.expose('creator_id', { type: 'ID', ...refersTo('User'), nullable: true, description: CREATOR }),
  }),
});

eventType<{ channel_folder: WireChannelFolder }>(
  'channel_folder',
  'add',
  'ChannelFolderAddedEvent',
  (t) => ({
    channelFolder: t.field({
      type: ChannelFolderValue,
      description: 'The new folder.',
      resolve: ({ event }) => event.channel_folder,
    }),
  }),
  { description: 'An administrator made a channel folder.' },
);

eventType<{ channel_folder_id: number; data: WireFolderChanges }>(
  'channel_folder',
  'update',
  'ChannelFolderUpdatedEvent',
  (t) => ({
    channelFolderId: t.id({
      ...refersTo('ChannelFolder'),
      description: 'The folder that changed.',
      resolve: ({ event }) => event.channel_folder_id,
    }),
    name: t.string({ nullable: true, description: CALLED, resolve: ({ event }) => event.data.name }),
    description: t.string({ nullable: true, description: SOURCE, resolve: ({ event }) => event.data.description }),
    renderedDescription: t.string({
      nullable: true,
      description: HTML,
      resolve: ({ event }) => event.data.rendered_description,
    }),
    isArchived: t.boolean({ nullable: true, description: ARCHIVED, resolve: ({ event }) => event.data.is_archived }),
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
