import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { file } from '../../api/rest/params.ts';
import { avatarUrl } from '../wire.ts';
import { removeOwnAvatar, uploadOwnAvatar } from './service.ts';

export const postAvatar = endpoint({
  method: 'POST',
  path: '/users/me/avatar',
  auth: 'basic',
  twins: ['setAvatar'],
  summary: 'Set your avatar',
  permission: 'everybody, or administrators where the organization says so',
  params: { file: file({ description: 'PNG, JPEG, WebP or GIF, of 5 MiB at most.' }) },
  reply: { avatar_url: z.string() },
  async handle(ctx, { file }) {
    return { avatar_url: avatarUrl(await uploadOwnAvatar(ctx, file)) };
  },
});

export const deleteAvatar = endpoint({
  method: 'DELETE',
  path: '/users/me/avatar',
  auth: 'basic',
  twins: ['setAvatar'],
  summary: 'Remove your avatar',
  description: "The organization's default takes its place.",
  permission: 'everybody, or administrators where the organization says so',
  params: {},
  reply: { avatar_url: z.string() },
  async handle(ctx) {
    return { avatar_url: avatarUrl(await removeOwnAvatar(ctx)) };
  },
});
