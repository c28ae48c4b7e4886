import { RealmDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { publicMutation } from '../../api/graphql/mutation.ts';
import { NonexistentSubdomainError } from '../../platform/errors.ts';
import { confirmEmailChange } from './service.ts';

publicMutation('confirmEmailChange', {
  description:
    'Gives a user the address they asked for with `updateSettings`, once, within a day. Needs no credentials: the token ' +
    'of the link in the mail says who it is.',
  input: (t) => ({ token: t.string({ description: 'What ends the link in the mail.' }) }),
  payload: () => ({ email: { type: 'String', description: 'The address they have from here on.' } }),
  errors: [NonexistentSubdomainError, RealmDeactivatedError, UserDeactivatedError],
  resolve: async (request, { token }) => ({ email: (await confirmEmailChange(request, token)).email }),
});
