import { OrganizationDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { publicMutation } from '../../api/graphql/schema/mutation.ts';
import { NonexistentSubdomainError } from '../../platform/errors.ts';
import { confirmEmailChange } from './service.ts';

publicMutation('confirmEmailChange', {
  description:
    'Changes the email address of a user to the one that they requested with `updateSettings`. A link can be used ' +
    'once, within a day. Requires no credentials: the token in the link identifies the user.',
  input: (t) => ({ token: t.string({ description: 'Token at the end of the link in the email.' }) }),
  payload: () => ({ email: { type: 'String', description: 'New email address of the user.' } }),
  errors: [NonexistentSubdomainError, OrganizationDeactivatedError, UserDeactivatedError],
  resolve: async (request, { token }) => ({ email: (await confirmEmailChange(request, token)).email }),
});
