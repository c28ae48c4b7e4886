import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Ctx, RequestCtx, Runtime } from '../../access/context.ts';
import { requireActive } from '../../access/sign-in.ts';
import { useUp } from '../../access/used-tokens.ts';
import { type Browser, cookieName, readCookie, setCookie } from '../../api/cookies.ts';
import {
  ConflictError,
  ForbiddenError,
  NotFoundError,
  RequestVariableMissingError,
  ValidationError,
} from '../../platform/errors.ts';
import { urlOf, withoutPort } from '../../platform/hosts.ts';
import { isSameSecret } from '../../platform/key-vault.ts';
import { type Grant, ProviderError, requestToken } from './provider.ts';
import { requireProvider } from './service.ts';
import { keepToken } from './tokens.ts';

/** Time in ms that a user has to sign in at the provider and to consent. */
const STATE_MS = 600_000;
const PURPOSE = 'video call registration';

/**
 * State of a registration, which is sent to the provider and comes back unchanged. It identifies the user who began the
 * registration, and is sealed under SECRET_KEY.
 */
const State = z.object({
  purpose: z.literal(PURPOSE),
  /** Id of the organization, under the name that nodes of the previous version read. */
  realmId: z.int(),
  userId: z.int(),
  /** Verifier of the code challenge. @see RFC 7636 4.1 */
  verifier: z.string(),
  /** Time at which the registration expires, in ms since 1970. */
  expiresAt: z.number(),
  /**
   * The browser that began the registration: the host name it used, without a port, and the SHA-256 of its cookie. Absent if a
   * client without cookies began the registration.
   */
  browser: z.object({ host: z.string(), cookieHash: z.string() }).optional(),
});
type State = z.output<typeof State>;

/**
 * Returns the URL of the provider at which the viewer allows calls in their name. The provider then redirects the browser to
 * GET /calls/videoprovider/complete.
 *
 * @param browser The requesting browser, which receives a cookie. No other browser can complete the registration. Undefined for
 *   a client without cookies: then the viewer completes the registration with an authenticated request.
 * @throws ConflictError if no provider is configured.
 */
