import { z } from 'zod';
import type { OrganizationDomain } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireOrganizationDomain = z
  .object({ domain: z.string(), allow_subdomains: z.boolean() })
  .meta({ id: 'RealmDomain' });
export type WireOrganizationDomain = Wire<typeof wireOrganizationDomain>;

export function toWire({ domain, allowSubdomains }: OrganizationDomain): WireOrganizationDomain {
  return { domain, allow_subdomains: allowSubdomains };
}

/** A domain in the payload of its events. */
export interface DomainSnapshot extends WireOrganizationDomain {
  /** Id of the domain. Absent in events of previous versions. */
  readonly id?: number;
}

export const toSnapshot = (domain: OrganizationDomain): DomainSnapshot => ({ ...toWire(domain), id: domain.id });

/** Returns the fields of a domain that clients receive. */
export const wireOf = ({ id: _, ...domain }: DomainSnapshot): WireOrganizationDomain => domain;
