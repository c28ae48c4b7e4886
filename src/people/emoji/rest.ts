import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { file, inPath } from '../../api/rest/params.ts';
import { addCustomEmoji, deactivateCustomEmoji, listCustomEmoji } from './service.ts';
import { toWireMap, wireCustomEmoji } from './wire.ts';

const emoji_name = inPath(z.string(), {
  description: 'Name of the emoji: lower-case letters, digits, `-` and `_`.',
  example: 'party_parrot',
});

export const getCustomEmoji = endpoint({
  method: 'GET',
  path: '/realm/emoji',
  auth: 'basic',
  equivalents: ['customEmoji'],
  summary: 'List custom emoji',
  description: 'Custom emoji by id, including deactivated ones.',
  params: {},
  reply: { emoji: z.record(z.string(), wireCustomEmoji) },
  async handle(ctx) {
    return { emoji: toWireMap(await listCustomEmoji(ctx)) };
  },
});

export const postCustomEmoji = endpoint({
  method: 'POST',
  path: '/realm/emoji/{emoji_name}',
  auth: 'basic',
  equivalents: ['addCustomEmoji'],
  scope: 'administration',
  summary: 'Add a custom emoji',
  description: 'Spaces in the name are replaced by underscores. Animated images stay animated.',
  permission: 'users with the permission to add custom emoji; only administrators can use the name of a built-in emoji',
  params: { emoji_name, file: file({ description: 'PNG, JPEG, WebP or GIF, at most 5 MiB.' }) },
  reply: {},
  async handle(ctx, { emoji_name, file }) {
    await addCustomEmoji(ctx, { name: emoji_name, file });
  },
});

export const deleteCustomEmoji = endpoint({
  method: 'DELETE',
  path: '/realm/emoji/{emoji_name}',
  auth: 'basic',
  equivalents: ['deactivateCustomEmoji'],
  scope: 'administration',
  summary: 'Deactivate a custom emoji',
  description: 'The emoji is still shown where it is already used. Its name can be used again.',
  permission: 'administrators and the author of the emoji',
  params: { emoji_name },
  reply: {},
  async handle(ctx, { emoji_name }) {
    await deactivateCustomEmoji(ctx, emoji_name);
  },
});
