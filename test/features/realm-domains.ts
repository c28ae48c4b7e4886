import { fresh, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import type { Json } from '../helpers/http.ts';
import { heldBy } from '../helpers/piles.ts';

export const organizationDomains: FeatureTests = {
  rest: {
    'GET /realm/domains': () => [{}],
    'POST /realm/domains': () => [
      { parameters: { domain: `${fresh().replaceAll(' ', '-')}.example`, allow_subdomains: true } },
    ],
    'PATCH /realm/domains/{domain}': ({ domain }) => [{ slots: { domain }, parameters: { allow_subdomains: true } }],
    'DELETE /realm/domains/{domain}': ({ domain }) => [{ slots: { domain } }],
  },
  queries: {
    organizationDomains: () => [PAGE],
  },
  mutations: {
    addOrganizationDomain: () => [
      { domain: `${fresh().toLowerCase().replaceAll(' ', '-')}.example`, allowSubdomains: true },
    ],
    updateOrganizationDomain: ({ domain }) => [{ domain, allowSubdomains: true }],
    removeOrganizationDomain: ({ domain }) => [{ domain }],
  },
  nodes: ({ domainId }) => ({ OrganizationDomain: domainId }),
  piles: {
    realm_domains: {
      adder: 'owner',
      fill: ({ sql }) =>
        sql(`INSERT INTO realm_domain (realm_id, domain, allow_subdomains)
        SELECT $1, 'd' || n || '.example', false FROM generate_series(1, 1000) AS n`),
      rest: ({ owner }, i) =>
        owner.rest('POST', '/realm/domains', { domain: `new${i}.example`, allow_subdomains: false }),
      graphql: (_, i) => ['addOrganizationDomain', { domain: `new${i}.example`, allowSubdomains: false }],
      held: heldBy('realm_domain', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
      free: ({ owner }) => owner.ok('DELETE', '/realm/domains/d1.example'),
    },
  },
  rules: {
    'realm_domains/add': (state, { realm_domain }) => {
      state['realm_domains'].push(realm_domain);
    },
    'realm_domains/change': (state, { realm_domain }) => {
      state['realm_domains'].find(({ domain }: Json) => domain === realm_domain.domain).allow_subdomains =
        realm_domain.allow_subdomains;
    },
    'realm_domains/remove': (state, { domain }) => {
      state['realm_domains'] = state['realm_domains'].filter((known: Json) => known.domain !== domain);
    },
  },
};
