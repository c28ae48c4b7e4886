import { createHmac } from 'node:crypto';
import type { Runtime } from '../../access/context.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { isSameSecret } from '../../platform/key-vault.ts';

/** Path below which images of other websites are loaded. */
export const EXTERNAL_CONTENT = '/external_content/';
const PURPOSE = 'addresses of external images';
/** Number of characters of a signature. Together they encode 192 bits. */
const LENGTH = 32;
/** Regular expression for a signature in the path of a route. */
export const SIGNATURE = `[A-Za-z0-9_-]{${LENGTH}}`;

/**
 * Returns the address from which clients load an image of another website: a signed path on the organization's host. So the
 * website does not receive the network addresses of readers. An image on the organization's host keeps its URL.
 */
export function imageAddress(
  { config, keys }: Pick<Runtime, 'config' | 'keys'>,
  { id, subdomain }: Pick<Organization, 'id' | 'subdomain'>,
  url: string,
): string {
  if (url.startsWith(`${urlOf(config, subdomain)}/`)) return url;
  const [secret = ''] = keys.tokens(PURPOSE);
  return `${EXTERNAL_CONTENT}${signed(secret, id, url)}/${Buffer.from(url).toString('hex')}`;
}

/** Returns whether the signature in an address is that of an organization and a URL, made with a secret that is accepted. */
export const isSigned = (
  { keys }: Pick<Runtime, 'keys'>,
  { id }: Pick<Organization, 'id'>,
  { url, signature }: { readonly url: string; readonly signature: string },
): boolean => keys.tokens(PURPOSE).some((secret) => isSameSecret(signature, signed(secret, id, url)));

const signed = (secret: string, organizationId: number, url: string): string =>
  createHmac('sha256', secret).update(`${organizationId} ${url}`).digest('base64url').slice(0, LENGTH);
