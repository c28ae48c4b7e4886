import { RealmDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { publicMutation } from '../../api/graphql/mutation.ts';
import { NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { AuthenticationFailedError } from './errors.ts';
import { fetchApiKeyByJwt } from './jwt.ts';
import { fetchApiKey } from './login.ts';

errorType(AuthenticationFailedError, 'User name and password fit no account.');

publicMutation('fetchApiKey', {
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    'Gets an API key with a password; needs no credentials. After 5 failures for one address within 30 minutes, and while ' +
    'too many wait to sign in, further attempts are refused for a while. Once in an operation.',
  input: (t) => ({
    username: t.string({ description: "The account's e-mail address." }),
    password: t.string({ description: "The account's password." }),
  }),
  payload: () => ({
    apiKey: { type: 'String', description: 'What the user signs in with from here on.' },
    email: { type: 'String', description: 'The user name for Basic authentication.' },
    userId: { type: 'ID', refersTo: 'User', description: 'Whose key it is.' },
  }),
  errors: [
    AuthenticationFailedError,
    UserDeactivatedError,
    RealmDeactivatedError,
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
    "Gets an API key with a JSON Web Token, signed as the server's operator has it configured for the organization; " +
    'needs no credentials.',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  input: (t) => ({ token: t.string({ description: 'At most 8 KiB. Its claim `email` names the user.' }) }),
  payload: () => ({
    apiKey: { type: 'String', description: 'What the user signs in with from here on.' },
    email: { type: 'String', description: 'The user name for Basic authentication.' },
    userId: { type: 'ID', refersTo: 'User', description: 'Whose key it is.' },
  }),
  errors: [AuthenticationFailedError, UserDeactivatedError, RealmDeactivatedError, NonexistentSubdomainError],
  resolve: async (request, input) => {
    const { user, apiKey } = await fetchApiKeyByJwt(request, input);
    return { apiKey, email: user.email, userId: user.id };
  },
});
