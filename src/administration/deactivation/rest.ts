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
  equivalents: ['deactivateUser'],
  scope: 'administration',
  summary: 'Deactivate a user',
  description:
    'The bots of the user are deactivated too. `actions` has four booleans, all false by default: ' +
    '`delete_profile`, `delete_public_channel_messages`, `delete_private_channel_messages` and ' +
    '`delete_direct_messages`. `delete_profile` erases the name, email address, avatar, status, profile, ' +
    'settings, password, API key, identities of single sign-on and consent to video calls, the drafts, scheduled messages, reminders, snippets, topic ' +
    'policies, alert words, navigation views, invitations and queued email, and all of this data in the event log. The operator keeps no copy of erased data.',
  permission: 'administrators; only owners can deactivate an owner',
  params: {
    user_id: inPath(z.int(), { description: 'Id of the user.' }),
    actions: json(Actions, {
      description: 'Data to delete, of the user and their bots.',
      example: '{"delete_profile": true}',
    }).optional(),
    deactivation_notification_comment: text(z.string(), {
      description:
        'Comment in the email that notifies the user. If absent, no email is sent. If empty, the email has no comment.',
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
  equivalents: ['deactivateOwnAccount'],
  scope: 'administration',
  summary: 'Deactivate your own account',
  description: 'Your bots are deactivated too.',
  permission: 'all users except bots',
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
  equivalents: ['reactivateUser'],
  scope: 'administration',
  summary: 'Reactivate a user',
  description: 'Reactivates a person or a bot, with a new API key. A user who is already active keeps the current key.',
  permission: 'administrators',
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }) },
  reply: {},
  async handle(ctx, { user_id }) {
    await reactivateUser(ctx, user_id);
  },
});
