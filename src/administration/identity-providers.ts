import type { Organization } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';

/** Path of the sign-in through an identity provider. The provider's slug follows. */
export const PROVIDER_PATH = '/accounts/login/openid/';

/** Returns the path at which a person begins to sign in through a provider. */
export const loginPathOf = ({ slug }: { readonly slug: string }): string => `${PROVIDER_PATH}${slug}`;

/** Path of the sign-out at an identity provider. The provider's slug follows. */
export const LOGOUT_PATH = '/accounts/logout/openid/';

/** Returns the path at which the browser is redirected to the sign-out of a provider. */
export const logoutPathOf = ({ slug }: { readonly slug: string }): string => `${LOGOUT_PATH}${slug}`;

/**
 * Path at which clients let people sign in with the browser, if the password alone is not sufficient. Clients add
 * `mobile_flow_otp` or `desktop_flow_otp`, as for a provider.
 */
export const BROWSER_LOGIN_PATH = '/sign-in/app';

/** Returns whether an organization has an enabled provider. */
export const hasProvider = async (db: Pick<Tx, 'identityProvider'>, organizationId: number): Promise<boolean> =>
  (await db.identityProvider.count({ where: { organizationId, isEnabled: true } })) > 0;

/**
 * Returns the authentication methods of an organization in the form of the response of `POST /register`.
 *
 * @param hasProvider Whether the organization has an enabled provider.
 */
export const authenticationMethods = (hasProvider: boolean) => ({
  Email: { enabled: true, available: true },
  'OpenID Connect': { enabled: hasProvider, available: true },
});

/**
 * Returns the method `browser`. Any organization has it, because people can add a second factor without being required to, and
 * their password alone then gives no API key. Empty without an organization.
 */
export function browserMethods(organization: Pick<Organization, 'id'> | null): ExternalMethod[] {
  if (organization === null) return [];
  const urls = { loginUrl: BROWSER_LOGIN_PATH, signupUrl: BROWSER_LOGIN_PATH };
  return [{ name: 'browser', displayName: 'Sign in with the browser', displayIcon: null, ...urls }];
}

/** A provider with which people can sign in, as clients see it before they sign in. */
export interface ExternalMethod {
  /** Unique name of the provider, for programs. */
  readonly name: string;
  readonly displayName: string;
  /** URL of the logo. Null: none. */
  readonly displayIcon: string | null;
  readonly loginUrl: string;
  readonly signupUrl: string;
}

/** Returns the enabled providers of an organization, oldest first. Without an organization, there are none. */
export async function externalMethods(
  db: Pick<Tx, 'identityProvider'>,
  organization: Pick<Organization, 'id'> | null,
): Promise<ExternalMethod[]> {
  if (organization === null) return [];
  const enabled = await db.identityProvider.findMany({
    where: { organizationId: organization.id, isEnabled: true },
    orderBy: { id: 'asc' },
    select: { slug: true, name: true },
  });
  return enabled.map(({ slug, name }) => {
    // The URL for sign-up is the same: if the provider creates accounts, a sign-in creates a missing account.
    const url = loginPathOf({ slug });
    return { name: `openid:${slug}`, displayName: name, displayIcon: null, loginUrl: url, signupUrl: url };
  });
}
