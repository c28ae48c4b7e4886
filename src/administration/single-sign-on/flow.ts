import { z } from 'zod';
import type { RequestCtx, Runtime } from '../../access/context.ts';
import { OrganizationDeactivatedError } from '../../access/errors.ts';
import { auditFailedSignIn } from '../../access/failed-sign-ins.ts';
import { useUp } from '../../access/used-tokens.ts';
import { type Browser, cookieName, readCookie, setCookie } from '../../api/cookies.ts';
import { isOverHttps } from '../../api/sessions.ts';
import type { IdentityProvider, Organization } from '../../generated/prisma/client.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { NonexistentSubdomainError } from '../../platform/errors.ts';
import { hostOf, urlOf, withoutPort } from '../../platform/hosts.ts';
import { isSameSecret } from '../../platform/key-vault.ts';
import { loginPathOf, PROVIDER_PATH } from '../identity-providers.ts';
import { findInvitation } from '../invitations/joining.ts';
import { beginSession } from '../sessions/service.ts';
import { logIn } from '../sign-in/login.ts';
import { accountOf } from './accounts.ts';
import { desktopCode, mobileUrl, OTP } from './app-sign-in.ts';
import { SignInFailure } from './failure.ts';
import { authorizationUrl, identityIn, newBinding } from './openid.ts';

/** Time in ms that a person has to sign in at the provider. */
const FLOW_MS = 600_000;
const PURPOSE = 'single sign-on';
const MAX_NEXT_LENGTH = 1_000;

/** The program to sign in: the browser itself, or a mobile or desktop client that opened the browser. */
const Target = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('browser'), /** Path to which the browser goes afterwards. */ next: z.string() }),
  z.object({ kind: z.enum(['mobile', 'desktop']), /** Secret of the client, in hexadecimal. */ otp: z.string() }),
]);
export type Target = z.output<typeof Target>;

/**
 * Content of the cookie of a sign-in, sealed under SECRET_KEY. The browser holds all data of the sign-in, so that each node can
 * complete a sign-in that another node began.
 */
