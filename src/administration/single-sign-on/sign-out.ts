import type { Ctx, RequestCtx } from '../../access/context.ts';
import { endSessions } from '../../access/sessions.ts';
import { useUp } from '../../access/used-tokens.ts';
import { transact } from '../../events/log.ts';
import type { IdentityProvider, Prisma } from '../../generated/prisma/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { logoutPathOf } from '../identity-providers.ts';
import { SignInFailure } from './failure.ts';
import { findProvider } from './flow.ts';
import { type LogoutToken, readLogoutToken } from './logout-token.ts';
import { endSessionUrl } from './openid.ts';

/** A provider at which a person can sign out. */
export interface SignOutProvider {
  readonly name: string;
  /** Path at which the browser is redirected to the sign-out of the provider. */
  readonly path: string;
}

/**
 * Returns the provider with which the viewer's session began, if the person can sign out there. Null for other sessions, for API
 * keys, and if the provider is disabled.
 */
export async function signOutProviderOf({ work, organizationId, viewer }: Ctx): Promise<SignOutProvider | null> {
  const { credential } = viewer;
  if (credential?.kind !== 'session') return null;
  const session = await work.db.session.findUnique({
    where: { organizationId_id: { organizationId, id: credential.id } },
  });
  if (session === null || session.providerId === null || !session.providerSignsOut) return null;
  const where = { organizationId, id: session.providerId, isEnabled: true };
  const provider = await work.db.identityProvider.findFirst({ where });
  return provider && { name: provider.name, path: logoutPathOf(provider) };
}

/**
 * Returns the URL at which a person signs out at a provider. From there, the browser comes back to the organization.
 *
 * @throws SignInFailure if there is no such provider, it does not respond, or it has no sign-out.
 * @throws NonexistentSubdomainError, OrganizationDeactivatedError if people cannot sign in to the organization.
 */
export async function signOutUrl(request: RequestCtx, slug: string): Promise<string> {
  const { app } = request;
  const { organization, provider } = await findProvider(request, slug);
  const url = await endSessionUrl(app, provider, `${urlOf(app.config, organization.subdomain)}/`);
  if (url === undefined) throw new SignInFailure(`${provider.name} has no sign-out.`, { status: 404 });
  return url.href;
}

/** Prefix of the ids of used logout tokens. */
const PURPOSE = 'logout token';

/**
 * Ends the sessions that a logout token of a provider names: those of a session at the provider, or all of a person. Other
 * sessions of the person, such as those that began with a password, continue.
 *
 * @throws SignInFailure if the token is not valid or was used, there is no such provider, or the provider does not respond.
 * @throws NonexistentSubdomainError, OrganizationDeactivatedError if people cannot sign in to the organization.
 * @see OpenID Connect Back-Channel Logout 1.0
 */
export async function endSessionsByProvider(request: RequestCtx, slug: string, token: string): Promise<void> {
  const { app, work } = request;
  const { organization, provider } = await findProvider(request, slug);
  const organizationId = organization.id;
  const logout = await readLogoutToken(app, provider, token);
  const id = `${PURPOSE} ${provider.id} ${logout.id}`;
  const which = sessionsOf(provider, logout);
  await transact({ work, organizationId }, async (tx, emit) => {
    // In the same transaction, so that the provider can repeat the request if it fails.
    const isFirst = await useUp({ app, work: { db: tx } }, organizationId, id, logout.expiresAt);
    if (!isFirst) throw new SignInFailure('The logout token was used before.', { status: 400 });
    const sessions = await tx.session.findMany({ where: { organizationId, ...which }, select: { userId: true } });
    for (const userId of new Set(sessions.map((session) => session.userId))) {
      await endSessions(tx, emit, { id: userId, organizationId }, which);
    }
  });
}

/**
 * Returns the condition for the sessions that a logout token names. If it names both a person and a session, the person's sessions
 * whose ID token named no session match as well.
 */
const sessionsOf = ({ id }: IdentityProvider, { subject, sessionId }: LogoutToken): Prisma.SessionWhereInput => ({
  providerId: id,
  ...(subject !== undefined && { providerSubject: subject }),
  ...(sessionId !== undefined && {
    OR: [{ providerSession: sessionId }, ...(subject === undefined ? [] : [{ providerSession: null }])],
  }),
});
