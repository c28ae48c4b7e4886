import { freshAddress } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';

export const signUp: FeatureTests = {
  mutations: {
    requestSignUp: () => [{ email: freshAddress() }],
    requestOrganization: () => [{ name: 'Acme', subdomain: 'acme-ships', email: freshAddress() }],
    completeSignUp: () => [{ token: 'none', fullName: 'New Person', password: 'correct horse battery' }],
  },
  refusals: {
    requestSignUp: 'New users need an invitation to this organization. Ask a member for one.',
    requestOrganization: 'New organizations are created by the operator of this server.',
    completeSignUp: 'This link was already used, has expired, or is incomplete.',
  },
};
