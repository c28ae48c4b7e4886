import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import type { Runtime } from '../../access/context.ts';
import type { IdentityProvider } from '../../generated/prisma/client.ts';
import { SignInFailure } from './failure.ts';
import { connect, guarded, guardedFetch, identifierIn, PROVIDER_MS } from './openid.ts';

/** Maximum length of a logout token, in characters. */
const MAX_TOKEN_LENGTH = 8 * 1024;
/** Tolerated difference between the clocks of provider and server, and maximum age of a logout token, in seconds. */
const [CLOCK_SKEW_SECONDS, MAX_TOKEN_SECONDS] = [60, 600];
/** Member of the claim `events` of logout tokens. */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Signatures with public keys. Others could be made by everyone who knows the client id or secret. */
const SIGNATURES = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** Time in ms for which the keys of a provider are used without being read again. */
const KEYS_MS = 600_000;
/**
 * Minimum time in ms between two reads of a provider's keys, whether or not they succeed. Otherwise tokens of strangers with
 * unknown key ids would cause a request each.
 */
const PAUSE_MS = 30_000;
/** Maximum size of the keys of a provider as JSON, in UTF-16 code units. Providers have a few keys of 1 to 3 KiB. */
const MAX_KEYS_LENGTH = 64 * 1024;
/** Maximum number of providers of organizations whose keys are stored. Those used least recently are dropped. */
const MAX_PROVIDERS = 1_000;

/** Content of a logout token, by which a provider ends sessions. It names a person, a session at the provider, or both. */
export interface LogoutToken {
  readonly id: string;
  readonly subject: string | undefined;
  readonly sessionId: string | undefined;
  /** Time after which the token is not accepted any more. */
  readonly expiresAt: Date;
}

/**
 * Validates a logout token: signature, issuer, audience, times, and the claims that distinguish it from other tokens. The
 * signature is checked last, because only this check can cause requests to the provider.
 *
 * @throws SignInFailure if the token is not valid, or the provider does not respond.
 * @see OpenID Connect Back-Channel Logout 1.0, section 2.6
 */
export async function readLogoutToken(app: Runtime, provider: IdentityProvider, token: string): Promise<LogoutToken> {
  const content = contentOf(app, provider, token);
  if (content === undefined) throw invalid();
  return guarded(app, provider, async () => {
    const keys = await keysOf(app, provider);
    if (await isSigned(app, provider, token, keys)) return content;
    // The provider can have a new key.
    const current = await keysOf(app, provider, keys);
    if (current === keys || !(await isSigned(app, provider, token, current))) throw invalid();
    return content;
  });
}

const invalid = () => new SignInFailure('The logout token is not valid.', { status: 400 });

/** Returns the content of a token for the provider's client, whose signature is not verified. Undefined if it is not valid. */
function contentOf(app: Runtime, provider: IdentityProvider, token: string): LogoutToken | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return undefined;
  const payload = payloadOf(token);
  if (payload === undefined) return undefined;
  const { iss, aud, iat, exp, jti: id, events } = payload;
  const own = (text: string) => text.replace(/\/$/, '');
  const isAddressed =
    typeof iss === 'string' && own(iss) === own(provider.issuer) && [aud].flat().includes(provider.clientId);
  const now = app.now().getTime() / 1000;
  const isCurrent =
    typeof iat === 'number' &&
    typeof exp === 'number' &&
    Math.abs(now - iat) <= MAX_TOKEN_SECONDS + CLOCK_SKEW_SECONDS &&
    exp > now - CLOCK_SKEW_SECONDS;
  const isLogout = typeof events === 'object' && events !== null && LOGOUT_EVENT in events && !('nonce' in payload);
  const [subject, sessionId] = [identifierIn(payload, 'sub'), identifierIn(payload, 'sid')];
  if (!isAddressed || !isCurrent || !isLogout) return undefined;
  if (typeof id !== 'string' || (subject ?? sessionId) === undefined) return undefined;
  return { id, subject, sessionId, expiresAt: new Date((exp + CLOCK_SKEW_SECONDS) * 1000) };
}

