import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { eventType, outdatedRoot } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { User } from '../../people/graphql.ts';
import { RateLimitHitError } from '../../platform/errors.ts';
import { PasswordRequiredError } from '../sign-in/errors.ts';
import { CURRENT_PASSWORD } from '../sign-in/proof.ts';
import { listIdentities, type ShownIdentity, unlinkIdentity } from './linked-identities.ts';

const LinkedIdentity = builder.objectRef<ShownIdentity>('LinkedIdentity').implement({
  description: 'An identity at a provider with which a user can sign in.',
  fields: (t) => ({
    issuer: t.exposeString('issuer', { description: 'Issuer identifier of the provider.' }),
    providerName: t.exposeString('providerName', {
      nullable: true,
      description: 'Name of the provider. Null if the organization has no enabled provider with the issuer.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the identity was linked.' }),
  }),
});

builder.queryField('linkedIdentities', (t) =>
  t.field({
    type: [LinkedIdentity],
    nullable: true,
    description:
      'Identities that are linked to a user, oldest first: at most one for each issuer. Empty for users other than the viewer, ' +
      'unless the viewer is an administrator. Only owners see those of owners. API keys need the scope `administration` to ' +
      'read those of other users.',
    args: {
      userId: t.arg.id({
        ...refersTo('User'),
        required: false,
        description: 'Id of the user. Default: the viewer.',
      }),
    },
    resolve: (_root, { userId }, ctx) => {
      const viewing = signedIn(ctx);
      return listIdentities(viewing, userId ?? viewing.viewer.id);
    },
  }),
);

mutation('unlinkIdentity', {
  scope: 'administration',
  description:
    'Unlinks an identity from a user, who is notified by email. The next sign-in with the provider links it again if the provider ' +
    "confirms the user's address. Users can unlink their own identities if they have another way to sign in. Administrators can " +
    'unlink identities of other users except owners, and owners those of all users.',
  input: (t) => ({
    userId: t.id({ ...refersTo('User'), required: false, description: 'Id of the user. Default: the viewer.' }),
    issuer: t.string({ description: 'Issuer of the identity.' }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({ user: { type: User, description: 'The user without the identity.' } }),
  errors: [PasswordRequiredError, RateLimitHitError],
  resolve: async (ctx, { userId, issuer, currentPassword }) => ({
    user: await unlinkIdentity(ctx, { userId: userId ?? undefined, issuer }, currentPassword ?? undefined),
  }),
});

eventType('linked_identities_changed', undefined, 'LinkedIdentitiesChangedEvent', () => ({}), {
  description: 'The identities that are linked to the viewer changed.',
  outdates: () => [outdatedRoot('linkedIdentities')],
});
