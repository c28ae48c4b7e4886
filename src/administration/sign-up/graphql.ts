import { OrganizationDeactivatedError } from '../../access/errors.ts';
import { CsrfFailedError } from '../../api/cross-site.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { publicMutation } from '../../api/graphql/schema/mutation.ts';
import { NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { ServerSettings } from '../organization/graphql.ts';
import { acceptsSignUps, completeSignUp, requestSignUp } from './service.ts';

builder.objectField(ServerSettings, 'acceptsSignUps', (t) =>
  t.boolean({
    description:
      'Whether people can create an account at the requested host without an invitation. False if the server cannot send ' +
      'email.',
    resolve: (_settings, _args, { app, organization }) => organization !== null && acceptsSignUps(app, organization),
  }),
);

publicMutation('requestSignUp', {
  description:
    'Sends a person a link with which they can create an account without an invitation. The link is valid for ' +
    'a day. The result is the same if the address has an account. Limited to 3 requests per hour for an ' +
    'address, and to 250 per hour from a network. Requires no credentials. Refused if the organization requires ' +
    'invitations, or the server cannot ' +
    'send email.',
  input: (t) => ({ email: t.string({ description: 'Address of the person.' }) }),
  payload: () => ({ email: { type: 'String', description: 'Address to which the email is sent.' } }),
  errors: [NonexistentSubdomainError, OrganizationDeactivatedError, RateLimitHitError],
  resolve: async (request, { email }) => {
    await requestSignUp(request, email);
    return { email };
  },
});

publicMutation('completeSignUp', {
  description:
    'Creates the account of a person to whom a link was sent. A link can be used once. Over HTTP, the response sets the ' +
    'cookie of a session, as for `signIn`. Requires no credentials: the token in the link identifies the address.',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  input: (t) => ({
    token: t.string({ description: 'Token at the end of the link in the email.' }),
    fullName: t.string({ description: 'Full name of the person, at most 100 characters.' }),
    password: t.string({ description: 'Password of the new account, 8 to 100 characters.' }),
  }),
  payload: () => ({
    userId: { type: 'ID', refersTo: 'User', description: 'Id of the new user.' },
    email: { type: 'String', description: 'Address with which the new user signs in.' },
  }),
  errors: [CsrfFailedError, NonexistentSubdomainError, OrganizationDeactivatedError, RateLimitHitError],
  resolve: async (request, answer) => {
    const user = await completeSignUp(request, answer, (request as GraphQLContext).browser);
    return { userId: user.id, email: user.email };
  },
});
