import { EntityFacts } from '../../api/graphql/entity-facts.ts';
import type { KnownDomain } from './events.ts';

/** What an event knows of a domain that stands in it. */
export const domainFacts = new EntityFacts<NonNullable<KnownDomain>>(
  'RealmDomain',
  { idOf: ({ id }) => id },
  { domain: ({ domain }) => domain, allowSubdomains: (domain) => domain.allow_subdomains },
);