const Flow = z.object({
  purpose: z.literal(PURPOSE),
  organizationId: z.int(),
  providerId: z.int(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  target: Target,
  /** Token of the invitation with which the person joins. */
  invitation: z.string().optional(),
  /** Time at which the sign-in expires, in ms since 1970. */
  expiresAt: z.number(),
});
type Flow = z.output<typeof Flow>;

/** Returns the URI that must be registered with a provider. Its host is that of the organization, whatever host a request names. */
export const redirectUriOf = (
  { config }: Pick<Runtime, 'config'>,
  { subdomain }: Pick<Organization, 'subdomain'>,
  provider: { readonly slug: string },
): string => `${urlOf(config, subdomain)}${loginPathOf(provider)}/callback`;

/**
 * Returns the program that signs in, as the query string of the sign-in names it.
 *
 * @throws SignInFailure if the secret of a client is malformed.
 */
export function targetIn(query: URLSearchParams): Target {
  for (const kind of ['mobile', 'desktop'] as const) {
    const otp = query.get(`${kind}_flow_otp`);
    if (otp === null) continue;
    if (!OTP.test(otp)) throw new SignInFailure('The client sent an invalid secret.', { status: 400 });
    return { kind, otp };
  }
  return { kind: 'browser', next: ownPath(query.get('next')) };
}

/** Returns the given path. Returns `/` if it is absent or is a URL of another site. */
function ownPath(given: string | null): string {
  const base = 'https://own.invalid';
  if (given === null || given.length > MAX_NEXT_LENGTH || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(given)) return '/';
  const url = URL.parse(given, base);
  if (url?.origin !== base) return '/';
  const path = `${url.pathname}${url.search}${url.hash}`;
  return path.startsWith('//') ? '/' : path;
}

/** Returns the token of the invitation with which the person joins, as the query string of the sign-in names it. */
const invitationIn = (query: URLSearchParams): string | undefined => query.get('invitation') ?? undefined;

/**
 * Begins a sign-in. Sets the cookie that the browser needs to complete it.
 *
 * @returns URL to which the browser is redirected. It is at the provider. If the request names another host than that of the
 *   organization, it is the same path at the organization's host, to which the provider will redirect the browser.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 * @throws OrganizationDeactivatedError if the organization is deactivated.
 * @throws SignInFailure if there is no such provider, it does not respond, or the query is invalid.
 * @throws NotFoundError, ConflictError if the query names an invitation that cannot be used.
 */
export async function beginSignIn(
  request: RequestCtx,
  slug: string,
  query: URLSearchParams,
  browser: Browser,
): Promise<string> {
  const { app } = request;
  const { organization, provider } = await findProvider(request, slug);
  const target = targetIn(query);
  const invitation = invitationIn(query);
  const host = hostOf(app.config, organization.subdomain);
  if (withoutPort(browser.header('host')?.toLowerCase() ?? '') !== withoutPort(host)) {
    const own = new URLSearchParams(
      target.kind === 'browser' ? { next: target.next } : [[`${target.kind}_flow_otp`, target.otp]],
    );
    if (invitation !== undefined) own.set('invitation', invitation);
    return `${urlOf(app.config, organization.subdomain)}${loginPathOf(provider)}?${own}`;
  }
  if (invitation !== undefined) await findInvitation(request, request.work.db, invitation);
  const binding = newBinding();
  const url = await authorizationUrl(app, provider, redirectUriOf(app, organization, provider), binding);
  const flow: Flow = {
    ...{ purpose: PURPOSE, organizationId: organization.id, providerId: provider.id, ...binding, target },
    ...(invitation !== undefined && { invitation }),
    expiresAt: app.now().getTime() + FLOW_MS,
  };
  const sealed = Buffer.from(app.keys.seal(JSON.stringify(flow))).toString('base64url');
  browser.setCookie(cookieOf(app, browser, sealed, FLOW_MS / 1000));
  return url.href;
}

/** The response to the browser after a sign-in was completed. */
export type Completed =
  /** The browser goes to a URL: a path of this site, or the URL of a mobile client. */
  | { readonly kind: 'redirect'; readonly url: string }
  /** The page shows a code that the person pastes into the desktop client. */
  | { readonly kind: 'code'; readonly code: string };

/**
 * Completes a sign-in with the response of a provider. Works once, and only in the browser that began it.
 *
 * @throws The errors of `beginSignIn` and `accountOf`.
 */
export async function completeSignIn(
  request: RequestCtx,
  slug: string,
  response: URLSearchParams,
  browser: Browser,
): Promise<Completed> {
  const { app, work, caller, clientName } = request;
  const { organization, provider } = await findProvider(request, slug);
  const flow = openFlow(app, readCookie(browser.header('cookie'), nameOf(app)));
  browser.setCookie(cookieOf(app, browser, '', 0));
  const isOwn =
    flow !== undefined &&
    flow.organizationId === organization.id &&
    flow.providerId === provider.id &&
    isSameSecret(response.get('state') ?? '', flow.state);
  if (!isOwn || !(await useUp({ app, work }, organization.id, `${PURPOSE} ${flow.state}`, new Date(flow.expiresAt)))) {
    throw new SignInFailure('This sign-in has expired, or was begun in another browser or tab. Sign in again.', {
      status: 400,
    });
  }
  const redirectUri = redirectUriOf(app, organization, provider);
  const identity = await identityIn(app, provider, { redirectUri, response }, flow);
  const by = { caller, clientName, identityProvider: provider.slug };
  const scope = { app, work, organizationId: organization.id, ...by };
  const user = await accountOf(scope, provider, identity, flow.invitation).catch((error: unknown) => {
    const reason = expectedError(error)?.message ?? (error instanceof SignInFailure ? error.message : undefined);
    const facts = { organization: organization.id, provider: provider.slug, address: caller?.address };
    if (reason !== undefined) {
      app.log.warn({ ...facts, reason }, 'sign-in failed');
      const { subdomain } = organization;
      const refused = { subdomain, reason: 'single sign-on refused', account: identity.email } as const;
      auditFailedSignIn({ app, work }, { ...refused, caller, clientName });
    }
    throw error;
  });
  const { target } = flow;
  const origin = {
    ...{ providerId: provider.id, providerSubject: identity.subject },
    ...{ providerSession: identity.sessionId ?? null, providerSignsOut: identity.isSignOutOffered },
  };
  switch (target.kind) {
    case 'browser':
      await beginSession({ app, work, ...by }, { user, organization }, browser, {
        method: 'single sign-on',
        origin,
      });
      return { kind: 'redirect', url: target.next };
    case 'mobile': {
      const login = await logIn({ app, work, ...by }, { user, organization }, 'single sign-on');
      return { kind: 'redirect', url: mobileUrl(app, organization, login, target.otp) };
    }
    case 'desktop':
      return { kind: 'code', code: desktopCode(app, user, origin, target.otp) };
  }
}

/**
 * Finds an enabled provider of the organization at the requested host.
 *
 * @throws NonexistentSubdomainError, OrganizationDeactivatedError if people cannot sign in to the organization.
 * @throws SignInFailure if there is no such provider.
 */
export async function findProvider(
  { work, organization }: RequestCtx,
  slug: string,
): Promise<{ organization: Organization; provider: IdentityProvider }> {
  if (organization === null) throw new NonexistentSubdomainError();
  if (organization.deactivatedAt !== null) throw new OrganizationDeactivatedError();
  const organizationId = organization.id;
  const provider = slug.includes('\0')
    ? null
    : await work.db.identityProvider.findUnique({ where: { organizationId_slug: { organizationId, slug } } });
  if (provider?.isEnabled !== true) {
    throw new SignInFailure(`${organization.name} has no such sign-in provider.`, { status: 404 });
  }
  return { organization, provider };
}

const nameOf = ({ config }: Runtime) => cookieName(config, 'sso');

/**
 * Returns the `Set-Cookie` header for the cookie of a sign-in. The cookie is `SameSite=Lax`, because the provider's redirect
 * comes from another site.
 */
const cookieOf = (app: Runtime, browser: Browser, value: string, maxAge: number) =>
  setCookie(nameOf(app), value, {
    ...{ maxAge, path: PROVIDER_PATH, sameSite: 'Lax', secure: isOverHttps(app.config, browser.header) },
  });

function openFlow({ keys, now }: Runtime, cookie: string | undefined): Flow | undefined {
  try {
    const flow = Flow.parse(JSON.parse(keys.open(Buffer.from(cookie ?? '', 'base64url'))));
    return flow.expiresAt > now().getTime() ? flow : undefined;
  } catch {
    // Any failure means that this server did not set the cookie.
    return undefined;
  }
}
