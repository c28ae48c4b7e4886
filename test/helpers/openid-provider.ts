import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { importJWK, type JWTPayload, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import type { Json } from './http.ts';
import { startHttpServer } from './http-server.ts';

/** Claims that the provider sends about a person. */
export interface Claims {
  readonly email?: string;
  readonly email_verified?: boolean | string;
  readonly name?: string;
  readonly groups?: readonly string[];
}

/** A client of the provider, as an owner registers it. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** An OpenID Connect provider on this machine: `await using` it. */
export interface OpenIdProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Claims of the people who can sign in, by their subject (the claim `sub`). */
  readonly people: Map<string, Claims>;
  /** Registers a client. */
  register(redirectUri: string): Promise<RegisteredClient>;
  /** Signs a person in as a browser would. @returns URL of the last redirect of the provider. */
  signIn(authorizationUrl: string, subject: string): Promise<string>;
  /** Signs a person out at the provider, in the browser of the person's last `signIn`. @returns URL of the last redirect. */
  signOut(endSessionUrl: string, subject: string): Promise<string>;
  /** Logout tokens that the provider sent to clients, oldest first. They are not delivered. */
  readonly logoutTokens: string[];
  /** Handles all requests instead of the provider. Undefined: the provider handles them. */
  instead: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Replaces the ID token in responses of the token endpoint. Undefined: it stays as it is. */
  idToken: ((idToken: string) => Promise<string>) | undefined;
  /** Signs claims with the key of the provider. */
  sign(claims: JWTPayload): Promise<string>;
  /** Number of requests for the metadata and for the keys. */
  readonly reads: { metadata: number; keys: number };
  /** Replaces the key with which the provider signs, and its id. */
  rotate(): void;
}

const FORM = `<!doctype html><title>Provider</title><form method="post">
<label>Person <input name="login"></label><button>Continue</button></form>`;

/** The cookies of a browser at the provider. */
type Cookies = Map<string, string>;

/** Sends a request as a browser, and stores the cookies of the response. */
async function request(cookies: Cookies, url: string, body?: URLSearchParams): Promise<Response> {
  const response = await fetch(url, {
    redirect: 'manual',
    headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
    ...(body !== undefined && { method: 'POST', body }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    cookies.set(name, value);
  }
  return response;
}

/** Returns a new private key that signs tokens. */
function newKey(): Json {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomBytes(8).toString('hex'), alg: 'RS256', use: 'sig' };
}

async function redirectOf(response: Response): Promise<string> {
  const location = response.headers.get('location');
  if (location === null) throw new Error(`No redirect from ${response.url}: ${await response.text()}`);
  return new URL(location, response.url).href;
}

/**
 * Starts an OpenID Connect provider.
 *
 * @param options `claimsInIdToken`: whether ID tokens contain the claims, not only the UserInfo response. `hasSignOut`: whether
 *   people can sign out, and clients are notified of it.
 */
export async function startOpenIdProvider({
  claimsInIdToken = false,
  hasSignOut = true,
} = {}): Promise<OpenIdProvider> {
  const people = new Map<string, Claims>();
  const jwks = { keys: [newKey()] };
  const { url: issuer, ...rest } = await startHttpServer((request, response) => void answer(request, response));
  const browsers = new Map<string, Cookies>();
  const provider: Provider = new Provider(issuer, {
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    conformIdTokenClaims: !claimsInIdToken,
    cookies: { keys: [randomBytes(16).toString('hex')] },
    features: {
      ...{ devInteractions: { enabled: false }, registration: { enabled: true } },
      ...{ rpInitiatedLogout: { enabled: hasSignOut }, backchannelLogout: { enabled: hasSignOut } },
    },
    fetch: async (_url: unknown, { body }: { readonly body: URLSearchParams }) => {
      made.logoutTokens.push(body.get('logout_token') ?? '');
      return new Response(null, { status: 200 });
    },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, ...people.get(sub) }),
    }),
    jwks: { keys: [...jwks.keys] },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    // Every client is trusted, so that no page asks for consent.
    async loadExistingGrant({ oidc }: Json) {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    pkce: { required: () => true },
    renderError: (context: Json, out: object) => {
      context.body = JSON.stringify(out);
    },
    ttl: { Session: 3600, Interaction: 600, Grant: 3600, AccessToken: 600, IdToken: 600 },
  });
  provider.use(async (context: Json, next: () => Promise<void>) => {
    await next();
    if (context.path === '/jwks')
      context.body = { keys: jwks.keys.map(({ n, e, kty, kid, alg, use }) => ({ n, e, kty, kid, alg, use })) };
    const { id_token: idToken } = context.path === '/token' ? context.body : {};
    if (made.idToken !== undefined && idToken !== undefined) context.body.id_token = await made.idToken(idToken);
  });
  const handle = provider.callback();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith('/.well-known/') === true) made.reads.metadata++;
    if (request.url === '/jwks') made.reads.keys++;
    if (made.instead !== undefined) return made.instead(request, response);
    if (request.url?.startsWith('/interaction/') !== true) return handle(request, response);
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(FORM);
      return;
    }
    const login = new URLSearchParams(await text(request)).get('login') ?? '';
    await provider.interactionFinished(request, response, { login: { accountId: login } });
  }

  const made: OpenIdProvider = {
    ...rest,
    issuer,
    people,
    instead: undefined,
    idToken: undefined,
    logoutTokens: [],
    reads: { metadata: 0, keys: 0 },
    async sign(claims) {
      const [key = newKey()] = jwks.keys;
      return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.kid }).sign(await importJWK(key, 'RS256'));
    },
    rotate() {
      jwks.keys = [newKey()];
    },
    async register(redirectUri) {
      const response = await fetch(`${issuer}/reg`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          redirect_uris: [redirectUri],
          ...(hasSignOut && {
            post_logout_redirect_uris: [new URL('/', redirectUri).href],
            backchannel_logout_uri: new URL('/not-delivered', redirectUri).href,
            backchannel_logout_session_required: true,
          }),
        }),
      });
      const body = (await response.json()) as Json;
      if (response.status !== 201) throw new Error(`The client was not registered: ${JSON.stringify(body)}`);
      return { clientId: body.client_id, clientSecret: body.client_secret };
    },
    async signIn(authorizationUrl, subject) {
      const cookies: Cookies = new Map();
      browsers.set(subject, cookies);
      const visit = async (url: string, body?: string) =>
        redirectOf(await request(cookies, url, body === undefined ? undefined : new URLSearchParams(body)));
      const interaction = await visit(authorizationUrl);
      if (!interaction.startsWith(`${issuer}/interaction/`)) return interaction;
      return visit(await visit(interaction, `login=${encodeURIComponent(subject)}`));
    },
    async signOut(endSessionUrl, subject) {
      const cookies: Cookies = browsers.get(subject) ?? new Map();
      const form = await (await request(cookies, endSessionUrl)).text();
      const [, action = ''] = /action="([^"]+)"/.exec(form) ?? [];
      const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(form) ?? [];
      return redirectOf(await request(cookies, action, new URLSearchParams({ xsrf, logout: 'yes' })));
    },
  };
  return made;
}
