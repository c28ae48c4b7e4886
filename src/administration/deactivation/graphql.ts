import { signedIn } from '../../access/context.ts';
import { UserDeactivatedError } from '../../access/errors.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { User } from '../../people/graphql.ts';
import { CannotDeactivateLastUserError } from './errors.ts';
import { countOwners, deactivateUser, deactivateViewer, mayDeactivate, reactivateUser } from './service.ts';

const owners = perOperation((ctx) => countOwners(signedIn(ctx)));

builder.prismaObjectField(User, 'viewerCanDeactivate', (t) =>
  t.boolean({
    description: 'Whether the viewer can deactivate the user. False if the user is not active.',
    select: { isActive: true, isSystem: true, role: true, botType: true, botOwnerId: true },
    resolve: (user, _args, ctx) => mayDeactivate(signedIn(ctx).viewer, user, () => owners(ctx)),
  }),
);

const Erasure = builder.inputType('ErasureInput', {
  description: 'Data of a user and their bots that is deleted when the user is deactivated.',
  fields: (t) => ({
    profile: t.boolean({
      required: false,
      description:
        'Whether to erase the name, email address, avatar, status, profile, settings, credentials, identities of single ' +
        'sign-on and consent to video calls, and the drafts, scheduled messages, reminders, snippets, topic policies, alert words, navigation views and ' +
        'invitations. ' +
        'Default: false.',
    }),
    publicChannelMessages: t.boolean({
      required: false,
      description: 'Whether to delete the messages that the user and the bots sent to public channels. Default: false.',
    }),
    privateChannelMessages: t.boolean({
      required: false,
      description:
        'Whether to delete the messages that the user and the bots sent to private channels. Default: false.',
    }),
    directMessages: t.boolean({
      required: false,
      description: 'Whether to delete the direct messages that the user and the bots sent. Default: false.',
    }),
  }),
});

mutation('deactivateUser', {
  scope: 'administration',
  description: 'Deactivates a user and their bots. For administrators. Only owners can deactivate an owner.',
  input: (t) => ({
    userId: t.id({ ...refersTo('User'), description: 'Id of the user.' }),
    erase: t.field({ type: Erasure, required: false, description: 'Data to delete. Default: none.' }),
    notificationComment: t.string({
      required: false,
      description:
        'Comment in the email that notifies the user, at most 2,000 characters. If absent, no email is sent. If ' +
        'empty, the email has no comment.',
    }),
  }),
  payload: () => ({ user: { type: User, description: 'The deactivated user.' } }),
  errors: [UserDeactivatedError],
  resolve: async (ctx, { userId, erase, notificationComment }) => {
    const erasure = erase && {
      profile: erase.profile ?? false,
      publicChannelMessages: erase.publicChannelMessages ?? false,
      privateChannelMessages: erase.privateChannelMessages ?? false,
      directMessages: erase.directMessages ?? false,
    };
    const user = await deactivateUser(ctx, userId, {
      ...(erasure != null && { erasure }),
      comment: notificationComment ?? null,
    });
    return { user };
  },
});

errorType(
  CannotDeactivateLastUserError,
  'The viewer is the only owner or the only user, and cannot be deactivated.',
  (t) => ({
    isLastOwner: t.boolean({
      description: 'True if the viewer is the only owner. False if the viewer is the only user.',
      resolve: ({ data }) => data.is_last_owner,
    }),
  }),
);

mutation('deactivateOwnAccount', {
  scope: 'administration',
  description: 'Deactivates the viewer and their bots. Not available to bots, the only owner and the only user.',
  payload: () => ({ user: { type: User, description: 'The deactivated viewer.' } }),
  errors: [CannotDeactivateLastUserError, UserDeactivatedError],
  resolve: async (ctx) => ({ user: await deactivateViewer(ctx) }),
});

mutation('reactivateUser', {
  scope: 'administration',
  description:
    'Reactivates a deactivated person or bot, with a new API key. For administrators. Only owners can reactivate a ' +
    'bot with the owner role.',
  input: (t) => ({ userId: t.id({ ...refersTo('User'), description: 'Id of the user.' }) }),
  payload: () => ({ user: { type: User, description: 'The user after the change.' } }),
  errors: [UserDeactivatedError],
  resolve: async (ctx, { userId }) => ({ user: await reactivateUser(ctx, userId) }),
});
