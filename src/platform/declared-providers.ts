import { z } from 'zod';

const Entries = z.array(
  z.strictObject({
    organization: z.string(),
    slug: z.string(),
    name: z.string(),
    issuer: z.string(),
    client_id: z.string(),
    client_secret: z.string(),
    domains: z.array(z.string()).default([]),
    create_accounts: z.boolean().default(false),
  }),
);

/** An OpenID Connect provider of an organization that the environment of the server declares. */
export interface DeclaredProvider {
  /** Subdomain of the organization. "" is the organization of the root domain. */
  readonly subdomain: string;
  /** Part of the provider's URLs. */
  readonly slug: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly domains: readonly string[];
  readonly createsAccounts: boolean;
}

/**
 * Parses OPENID_CONNECT_PROVIDERS: `[{"organization", "slug", "name", "issuer", "client_id", "client_secret", "domains"?,
 * "create_accounts"?}]`. The values are not checked yet.
 *
 * @throws Error with one sentence if the text cannot be parsed, or two providers of an organization have the same identifier. The
 *   message contains no client secret.
 */
export function readDeclaredProviders(text: string): readonly DeclaredProvider[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The message of the parser can contain a part of the text.
    throw new Error('is not valid JSON');
  }
  const { success, data, error } = Entries.safeParse(json);
  if (!success) throw new Error(error.issues.map(({ path, message }) => `${pathOf(path)}${message}`).join('; '));
  const seen = new Set<string>();
  return data.map(({ organization: subdomain, client_id, client_secret, create_accounts, ...rest }, i) => {
    const key = `${subdomain} ${rest.slug}`;
    if (seen.has(key)) throw new Error(`${i}.slug: Another provider of this organization has the slug "${rest.slug}"`);
    seen.add(key);
    return {
      ...{ subdomain, ...rest, clientId: client_id, clientSecret: client_secret, createsAccounts: create_accounts },
    };
  });
}

const pathOf = (path: readonly PropertyKey[]): string => (path.length === 0 ? '' : `${path.map(String).join('.')}: `);
