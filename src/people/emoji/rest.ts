import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { file, inPath } from '../../api/rest/params.ts';
import { addCustomEmoji, deactivateCustomEmoji, listCustomEmoji } from './service.ts';
import { toWireMap, wireCustomEmoji } from './wire.ts';

const emoji_name = inPath(z.string(), {
  description: 'What it is called: small letters, digits, `-` and `_`.',
  example: 'party_parrot',
});

export const getCustomEmoji = endpoint({
  method: 'GET',
  path: '/realm/emoji',
  auth: 'basic',
  twins: ['customEmoji'],
  summary: "List the organization's own emoji",
  description: 'By id, those deactivated included.',
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
  twins: ['addCustomEmoji'],
  summary: 'Add a custom emoji',
  description: 'Spaces in the name become underscores. An animated image stays so.',
  permission: 'who may add custom emoji; administrators, where a built-in emoji has the name',
  params: { emoji_name, file: file({ description: 'PNG, JPEG, WebP or GIF, of 5 MiB at most.' }) },
  reply: {},
  async handle(ctx, { emoji_name, file }) {
    await addCustomEmoji(ctx, { name: emoji_name, file });
  },
});

export const deleteCustomEmoji = endpoint({
  method: 'DELETE',
  path: '/realm/emoji/{emoji_name}',
  auth: 'basic',
  twins: ['deactivateCustomEmoji'],
  summary: 'Deactivate a custom emoji',
  description: 'Where it stands already it is still shown. The name can be used again.',
  permission: 'administrators, and who added it',
  params: { emoji_name },
  reply: {},
  async handle(ctx, { emoji_name }) {
    await deactivateCustomEmoji(ctx, emoji_name);
  },
});
