import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { createChannelFolder, listChannelFolders, reorderChannelFolders, updateChannelFolder } from './service.ts';
import { toWire, wireChannelFolder } from './wire.ts';

const CALLED = {
  description: 'Name: not blank, at most 60 characters, unique in the organization (case-insensitive).',
};
const ABOUT = { description: 'Description in Markdown, at most 1,024 characters.' };

export const getChannelFolders = endpoint({
  method: 'GET',
  path: '/channel_folders',
  auth: 'basic',
  equivalents: ['channelFolders'],
  summary: 'List channel folders',
  params: {
    include_archived: json(z.boolean(), { description: 'Whether to include archived folders.' }).default(false),
  },
  reply: { channel_folders: z.array(wireChannelFolder) },
  async handle(ctx, { include_archived }) {
    const folders = await listChannelFolders(ctx, { includeArchived: include_archived });
    return { channel_folders: folders.map(toWire) };
  },
});

export const postChannelFolder = endpoint({
  method: 'POST',
  path: '/channel_folders/create',
  auth: 'basic',
  equivalents: ['createChannelFolder'],
  scope: 'administration',
  summary: 'Create a channel folder',
  permission: 'administrators',
  params: {
    name: text(z.string(), { ...CALLED, example: 'Projects' }),
    description: text(z.string(), { ...ABOUT, example: '' }),
  },
  reply: { channel_folder_id: z.int() },
  async handle(ctx, { name, description }) {
    const { id } = await createChannelFolder(ctx, { name, description });
    return { channel_folder_id: id };
  },
});

export const patchChannelFolders = endpoint({
  method: 'PATCH',
  path: '/channel_folders',
  auth: 'basic',
  equivalents: ['reorderChannelFolders'],
  scope: 'administration',
  summary: 'Reorder channel folders',
  permission: 'administrators',
  params: {
    order: json(z.array(z.int()), {
      description: 'Ids of all folders, including archived ones, in the new order.',
      example: '[2, 1]',
    }),
  },
  reply: {},
  async handle(ctx, { order }) {
    await reorderChannelFolders(ctx, order);
  },
});

export const patchChannelFolder = endpoint({
  method: 'PATCH',
  path: '/channel_folders/{channel_folder_id}',
  auth: 'basic',
  equivalents: ['updateChannelFolder', 'archiveChannelFolder', 'unarchiveChannelFolder'],
  scope: 'administration',
  summary: 'Update a channel folder',
  permission: 'administrators',
  params: {
    channel_folder_id: inPath(z.int(), { description: 'Id of the folder.' }),
    name: text(z.string(), CALLED).optional(),
    description: text(z.string(), ABOUT).optional(),
    is_archived: json(z.boolean(), {
      description: 'Whether the folder is archived. A folder that contains channels cannot be archived.',
    }).optional(),
  },
  reply: {},
  async handle(ctx, { channel_folder_id, name, description, is_archived }) {
    await updateChannelFolder(ctx, channel_folder_id, { name, description, isArchived: is_archived });
  },
});
