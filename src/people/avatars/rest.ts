import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { file } from '../../api/rest/params.ts';
import { avatarUrl } from '../wire.ts';
import { removeOwnAvatar, uploadOwnAvatar } from './service.ts';

export const postAvatar = endpoint({
  method: 'POST',
  path: '/users/me/avatar',
  auth: 'basic',
  equivalents: ['setAvatar'],
  summary: 'Set your avatar',
  permission: 'all users, or only administrators if the organization disables avatar changes',
  params: { file: file({ description: 'PNG, JPEG, WebP or GIF, at most 5 MiB.' }) },
  reply: { avatar_url: z.string() },
  async handle(ctx, { file }) {
    return { avatar_url: avatarUrl(await uploadOwnAvatar(ctx, file)) };
  },
});

export const deleteAvatar = endpoint({
  method: 'DELETE',
  path: '/users/me/avatar',
  auth: 'basic',
  equivalents: ['setAvatar'],
  summary: 'Remove your avatar',
  description: "The organization's default is shown instead.",
  permission: 'all users, or only administrators if the organization disables avatar changes',
  params: {},
  reply: { avatar_url: z.string() },
  async handle(ctx) {
    return { avatar_url: avatarUrl(await removeOwnAvatar(ctx)) };
  },
});
