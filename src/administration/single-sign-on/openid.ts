import * as openid from 'openid-client';
import type { Runtime } from '../../access/context.ts';
import type { IdentityProvider } from '../../generated/prisma/client.ts';
import { objectionToUrl } from '../../platform/outgoing.ts';
import { tracedFetch } from '../../platform/tracing.ts';
import { SignInFailure } from './failure.ts';
import type { Identity } from './identity.ts';

/** Time in ms that a provider has for all requests of one step of a sign-in. */
export const PROVIDER_MS = 10_000;
/** Maximum size of a response of a provider, in bytes. Longer ones are errors. */
const MAX_ANSWER_BYTES = 512 * 1024;
/** Maximum number of values of the groups claim that are read. */
const MAX_GROUPS = 2_000;
/** Maximum length of a subject in characters, according to the specification. */
const MAX_SUBJECT_LENGTH = 255;
/** Values that bind a sign-in to the browser that began it. */
export interface Binding {
  readonly state: string;
  readonly nonce: string;
  /** Verifier of the code challenge. @see RFC 7636 4.1 */
  readonly verifier: string;
}

export const newBinding = (): Binding => ({
  state: openid.randomState(),
  nonce: openid.randomNonce(),
  verifier: openid.randomPKCECodeVerifier(),
});

/** Returns the URL of the provider to which the browser is sent. @throws SignInFailure if the provider does not respond. */
export async function authorizationUrl(
  app: Runtime,
  provider: IdentityProvider,
  redirectUri: string,
  { state, nonce, verifier }: Binding,
): Promise<URL> {
  return guarded(app, provider, async () => {
    const configuration = await connect(app, provider);
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      // Some providers name the groups of a person only if they are asked for.
      scope: asksForGroups(provider, configuration) ? 'openid email profile groups' : 'openid email profile',
      state,
      nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const objection = objectionToUrl(app.config, url.href);
    if (objection !== undefined) throw new Error(`The authorization endpoint is refused. ${objection}`);
    return url;
  });
}

/**
 * Exchanges the code in the response of a provider for the identity of the person. Checks state, issuer, nonce, signature,
 * audience and times.
 *
 * @param response Query string of the request with which the browser came back.
 * @throws SignInFailure if the response is not valid, or the provider does not respond.
 */
