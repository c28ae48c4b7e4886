import { OrganizationDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { publicMutation } from '../../api/graphql/schema/mutation.ts';
import { NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { AuthenticationFailedError, PasswordAuthDisabledError, PasswordRequiredError } from './errors.ts';
import { fetchApiKeyByJwt } from './jwt.ts';
import { fetchApiKey } from './login.ts';

errorType(AuthenticationFailedError, 'No account matches the user name and password.');
errorType(
  PasswordRequiredError,
  'The sign-in of the session was more than ten minutes ago. The user must give their password or sign in again.',
);

errorType(PasswordAuthDisabledError, 'The account needs a second factor, so a password alone gives no API key.');

publicMutation('fetchApiKey', {
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    'Returns an API key in exchange for a password. Requires no credentials. After 5 failed attempts for one ' +
    'email address within 30 minutes, or while too many requests wait to sign in, further attempts are refused ' +
    'temporarily. Can be used once per operation.',
  input: (t) => ({
    username: t.string({ description: 'Email address of the account.' }),
    password: t.string({ description: 'Password of the account.' }),
  }),
  payload: () => ({
    apiKey: { type: 'String', description: 'API key with which the user authenticates.' },
    email: { type: 'String', description: 'User name for HTTP Basic authentication.' },
    userId: { type: 'ID', refersTo: 'User', description: 'Id of the user.' },
  }),
  errors: [
    AuthenticationFailedError,
    PasswordAuthDisabledError,
    UserDeactivatedError,
    OrganizationDeactivatedError,
    NonexistentSubdomainError,
    RateLimitHitError,
  ],
  resolve: async (request, login) => {
    const { user, apiKey } = await fetchApiKey(request, login);
    return { apiKey, email: user.email, userId: user.id };
  },
});

publicMutation('fetchApiKeyByJwt', {
  description:
    'Returns an API key in exchange for a JSON Web Token. The token must be signed with the key and algorithm ' +
    'that the operator of the server configured for the organization. Requires no credentials.',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  input: (t) => ({
    token: t.string({ description: 'JSON Web Token, at most 8 KiB. Its claim `email` identifies the user.' }),
  }),
  payload: () => ({
    apiKey: { type: 'String', description: 'API key with which the user authenticates.' },
    email: { type: 'String', description: 'User name for HTTP Basic authentication.' },
    userId: { type: 'ID', refersTo: 'User', description: 'Id of the user.' },
  }),
  errors: [AuthenticationFailedError, UserDeactivatedError, OrganizationDeactivatedError, NonexistentSubdomainError],
  resolve: async (request, input) => {
    const { user, apiKey } = await fetchApiKeyByJwt(request, input);
    return { apiKey, email: user.email, userId: user.id };
  },
});
