import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { readStatus, setOwnStatus, setStatusOf } from './service.ts';
import { wireStatus } from './wire.ts';

const parts = {
  status_text: text(z.string(), {
    description: 'Text, at most 60 characters. "" removes it.',
    example: 'On the water',
  }).optional(),
  emoji_name: text(z.string(), { description: 'Name of the emoji. "" removes the emoji.', example: 'boat' }).optional(),
  emoji_code: text(z.string(), {
    description: 'Code of the emoji in its namespace. Default: the code of the emoji with the name `emoji_name`.',
  }).optional(),
  reaction_type: text(z.string(), {
    description: 'Namespace of the emoji code: unicode_emoji, realm_emoji or service_extra_emoji.',
  }).optional(),
  away: json(z.boolean(), { description: 'Deprecated: whether the user hides their presence.' }).optional(),
};

interface Parts {
  readonly status_text?: string;
  readonly emoji_name?: string;
  readonly emoji_code?: string;
  readonly reaction_type?: string;
  readonly away?: boolean;
}

const editOf = ({ status_text, emoji_name, emoji_code, reaction_type, away }: Parts) => ({
  statusText: status_text,
  emojiName: emoji_name,
  emojiCode: emoji_code,
  reactionType: reaction_type,
  away,
});

export const postUserStatus = endpoint({
  method: 'POST',
  path: '/users/{user_id}/status',
  auth: 'basic',
  equivalents: ['setStatus(userId:)'],
  summary: "Update another user's status",
  permission: 'administrators',
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }), ...parts },
  reply: {},
  async handle(ctx, { user_id, ...sent }) {
    await setStatusOf(ctx, user_id, editOf(sent));
  },
});

export const postOwnStatus = endpoint({
  method: 'POST',
  path: '/users/me/status',
  auth: 'basic',
  equivalents: ['setStatus'],
  summary: 'Update your status',
  params: parts,
  reply: {},
  async handle(ctx, sent) {
    await setOwnStatus(ctx, editOf(sent));
  },
});

export const getUserStatus = endpoint({
  method: 'GET',
  path: '/users/{user_id}/status',
  auth: 'basic',
  equivalents: ['User.status'],
  summary: "Get a user's status",
  description: 'Properties that are not set are absent.',
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }) },
  reply: { status: wireStatus },
  async handle(ctx, { user_id }) {
    return { status: await readStatus(ctx, user_id) };
  },
});
