import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { RealmDomain } from '../../generated/prisma/client.ts';
import { type DomainFacts, toFacts, wireOf, wireRealmDomain } from './wire.ts';

// All go to everyone of the organisation.

/** A domain that an event tells of; null in events logged before they told its id. */
export type KnownDomain = (DomainFacts & { readonly id: number }) | null;

const domainEvent = (op: 'add' | 'change') =>
  defineEvent('realm_domains', op, (domain: RealmDomain) => ({ realm_domain: toFacts(domain) }), {
    render: ({ realm_domain }) => ({ type: 'realm_domains', op, realm_domain: wireOf(realm_domain) }),
    facts: ({ realm_domain: { id, ...domain } }): { readonly domain: KnownDomain } => ({
      domain: id === undefined ? null : { ...domain, id },
    }),
  });

export const realmDomainAdded = domainEvent('add');
export const realmDomainChanged = domainEvent('change');

interface RemovedPayload {
  readonly domain: string;
  /** Absent in events logged before they told it. */
  readonly id?: number;
}

export const realmDomainRemoved = defineEvent(
  'realm_domains',
  'remove',
  ({ id, domain }: RealmDomain): RemovedPayload => ({ domain, id }),
  {
    render: ({ domain }) => ({ type: 'realm_domains', op: 'remove', domain }),
    facts: ({ id }) => ({ id: id ?? null }),
  },
);

for (const event of [realmDomainAdded, realmDomainChanged]) tells(event, 'everyone', { realm_domain: wireRealmDomain });
tells(realmDomainRemoved, 'everyone', { domain: z.string() });
