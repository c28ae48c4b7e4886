import type { Config } from '../../platform/config.ts';
import { objectionToUrl } from '../../platform/outgoing.ts';

const MAX_ISSUER_LENGTH = 500;

/** Host, port and scheme of the server. */
export type Address = Pick<Config, 'host' | 'port' | 'externalHost' | 'externalScheme'>;

/** Returns an error message if a URL cannot be the issuer of a provider, otherwise undefined. */
export function objectionToIssuer(config: Address, issuer: string): string | undefined {
  const objection = objectionToUrl(config, issuer);
  if (objection !== undefined) return objection;
  if (issuer.length > MAX_ISSUER_LENGTH) return `It must have at most ${MAX_ISSUER_LENGTH} characters.`;
  const { username, password, search, hash, pathname } = new URL(issuer);
  if (`${username}${password}${search}${hash}` !== '') return 'It must have no user name, query or fragment.';
  return pathname.includes('/.well-known/') ? 'It must end before /.well-known/.' : undefined;
}
