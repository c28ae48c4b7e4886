import { errors, jwtVerify } from 'jose';
import type { App, RequestCtx } from '../../access/context.ts';
import { useUp } from '../../access/used-tokens.ts';
import { findUserByEmail } from '../../people/users.ts';
import { BadRequestError, NonexistentSubdomainError } from '../../platform/errors.ts';
import type { JwtKey } from '../../platform/jwt-keys.ts';
import { AuthenticationFailedError } from './errors.ts';
import { type Login, logIn } from './login.ts';

/** Our choice: identity providers' tokens have a kilobyte or two; whatever is longer is not read at all. */
export const MAX_TOKEN_BYTES = 8 * 1024;
/** Three parts of base64url and nothing else: decoders pass over padding and white space. @see RFC 7515 2, 3.1 */
const COMPACT = /^[\w-]*\.[\w-]*\.[\w-]*$/;
/** Our choice, in seconds: how far the clocks of issuer and server may be apart. */
const CLOCK_SKEW = 60;
/** The year 9999: what a token says of later is as good as for ever. */
const LAST_DATE = Date.UTC(9999, 0);

/**
 * The API key of the person whom a web token names by their e-mail address. Counts as a login.
 *
 * What the header says of keys (`kid`, `jku`, `x5u`, `jwk`) is passed over: the organisation has one key.
 *
 * @throws NonexistentSubdomainError at the server's own domain, when it has no organisation.
 * @throws BadRequestError when the organisation takes no web tokens, or not this one.
 * @throws AuthenticationFailedError when no person of the organisation has the address.
 * @throws RealmDeactivatedError, UserDeactivatedError when one has, but may not sign in.
 * @see RFC 8725
 */
export async function fetchApiKeyByJwt({ app, realm }: RequestCtx, { token }: { token: string }): Promise<Login> {
  if (realm === null) throw new NonexistentSubdomainError();
  const key = app.config.jwtKeys.get(realm.subdomain);
  if (key === undefined) throw new BadRequestError('JWT authentication is not enabled for this organization');
  if (token === '') throw new BadRequestError('No JSON web token passed in request');
  const claims = await verify(app, key, token);
  const { email } = claims;
  if (typeof email !== 'string' || email === '') {
    throw new BadRequestError('No email specified in JSON web token claims');
  }
  const user = await findUserByEmail(app.db, realm.id, email);
  if (user === null || user.botType !== null || user.isSystem) throw new AuthenticationFailedError();
  const login = await logIn(app, { user, realm });
  // Last: a token whose use came to nothing may be tried again.
  const { jti, exp = 0 } = claims;
  const expiresAt = new Date(Math.min((exp + CLOCK_SKEW) * 1000, LAST_DATE));
  if (key.once && !(await useUp(app, realm.id, String(jti), expiresAt))) throw badToken();
  return login;
}

const badToken = () => new BadRequestError('Bad JSON web token');

/** The claims of a token that is whole, of the organisation's issuer, and timely. */
async function verify(app: App, { key, algorithms, issuer, audience, type, once }: JwtKey, token: string) {
  if (Buffer.byteLength(token) > MAX_TOKEN_BYTES || !COMPACT.test(token)) throw badToken();
  const now = app.now();
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [...algorithms],
      currentDate: now,
      clockTolerance: CLOCK_SKEW,
      ...(issuer !== undefined && { issuer }),
      ...(audience !== undefined && { audience }),
      ...(type !== undefined && { typ: type }),
      ...(once && { requiredClaims: ['jti', 'exp'] }),
    });
    const isFromFuture = payload.iat !== undefined && payload.iat > now.getTime() / 1000 + CLOCK_SKEW;
    const isNameless = once && (typeof payload.jti !== 'string' || payload.jti === '');
    if (isFromFuture || isNameless || namesTwice(payloadText(token))) throw badToken();
    return payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) throw badToken();
    throw error;
  }
}

/** What was signed; it is UTF-8 by now. */
const payloadText = (token: string): string => Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');

/**
 * Whether an object has two members of the same name: parsers differ in which one they take, so that the issuer may have
 * meant another than we would read.
 *
 * @param json Valid JSON.
 * @see RFC 7519 4
 */
function namesTwice(json: string): boolean {
  const open: Set<string>[] = [];
  // A text with what follows it, or a bracket. Names of an array's texts are not looked at: no colon follows them.
  for (const [token, name] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (name !== undefined) {
      const names = open.at(-1);
      const text = JSON.parse(name) as string;
      if (names?.has(text)) return true;
      names?.add(text);
    }
  }
  return false;
}
