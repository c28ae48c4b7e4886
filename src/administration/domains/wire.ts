import { z } from 'zod';
import type { RealmDomain } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireRealmDomain = z
  .object({ domain: z.string(), allow_subdomains: z.boolean() })
  .meta({ id: 'RealmDomain' });
export type WireRealmDomain = Wire<typeof wireRealmDomain>;

export function toWire({ domain, allowSubdomains }: RealmDomain): WireRealmDomain {
  return { domain, allow_subdomains: allowSubdomains };
}

/** A domain as its events keep it. */
export interface DomainFacts extends WireRealmDomain {
  /** Absent in events logged before they told it. */
  readonly id?: number;
}

export const toFacts = (domain: RealmDomain): DomainFacts => ({ ...toWire(domain), id: domain.id });

/** What the wire has of a domain. */
export const wireOf = ({ id: _, ...domain }: DomainFacts): WireRealmDomain => domain;
