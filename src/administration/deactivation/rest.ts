import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { deactivateUser, deactivateViewer, reactivateUser } from './service.ts';

const Actions = z.object({
  delete_profile: z.boolean().default(false),
  delete_public_channel_messages: z.boolean().default(false),
  delete_private_channel_messages: z.boolean().default(false),
  delete_direct_messages: z.boolean().default(false),
});

export const deleteUser = endpoint({
  method: 'DELETE',
  path: '/users/{user_id}',
  auth: 'basic',
  twins: ['deactivateUser'],
  summary: 'Deactivate a user',
  description:
    'Their bots are deactivated before them. `actions` has four booleans, all false if absent: `delete_profile`, ' +
    '`delete_public_channel_messages`, `delete_private_channel_messages` and `delete_direct_messages`.',
  permission: 'administrators; owners, for an owner',
  params: {
    user_id: inPath(z.int(), { description: 'The user.' }),
    actions: json(Actions, {
      description: 'What of theirs is to be deleted as well.',
      example: '{"delete_profile": true}',
    }).optional(),
    deactivation_notification_comment: text(z.string(), {
      description: 'The user is told by mail when it is given, with this text when it is not empty.',
    }).optional(),
  },
  reply: {},
  async handle(ctx, { user_id, actions, deactivation_notification_comment: comment }) {
    const erasure = actions && {
      profile: actions.delete_profile,
      publicChannelMessages: actions.delete_public_channel_messages,
      privateChannelMessages: actions.delete_private_channel_messages,
      directMessages: actions.delete_direct_messages,
    };
    await deactivateUser(ctx, user_id, { erasure, comment });
  },
});

export const deleteOwnUser = endpoint({
  method: 'DELETE',
  path: '/users/me',
  auth: 'basic',
  twins: ['deactivateOwnAccount'],
  summary: 'Deactivate your own account',
  description: 'Your bots are deactivated before you.',
  permission: 'people, not bots',
  params: {},
  reply: {},
  async handle(ctx) {
    await deactivateViewer(ctx);
  },
});

export const postReactivate = endpoint({
  method: 'POST',
  path: '/users/{user_id}/reactivate',
  auth: 'basic',
  twins: ['reactivateUser'],
  summary: 'Reactivate a user',
  description: 'A person or a bot. Who is active already stays so.',
  permission: 'administrators',
  params: { user_id: inPath(z.int(), { description: 'The user.' }) },
  reply: {},
  async handle(ctx, { user_id }) {
    await reactivateUser(ctx, user_id);
  },
});
