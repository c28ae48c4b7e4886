import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, text } from '../../api/rest/params.ts';
import { addReaction, removeReaction } from './service.ts';

const message_id = inPath(z.int(), { description: 'Message id.' });
const emoji_code = text(z.string(), {
  description:
    'Code of the emoji, in the form that `reaction_type` determines: the code points in hexadecimal, separated by dashes ' +
    '(1f44d), for unicode_emoji; the id of the custom emoji for realm_emoji; team_chat for service_extra_emoji.',
});
const reaction_type = text(z.string(), {
  description: 'Namespace of the emoji: unicode_emoji, realm_emoji or service_extra_emoji.',
});

export const postReaction = endpoint({
  method: 'POST',
  path: '/messages/{message_id}/reactions',
  auth: 'basic',
  equivalents: ['addReaction'],
  summary: 'Add a reaction',
  params: {
    message_id,
    emoji_name: text(z.string(), { description: 'Name of the emoji, without colons.', example: 'octopus' }),
    emoji_code: emoji_code.optional(),
    reaction_type: reaction_type.optional(),
  },
  reply: {},
  async handle(ctx, { message_id, emoji_name, emoji_code, reaction_type }) {
    await addReaction(ctx, message_id, { name: emoji_name, code: emoji_code, type: reaction_type });
  },
});

export const deleteReaction = endpoint({
  method: 'DELETE',
  path: '/messages/{message_id}/reactions',
  auth: 'basic',
  equivalents: ['removeReaction'],
  summary: 'Remove a reaction',
  params: {
    message_id,
    emoji_name: text(z.string(), { description: 'Name of the emoji, without colons.', example: 'octopus' }).optional(),
    emoji_code: emoji_code.optional(),
    reaction_type: reaction_type.optional(),
  },
  reply: {},
  async handle(ctx, { message_id, emoji_name, emoji_code, reaction_type }) {
    await removeReaction(ctx, message_id, { name: emoji_name, code: emoji_code, type: reaction_type });
  },
});
