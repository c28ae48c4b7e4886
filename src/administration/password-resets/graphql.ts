import { signedIn } from '../../access/context.ts';
import { OrganizationDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { mutation, publicMutation } from '../../api/graphql/schema/mutation.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { User } from '../../people/graphql.ts';
import { NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { maySendReset, requestPasswordReset, resetPassword, sendPasswordReset } from './service.ts';

builder.prismaObjectField(User, 'viewerCanSendPasswordReset', (t) =>
  t.boolean({
    description: 'Whether the viewer can send the user a link with which they can choose a new password.',
    select: { isSystem: true, botType: true, isActive: true },
    resolve: (user, _args, ctx) => maySendReset(signedIn(ctx), user),
  }),
);

publicMutation('requestPasswordReset', {
  // The email is queued after the response, when no transaction of the request is left.
  ignoresIdempotencyKey: true,
  description:
    'Sends an email with a password reset link to the person who has an email address. The link is valid for ' +
    'an hour, and replaces earlier ones. The result is the same if no person has the address. Limited to 2 ' +
    'requests per hour and 5 per day for an address. Requires no credentials. Refused if the server cannot send email.',
  input: (t) => ({ email: t.string({ description: 'Email address of the account.' }) }),
  payload: () => ({ email: { type: 'String', description: 'The given address.' } }),
  errors: [NonexistentSubdomainError, OrganizationDeactivatedError, RateLimitHitError],
  resolve: async (request, { email }) => {
    await requestPasswordReset(request, email);
    return { email };
  },
});

publicMutation('resetPassword', {
  description:
    'Replaces the password of the person to whom a link was sent. A link can be used once, within an hour. Ends all ' +
    'sessions of the person, and replaces the API key. Requires no credentials: the token in the link identifies the ' +
    'person.',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  input: (t) => ({
    token: t.string({ description: 'Token at the end of the link in the email.' }),
    newPassword: t.string({ description: 'New password, 8 to 100 characters.' }),
  }),
  payload: () => ({}),
  errors: [NonexistentSubdomainError, OrganizationDeactivatedError, UserDeactivatedError, RateLimitHitError],
  resolve: async (request, input) => {
    await resetPassword(request, input);
    return {};
  },
});

mutation('sendPasswordReset', {
  scope: 'administration',
  description:
    'Sends a person an email with a password reset link. For administrators. Only the person receives ' + 'the link.',
  input: (t) => ({ userId: t.id({ ...refersTo('User'), description: 'Id of the person.' }) }),
  payload: () => ({ user: { type: User, description: 'The person to whom the email is sent.' } }),
  resolve: async (ctx, { userId }) => ({ user: await sendPasswordReset(ctx, userId) }),
});
