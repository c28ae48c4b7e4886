import type { FeatureCalls } from './feature.ts';
import { fresh } from './shared.ts';

export const realmDomains: FeatureCalls = {
  rest: {
    'GET /realm/domains': () => [{}],
    'POST /realm/domains': () => [
      { parameters: { domain: `${fresh().replaceAll(' ', '-')}.example`, allow_subdomains: true } },
    ],
    'PATCH /realm/domains/{domain}': ({ domain }) => [{ slots: { domain }, parameters: { allow_subdomains: true } }],
    'DELETE /realm/domains/{domain}': ({ domain }) => [{ slots: { domain } }],
  },
  queries: {
    realmDomains: () => [{}],
  },
  mutations: {
    addRealmDomain: () => [{ domain: `${fresh().toLowerCase().replaceAll(' ', '-')}.example`, allowSubdomains: true }],
    updateRealmDomain: ({ domain }) => [{ domain, allowSubdomains: true }],
    removeRealmDomain: ({ domain }) => [{ domain }],
  },
  nodes: ({ domainId }) => ({ RealmDomain: domainId }),
};