export function identityIn(
  app: Runtime,
  provider: IdentityProvider,
  { redirectUri, response }: { readonly redirectUri: string; readonly response: URLSearchParams },
  { state, nonce, verifier }: Binding,
): Promise<Identity> {
  return guarded(app, provider, async () => {
    const configuration = await connect(app, provider);
    const tokens = await openid.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${response}`), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error('The response contains no ID token');
    const { groupsClaim } = provider;
    const isComplete =
      'email_verified' in claims && 'name' in claims && (groupsClaim === null || hasGroups(claims, groupsClaim));
    const isReadable = configuration.serverMetadata().userinfo_endpoint !== undefined;
    const details =
      isComplete || !isReadable ? {} : await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return {
      ...identityOf(provider, claims, details),
      isSignOutOffered: configuration.serverMetadata().end_session_endpoint !== undefined,
    };
  });
}

/**
 * Returns the URL at which a person signs out at a provider.
 *
 * @param redirectUri URI to which the provider sends the browser afterwards, if it is registered there.
 * @returns Undefined if the provider has no sign-out.
 * @throws SignInFailure if the provider does not respond.
 * @see OpenID Connect RP-Initiated Logout 1.0
 */
export function endSessionUrl(app: Runtime, provider: IdentityProvider, redirectUri: string): Promise<URL | undefined> {
  return guarded(app, provider, async () => {
    const configuration = await connect(app, provider);
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    const url = openid.buildEndSessionUrl(configuration, { post_logout_redirect_uri: redirectUri });
    const objection = objectionToUrl(app.config, url.href);
    if (objection !== undefined) throw new Error(`The end session endpoint is refused. ${objection}`);
    return url;
  });
}

const asksForGroups = ({ groupsClaim }: IdentityProvider, configuration: openid.Configuration): boolean =>
  groupsClaim !== null && configuration.serverMetadata().scopes_supported?.includes('groups') === true;

type Claims = Readonly<Record<string, unknown>>;

/** Returns the identity in the claims of an ID token. Claims that it lacks are taken from the UserInfo endpoint. */
function identityOf(
  { groupsClaim }: IdentityProvider,
  claims: openid.IDToken,
  details: Claims,
): Omit<Identity, 'isSignOutOffered'> {
  const { iss: issuer, sub: subject } = claims;
  if (subject.length === 0 || subject.length > MAX_SUBJECT_LENGTH || subject.includes('\0')) {
    throw new Error('The subject of the ID token is invalid');
  }
  // Address and confirmation are from one source: a source must not confirm the address in another one.
  const source: Claims = 'email_verified' in claims || !('email' in details) ? claims : details;
  const all: Claims = { ...details, ...claims };
  return {
    issuer,
    subject,
    email: textIn(source, 'email'),
    isEmailVerified: source['email_verified'] === true,
    names: [
      textIn(all, 'name'),
      [textIn(all, 'given_name'), textIn(all, 'family_name')].filter((part) => part !== undefined).join(' '),
      textIn(all, 'preferred_username'),
    ].filter((name) => name !== undefined),
    groups: groupsClaim === null ? undefined : groupsIn(all, groupsClaim),
    sessionId: identifierIn(claims, 'sid'),
  };
}

const textIn = (claims: Claims, name: string): string | undefined => {
  const value = claims[name];
  return typeof value === 'string' && value.trim() !== '' && !value.includes('\0') ? value.trim() : undefined;
};

/** Returns an identifier in claims. Undefined if it is missing, or longer than the specification permits. */
export const identifierIn = (claims: Claims, name: string): string | undefined => {
  const value = claims[name];
  return typeof value === 'string' && value !== '' && value.length <= MAX_SUBJECT_LENGTH && !value.includes('\0')
    ? value
    : undefined;
};

/** Returns whether claims contain the groups of a person, or state that they were left out (distributed claims). */
const hasGroups = (claims: Claims, name: string): boolean => name in claims || areElsewhere(claims, name);

/** Returns whether the provider left the groups out because they are too many. @see OpenID Connect Core 5.6.2 */
function areElsewhere(claims: Claims, name: string): boolean {
  const names = claims['_claim_names'];
  return typeof names === 'object' && names !== null && name in names;
}

/** Returns the groups in claims. Empty if the claim is missing. Undefined if the provider left the groups out. */
function groupsIn(claims: Claims, name: string): string[] | undefined {
  if (!(name in claims) && areElsewhere(claims, name)) return undefined;
  const value = claims[name];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((one) => typeof one === 'string').slice(0, MAX_GROUPS);
}

/** Reads the metadata of a provider. All requests made with the result share a time limit of 10 seconds. */
export async function connect(app: Runtime, provider: IdentityProvider): Promise<openid.Configuration> {
  const { issuer, clientId, sealedSecret } = provider;
  if (sealedSecret === null) throw new Error('The client secret is missing');
  const secret = app.keys.open(sealedSecret);
  const deadline = AbortSignal.timeout(PROVIDER_MS);
  const options: openid.DiscoveryRequestOptions = {
    timeout: PROVIDER_MS / 1000,
    // The URLs of all requests are checked by `guardedFetch`, which permits http only on this machine.
    execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
    [openid.customFetch]: guardedFetch(app, deadline),
  };
  const authenticate: openid.ClientAuth = (server, client, body, headers) => {
    const { token_endpoint_auth_methods_supported: supported } = server;
    const isBasic = supported === undefined || supported.includes('client_secret_basic');
    const method = isBasic ? openid.ClientSecretBasic(secret) : openid.ClientSecretPost(secret);
    return method(server, client, body, headers);
  };
  return openid.discovery(new URL(issuer), clientId, { client_secret: secret }, authenticate, options);
}

/** Returns a `fetch` that checks URLs, follows no redirect, and limits time and size of responses. */
export function guardedFetch(app: Runtime, deadline: AbortSignal): openid.CustomFetch {
  return async (url, { body, headers, method }) => {
    const objection = objectionToUrl(app.config, url);
    if (objection !== undefined) throw new Error(`The provider names a URL that is refused. ${objection}`);
    const init = { method, headers, redirect: 'manual', signal: deadline } as const;
    const response = await tracedFetch(url, body == null ? init : { ...init, body: body as BodyInit });
    const { status } = response;
    const bytes = await readBounded(response);
    const type = response.headers.get('content-type');
    return new Response(status === 204 || status === 304 ? null : bytes, {
      status,
      headers: type === null ? {} : { 'content-type': type },
    });
  };
}

async function readBounded({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('The response of the provider is too long');
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** Runs a step of a sign-in at a provider. Logs its error. The person sees only the kind of error. */
export async function guarded<T>(app: Runtime, provider: IdentityProvider, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const facts = { organization: provider.organizationId, provider: provider.slug };
    app.log.warn({ ...facts, err: withoutValues(error) }, 'single sign-on failed');
    throw failureOf(provider, error);
  }
}

/** Returns an error without the claims and tokens that the errors of the library contain as their cause. */
function withoutValues(error: unknown): Error {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  return Object.assign(new Error(message), {
    name,
    stack,
    ...(codeOf(error) !== undefined && { code: codeOf(error) }),
  });
}

const codeOf = (error: unknown): string | undefined => {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : undefined;
};

/** Errors of the library about a response of the provider that is not valid for this sign-in. */
const INVALID = new Set([
  ...['OAUTH_RESPONSE_BODY_ERROR', 'OAUTH_AUTHORIZATION_RESPONSE_ERROR', 'OAUTH_INVALID_RESPONSE'],
  ...[
    'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
    'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
    'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  ],
]);

function failureOf({ name }: IdentityProvider, cause: unknown): SignInFailure {
  if (cause instanceof SignInFailure) return cause;
  if (INVALID.has(codeOf(cause) ?? '')) {
    return new SignInFailure(`The response of ${name} is not valid. Sign in again.`, { status: 400, cause });
  }
  return new SignInFailure(`${name} does not respond as expected. Try again in a moment.`, { status: 502, cause });
}
