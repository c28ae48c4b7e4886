import { SignJWT } from 'jose';
import { CookieBrowser } from './browser.ts';
import type { Person } from './person.ts';
import { createOrganization, type Organization } from './server.ts';
import type { Served } from './service.ts';
import { startVideoProvider } from './video-provider.ts';

const SUBDOMAIN = 'integrated';
const JWT_SECRET = 'a secret shared with who makes the tokens';

/** A service with two integrations: sign-in by JSON web tokens, and a provider of video calls. */
export interface Integrated<S extends Served = Served> extends AsyncDisposable {
  readonly service: S;
  readonly house: Organization;
  /** Returns a signed web token with these claims. */
  tokenOf(claims: Readonly<Record<string, unknown>>, secret?: string): Promise<string>;
  /** Grants the service access to the user's account at the provider of video calls, as a browser does. */
  allowCalls(person: Person): Promise<void>;
}

/**
 * Starts a service with sign-in by JSON web tokens and a provider of video calls.
 *
 * @param start `startService`, or `startInProcess` for tests that inspect internals.
 */
export async function startIntegrated<S extends Served>(
  start: (options: { readonly env: Readonly<Record<string, string>> }) => Promise<S>,
): Promise<Integrated<S>> {
  const provider = await startVideoProvider();
  const keys = { [SUBDOMAIN]: { key: JWT_SECRET, algorithms: ['HS256'] } };
  const service = await start({ env: { ...provider.env, JWT_AUTH_KEYS: JSON.stringify(keys) } });
  return {
    service,
    house: await createOrganization({}, { on: service, subdomain: SUBDOMAIN }),
    tokenOf: (claims, secret = JWT_SECRET) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret)),
    async allowCalls(person) {
      const browser = new CookieBrowser(person.url);
      const register = `http://${person.host}/api/v1/calls/videoprovider/register`;
      const { headers } = await browser.open(register, person.headers);
      const { status } = await browser.open(provider.agree(headers.location ?? ''));
      if (status !== 200) throw new Error(`The consent was answered with ${status}`);
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}
