import { signedIn } from '../../access/context.ts';
import { UserDeactivatedError } from '../../access/errors.ts';
import { builder } from '../../api/graphql/builder.ts';
import { perOperation } from '../../api/graphql/context.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { User } from '../../people/graphql.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isOwner } from '../../platform/roles.ts';
import { administersBot } from '../bots/administers.ts';
import { CannotDeactivateLastUserError } from './errors.ts';
import { countOwners, deactivateUser, deactivateViewer, objectionTo, reactivateUser } from './service.ts';

const owners = perOperation((ctx) => countOwners(signedIn(ctx)));

builder.prismaObjectField(User, 'viewerCanDeactivate', (t) =>
  t.boolean({
    description: 'Whether they are active and the viewer may deactivate them, as a person or as a bot.',
    select: { id: true, isActive: true, isSystem: true, role: true, botType: true, botOwnerId: true },
    resolve: async (user, _args, ctx) => {
      const { viewer } = signedIn(ctx);
      if (user.isSystem) return false;
      if (user.botType !== null) return user.isActive && administersBot(viewer, user);
      const otherOwners = isOwner(user.role) ? (await owners(ctx)) - 1 : 0;
      return objectionTo(viewer, user, otherOwners) === undefined;
    },
  }),
);

const Erasure = builder.inputType('ErasureInput', {
  description: 'What is deleted of a user who is deactivated, and of their bots.',
  fields: (t) => ({
    profile: t.boolean({
      required: false,
      description: 'Whether to delete their name, image, status and profile; not, if absent.',
    }),
    publicChannelMessages: t.boolean({
      required: false,
      description: 'Whether to delete what they sent to public channels; not, if absent.',
    }),
    privateChannelMessages: t.boolean({
      required: false,
      description: 'Whether to delete what they sent to private channels; not, if absent.',
    }),
    directMessages: t.boolean({
      required: false,
      description: 'Whether to delete the direct messages they sent; not, if absent.',
    }),
  }),
});

mutation('deactivateUser', {
  description: 'Deactivates somebody, and before them their bots. For administrators; for owners, if they are one.',
  input: (t) => ({
    userId: t.id({ ...refersTo('User'), description: 'Whom to deactivate.' }),
    erase: t.field({ type: Erasure, required: false, description: 'What to delete of theirs; nothing, if absent.' }),
    notificationComment: t.string({
      required: false,
      description:
        'What to tell them: at most 2,000 characters. They get a mail when it is given, with this text if not empty.',
    }),
  }),
  payload: () => ({ user: { type: User, description: 'The user, deactivated.' } }),
  errors: [UnauthorizedPrincipalError, UserDeactivatedError],
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

errorType(CannotDeactivateLastUserError, 'The viewer cannot go: nobody would be left, or no owner.', (t) => ({
  isLastOwner: t.boolean({
    description: 'Whether no owner would be left, and not nobody at all.',
    resolve: ({ data }) => data.is_last_owner,
  }),
}));

mutation('deactivateOwnAccount', {
  description: 'Deactivates the viewer, and before them their bots. Not for bots, the only owner, or the only user.',
  payload: () => ({ user: { type: User, description: 'The viewer, deactivated.' } }),
  errors: [CannotDeactivateLastUserError, UserDeactivatedError],
  resolve: async (ctx) => ({ user: await deactivateViewer(ctx) }),
});

mutation('reactivateUser', {
  description:
    'Makes a deactivated person or bot active again. For administrators; for owners, if it is a bot with their role.',
  input: (t) => ({ userId: t.id({ ...refersTo('User'), description: 'Whom to bring back.' }) }),
  payload: () => ({ user: { type: User, description: 'The user, active again.' } }),
  errors: [UnauthorizedPrincipalError, UserDeactivatedError],
  resolve: async (ctx, { userId }) => ({ user: await reactivateUser(ctx, userId) }),
});
