import { EventProjection } from '../../api/graphql/schema/event-projections.ts';
import type { ProjectedDomain } from './events.ts';

/** Event projection of a domain that an event contains. */
export const domainProjection = new EventProjection<NonNullable<ProjectedDomain>>(
  'RealmDomain',
  { idOf: ({ id }) => id },
  { domain: ({ domain }) => domain, allowSubdomains: (domain) => domain.allow_subdomains },
);
