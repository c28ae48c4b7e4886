import { defineEvent } from '../../events/define.ts';
import type { RealmDomain } from '../../generated/prisma/client.ts';
import { toWire } from './wire.ts';

// All go to everyone of the organisation.

export const realmDomainAdded = defineEvent('realm_domains', 'add', (domain: RealmDomain) => ({
  realm_domain: toWire(domain),
}));

export const realmDomainChanged = defineEvent('realm_domains', 'change', (domain: RealmDomain) => ({
  realm_domain: toWire(domain),
}));

export const realmDomainRemoved = defineEvent('realm_domains', 'remove', (domain: string) => ({ domain }));