/** Returns the claims of a token with a permitted algorithm. Undefined if it has no such form. */
function payloadOf(token: string): JWTPayload | undefined {
  try {
    const { alg = '' } = decodeProtectedHeader(token);
    return SIGNATURES.includes(alg) ? decodeJwt(token) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Verifies the signature of a token, and its times and issuer once more.
 *
 * @returns False if none of the keys has the key id of the token.
 * @throws SignInFailure if the token is not valid.
 */
async function isSigned(
  app: Runtime,
  { clientId: audience }: IdentityProvider,
  token: string,
  { issuer, find }: ProviderKeys,
): Promise<boolean> {
  try {
    await jwtVerify(token, find, {
      ...{ issuer, audience, algorithms: SIGNATURES, currentDate: app.now() },
      ...{ clockTolerance: CLOCK_SKEW_SECONDS, maxTokenAge: MAX_TOKEN_SECONDS },
      requiredClaims: ['exp', 'iat', 'jti'],
    });
    return true;
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return false;
    throw error instanceof errors.JOSEError ? invalid() : error;
  }
}

/** The keys with which a provider signs, and the issuer that its tokens name. */
interface ProviderKeys {
  readonly issuer: string;
  readonly find: JWTVerifyGetKey;
}

/** The keys of a provider, and the last attempt to read them. Times are in ms since 1970. */
interface Reading {
  readonly attemptedAt: number;
  readonly readAt: number;
  readonly keys: Promise<ProviderKeys>;
}

/**
 * The readings of each running service, by organization and issuer, the least recently used first. Each organization has
 * credentials of its own at a provider, with which reading can fail. Several services may run in one process.
 */
const readingsOf = new WeakMap<Runtime, Map<string, Reading>>();

/**
 * Returns the keys of a provider. They are read at most once within 30 seconds, also if that fails.
 *
 * @param outdated Keys that are to be read again. Undefined: those of the last 10 minutes are returned.
 */
function keysOf(app: Runtime, provider: IdentityProvider, outdated?: ProviderKeys): Promise<ProviderKeys> {
  const readings = readingsOf.get(app) ?? new Map<string, Reading>();
  readingsOf.set(app, readings);
  const place = `${provider.organizationId} ${provider.issuer}`;
  const now = app.now().getTime();
  const last = readings.get(place);
  const isGood = last !== undefined && now - last.readAt < KEYS_MS;
  if (last !== undefined && (now - last.attemptedAt < PAUSE_MS || (isGood && outdated === undefined))) {
    readings.delete(place);
    readings.set(place, last);
    return last.keys;
  }
  const keys = readKeys(app, provider);
  const reading = { attemptedAt: now, readAt: now, keys };
  readings.delete(place);
  readings.set(place, reading);
  for (const one of [...readings.keys()].slice(0, -MAX_PROVIDERS)) readings.delete(one);
  keys.catch(() => {
    // The callers get the rejection. Later ones get the previous keys, as long as these are good.
    if (readings.get(place) !== reading) return;
    readings.set(place, isGood ? { ...last, attemptedAt: now } : { ...reading, readAt: Number.NEGATIVE_INFINITY });
  });
  return keys;
}

/** Reads the metadata and the keys of a provider. */
async function readKeys(app: Runtime, provider: IdentityProvider): Promise<ProviderKeys> {
  const { issuer, jwks_uri: uri } = (await connect(app, provider)).serverMetadata();
  if (uri === undefined) throw new Error('The provider has no keys');
  const fetchKeys = guardedFetch(app, AbortSignal.timeout(PROVIDER_MS));
  const headers = { accept: 'application/json' };
  const response = await fetchKeys(uri, { method: 'GET', headers, body: null, redirect: 'manual' });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`The provider returned its keys with status ${response.status}`);
  if (text.length > MAX_KEYS_LENGTH) throw new Error('The keys of the provider are too long');
  return { issuer, find: createLocalJWKSet(JSON.parse(text) as JSONWebKeySet) };
}
