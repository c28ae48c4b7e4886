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
