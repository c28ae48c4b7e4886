import {
  AuthenticationFailedError,
  NonexistentSubdomainError,
  RateLimitHitError,
  RealmDeactivatedError,
  UserDeactivatedError,
} from '../errors.ts';
import { publicMutation } from '../graphql/mutation.ts';
import { fetchApiKey } from './login.ts';

publicMutation('fetchApiKey', {
  description:
    'Gets an API key with a password; needs no credentials. After 5 failures for one address within 30 minutes, ' +
    'further attempts are refused for a while.',
  input: (t) => ({
    username: t.string({ description: "The account's e-mail address." }),
    password: t.string(),
  }),
  payload: () => ({
    apiKey: { type: 'String' },
    email: { type: 'String', description: 'The user name for Basic authentication.' },
    userId: { type: 'Int' },
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