export function beginRegistration({ app, organizationId, viewer }: Ctx, browser: Browser | undefined): string {
  const { clientId, authorizeUrl } = requireProvider(app);
  const verifier = randomBytes(32).toString('base64url');
  const expiresAt = app.now().getTime() + STATE_MS;
  const known = browser && remember(app, browser);
  const state: State = {
    purpose: PURPOSE,
    realmId: organizationId,
    userId: viewer.id,
    verifier,
    expiresAt,
    browser: known,
  };
  const url = new URL(authorizeUrl);
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri(app),
    state: Buffer.from(app.keys.seal(JSON.stringify(state))).toString('base64url'),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

const PATH = '/api/v1/calls/videoprovider';

/**
 * Returns the `Set-Cookie` header for the cookie of a registration. The cookie is `SameSite=Lax`, because the provider's
 * redirect comes from another site.
 */
const cookieOf = ({ config }: Runtime, value: string, maxAge: number) =>
  setCookie(cookieName(config, 'call'), value, {
    maxAge,
    path: PATH,
    sameSite: 'Lax',
    secure: urlOf(config, '').startsWith('https:'),
  });

/**
 * Sets a cookie for the registration that the browser begins. The next registration replaces the cookie, so the browser can
 * complete only its last one.
 */
function remember(app: Runtime, browser: Browser): State['browser'] {
  const secret = randomBytes(32).toString('base64url');
  browser.setCookie(cookieOf(app, secret, STATE_MS / 1000));
  return { host: nameOf(browser), cookieHash: hashOf(secret) };
}

/**
 * Returns the host name of a request without the port. Cookies ignore ports, and a redirect must not lead to a port that only a
 * Host header contains: clients can send any port in it.
 */
const nameOf = (browser: Browser) => withoutPort(browser.header('host')?.toLowerCase() ?? '');

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');

/**
 * Returns the redirect URI, at the server's own domain. All organizations share it, because every redirect URI must be
 * registered with the provider.
 */
const redirectUri = ({ config }: Runtime) => `${urlOf(config, '')}${PATH}/complete`;

/** Parameters that the provider sends with the redirect. */
export interface Consent {
  /** Code that can be exchanged for a token. Absent if the user did not consent. */
  readonly code?: string | undefined;
  readonly state: string;
  /** Reason why the provider sent no code. */
  readonly error?: string | undefined;
}

/**
 * Returns the URL at which a registration must be completed, if its host name differs from that of this request. The browser
 * that began the registration has the cookie only at the host name of its organization.
 *
 * @returns Undefined if no redirect is needed: the two host names are equal, no browser began the registration, or the request
 *   is at the host name of an organization.
 */
export function homeOfRegistration(
  { app, organization }: RequestCtx,
  consent: Consent,
  browser: Browser,
): string | undefined {
  requireProvider(app);
  const host = openState(app, consent.state).browser?.host;
  const isSentHere = organization === null || organization.subdomain === '';
  if (!isSentHere || host === undefined || host === nameOf(browser)) return undefined;
  const { protocol, port } = new URL(urlOf(app.config, ''));
  const query = new URLSearchParams(Object.entries(consent).filter(([, value]) => value !== undefined));
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}${PATH}/complete?${query}`;
}

/**
 * Completes a registration with the provider's parameters and stores the token. Works once, and only for the browser or the
 * user that began the registration. Otherwise an attacker could begin a registration, let another user consent, and make calls
 * in that user's name.
 *
 * @param browser The browser that was redirected. Undefined: the viewer sends the parameters.
 * @throws NotFoundError if the state was not issued by this server, was already used, or is too old.
 * @throws NotFoundError if the state belongs to another organization, browser or user.
 * @throws ForbiddenError if the user did not consent.
 * @throws ValidationError if the provider issues no token for the code.
 * @throws ConflictError if no provider is configured, or the provider cannot be reached.
 * @throws RequestVariableMissingError if neither a code nor an error is given.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the user can no longer sign in.
 */
export async function completeRegistration(
  { app, work, organization, viewer }: RequestCtx,
  consent: Consent,
  browser: Browser | undefined,
): Promise<void> {
  const provider = requireProvider(app);
  const state = openState(app, consent.state);
  const { realmId: organizationId, userId, verifier, expiresAt } = state;
  const user = await work.db.user.findFirst({ where: { organizationId, id: userId }, include: { organization: true } });
  const isElsewhere = organization !== null && organization.subdomain !== '' && organization.id !== organizationId;
  const isOwn = browser === undefined ? viewer?.id === userId : isSameBrowser(app, state, browser);
  if (user === null || isElsewhere || !isOwn) throw badState();
  requireActive({ user, organization: user.organization });
  const { code, error } = consent;
  if (error === undefined && code === undefined) throw new RequestVariableMissingError('code');
  if (!(await useUp({ app, work }, organizationId, `${PURPOSE} ${verifier}`, new Date(expiresAt)))) throw badState();
  browser?.setCookie(cookieOf(app, '', 0));
  if (code === undefined || error !== undefined) {
    throw new ForbiddenError('The video provider did not give its permission', { parameter: 'error' });
  }
  const answer = await exchange(app, {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri(app),
  });
  if (answer === 'refused') throw new ValidationError('Invalid video provider credentials', { parameter: 'code' });
  await keepToken({ app, work, organizationId }, userId, answer);

  function exchange(app: Runtime, grant: Grant) {
    return requestToken(provider, grant).catch((error: unknown) => {
      if (!(error instanceof ProviderError)) throw error;
      app.log.warn({ err: error }, 'video provider issued no token');
      throw new ConflictError('Failed to reach the video provider');
    });
  }
}

/** Returns whether a browser has the cookie of the browser that began the registration. */
function isSameBrowser({ config }: Runtime, { browser: known }: State, browser: Browser): boolean {
  const cookie = readCookie(browser.header('cookie'), cookieName(config, 'call'));
  return known !== undefined && cookie !== undefined && isSameSecret(hashOf(cookie), known.cookieHash);
}

const badState = () => new NotFoundError('Invalid video provider session identifier', { parameter: 'state' });

function openState({ keys, now }: Runtime, text: string): State {
  try {
    const state = State.parse(JSON.parse(keys.open(Buffer.from(text, 'base64url'))));
    if (state.expiresAt > now().getTime()) return state;
  } catch {
    // Any failure means that this server did not issue the state.
  }
  throw badState();
}
