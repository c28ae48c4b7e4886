import { fresh } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';

const PROVIDER = { name: 'Company', issuer: 'https://identity.example', clientId: 'chat', clientSecret: 'a secret' };

export const singleSignOn: FeatureTests = {
  mutations: {
    createIdentityProvider: ({ customGroupId }) => [
      {
        ...{
          slug: fresh()
            .toLowerCase()
            .replace(/[^a-z0-9]/g, '')
            .slice(0, 40),
          ...PROVIDER,
        },
        ...{ domains: ['new.example'], createsAccounts: true, groupsClaim: 'groups', isEnabled: false },
        groupRules: [{ value: 'staff', role: 'MODERATOR', userGroupIds: [customGroupId] }],
        currentPassword: 'not looked at',
      },
    ],
    updateIdentityProvider: ({ identityProviderId, customGroupId }) => [
      {
        ...{ identityProviderId, ...PROVIDER, domains: ['new.example'], createsAccounts: true, groupsClaim: 'groups' },
        groupRules: [{ value: 'staff', role: 'MODERATOR', userGroupIds: [customGroupId] }],
        ...{ isEnabled: true, currentPassword: 'not looked at' },
      },
    ],
    unlinkIdentity: ({ userId }) => [{ userId, issuer: PROVIDER.issuer, currentPassword: 'not looked at' }],
    deleteIdentityProvider: ({ identityProviderId }) => [{ identityProviderId, currentPassword: 'not looked at' }],
  },
  nodes: ({ identityProviderId }) => ({ IdentityProvider: identityProviderId }),
  queries: { linkedIdentities: ({ userId }) => [{ userId }], signOutProvider: () => [{}] },
  refusals: { unlinkIdentity: 'No such identity' },
  rules: { identity_providers_changed: () => {}, linked_identities_changed: () => {} },
};
