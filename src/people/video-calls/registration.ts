import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { App, Ctx, RequestCtx } from '../../access/context.ts';
import { requireActive } from '../../access/sign-in.ts';
import { useUp } from '../../access/used-tokens.ts';
import { type Browser, cookieName, readCookie, setCookie } from '../../api/cookies.ts';
import { BadRequestError, RequestVariableMissingError } from '../../platform/errors.ts';
import { urlOf, withoutPort } from '../../platform/hosts.ts';
import { isSameSecret } from '../../platform/key-vault.ts';
import { type Grant, ProviderError, requestToken } from './provider.ts';
import { requireProvider } from './service.ts';
import { keepToken } from './tokens.ts';

/** Our choice: time enough to sign in at the provider and agree. */
const STATE_MS = 600_000;
const PURPOSE = 'video call registration';

/** What comes back from the provider as it was sent: who asked, sealed under SECRET_KEY. */
const State = z.object({
  purpose: z.literal(PURPOSE),
  realmId: z.int(),
  userId: z.int(),
  /** Of the code challenge. @see RFC 7636 4.1 */
  verifier: z.string(),
  /** Milliseconds since 1970. */
  expiresAt: z.number(),
  /** The browser that began: the name at which it asked, without a port, and the SHA-256 of its cookie. Absent: a program began. */
  browser: z.object({ host: z.string(), cookieHash: z.string() }).optional(),
});
type State = z.output<typeof State>;

/**
 * Where the viewer's browser goes, to allow calls to be made in their name. From there the provider sends it to GET
 * /calls/videoprovider/complete.
 *
 * @param browser Who asks, and is given a cookie: it alone completes what it began. Undefined: the viewer completes it.
 * @throws BadRequestError when there is no provider.
 */
export function beginRegistration({ app, realmId, viewer }: Ctx, browser: Browser | undefined): string {
  const { clientId, authorizeUrl } = requireProvider(app);
  const verifier = randomBytes(32).toString('base64url');
  const expiresAt = app.now().getTime() + STATE_MS;
  const known = browser && remember(app, browser);
  const state: State = { purpose: PURPOSE, realmId, userId: viewer.id, verifier, expiresAt, browser: known };
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

/** Lax: the provider, another site, sends the browser back. */
const cookieOf = ({ config }: App, value: string, maxAge: number) =>
  setCookie({
    name: cookieName(config, 'call'),
    value,
    maxAge,
    path: PATH,
    sameSite: 'Lax',
    secure: urlOf(config, '').startsWith('https:'),
  });

/** Gives the browser a cookie of the consent it begins: of several, the last counts. */
function remember(app: App, browser: Browser): State['browser'] {
  const secret = randomBytes(32).toString('base64url');
  browser.setCookie(cookieOf(app, secret, STATE_MS / 1000));
  return { host: nameOf(browser), cookieHash: hashOf(secret) };
}

/** Cookies know no ports, and a Host may name any: nobody is to be sent where only a Host said. */
const nameOf = (browser: Browser) => withoutPort(browser.header('host')?.toLowerCase() ?? '');

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');

/** One for all organisations, because providers want to know each address: at the server's own domain. */
const redirectUri = ({ config }: App) => `${urlOf(config, '')}${PATH}/complete`;

/** What the provider sends along. */
export interface Consent {
  /** Absent when the user did not agree. */
  readonly code?: string | undefined;
  readonly state: string;
  /** Why there is no code. */
  readonly error?: string | undefined;
}

/**
 * Where the browser that began has its cookie, when that is not where the provider sent it: at its organisation's own
 * address.
 *
 * @returns Undefined when it is here, or nowhere.
 */
export function homeOfRegistration({ app, realm }: RequestCtx, consent: Consent, browser: Browser): string | undefined {
  requireProvider(app);
  const host = openState(app, consent.state).browser?.host;
  const isSentHere = realm === null || realm.subdomain === '';
  if (!isSentHere || host === undefined || host === nameOf(browser)) return undefined;
  const { protocol, port } = new URL(urlOf(app.config, ''));
  const query = new URLSearchParams(Object.entries(consent).filter(([, value]) => value !== undefined));
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}${PATH}/complete?${query}`;
}

/**
 * Takes what the provider sends when the user has agreed, and keeps the token: once, and from the browser that began or
 * from the user. Else somebody could begin, have another agree, and make calls in the other's name.
 *
 * @param browser Who brings it; undefined: the viewer does.
 * @throws BadRequestError when the state is not one of ours, was used already, is too old, or is of another organisation,
 *   browser or user; when the user did not agree, or the provider gives no token for the code.
 * @throws RequestVariableMissingError without a code.
 * @throws RealmDeactivatedError, UserDeactivatedError when the user may not sign in any more.
 */
export async function completeRegistration(
  { app, realm, viewer }: RequestCtx,
  consent: Consent,
  browser: Browser | undefined,
): Promise<void> {
  const provider = requireProvider(app);
  const state = openState(app, consent.state);
  const { realmId, userId, verifier, expiresAt } = state;
  const user = await app.db.user.findFirst({ where: { realmId, id: userId }, include: { realm: true } });
  const isElsewhere = realm !== null && realm.subdomain !== '' && realm.id !== realmId;
  const isOwn = browser === undefined ? viewer?.id === userId : isOfBrowser(app, state, browser);
  if (user === null || isElsewhere || !isOwn) throw badState();
  requireActive({ user, realm: user.realm });
  const { code, error } = consent;
  if (error === undefined && code === undefined) throw new RequestVariableMissingError('code');
  if (!(await useUp(app, realmId, `${PURPOSE} ${verifier}`, new Date(expiresAt)))) throw badState();
  browser?.setCookie(cookieOf(app, '', 0));
  if (code === undefined || error !== undefined) {
    throw new BadRequestError('The video provider did not give its permission');
  }
  const answer = await exchange(app, {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri(app),
  });
  if (answer === 'refused') throw new BadRequestError('Invalid video provider credentials');
  await keepToken({ app, realmId }, userId, answer);

  function exchange(app: App, grant: Grant) {
    return requestToken(provider, grant).catch((error: unknown) => {
      if (!(error instanceof ProviderError)) throw error;
      app.log.warn({ err: error }, 'a video provider gave no token');
      throw new BadRequestError('Failed to reach the video provider');
    });
  }
}

function isOfBrowser({ config }: App, { browser: known }: State, browser: Browser): boolean {
  const cookie = readCookie(browser.header('cookie'), cookieName(config, 'call'));
  return known !== undefined && cookie !== undefined && isSameSecret(hashOf(cookie), known.cookieHash);
}

const badState = () => new BadRequestError('Invalid video provider session identifier');

function openState({ keys, now }: App, text: string): State {
  try {
    const state = State.parse(JSON.parse(keys.open(Buffer.from(text, 'base64url'))));
    if (state.expiresAt > now().getTime()) return state;
  } catch {
    // Whatever is wrong with it, it is none of ours.
  }
  throw badState();
}
