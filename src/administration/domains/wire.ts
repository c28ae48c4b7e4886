import type { RealmDomain } from '../../generated/prisma/client.ts';

export interface WireRealmDomain {
  readonly domain: string;
  readonly allow_subdomains: boolean;
}

export function toWire({ domain, allowSubdomains }: RealmDomain): WireRealmDomain {
  return { domain, allow_subdomains: allowSubdomains };
}
