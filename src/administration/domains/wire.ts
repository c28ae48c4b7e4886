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

/** A domain in the payload of its events. */
export interface DomainSnapshot extends WireRealmDomain {
  /** Id of the domain. Absent in events of previous versions. */
  readonly id?: number;
}

export const toSnapshot = (domain: RealmDomain): DomainSnapshot => ({ ...toWire(domain), id: domain.id });

/** Returns the fields of a domain that clients receive. */
export const wireOf = ({ id: _, ...domain }: DomainSnapshot): WireRealmDomain => domain;
