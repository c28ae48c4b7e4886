import type { RealmDomain } from '../../generated/prisma/client.ts';

/** @see interface document 2.8; endpoints companion B.15 */
export interface WireRealmDomain {
  readonly domain: string;
  readonly allow_subdomains: boolean;
}

export function toWire({ domain, allowSubdomains }: RealmDomain): WireRealmDomain {
  return { domain, allow_subdomains: allowSubdomains };
}
