import { errors, jwtVerify } from 'jose';
import type { App, RequestCtx } from '../../access/context.ts';
import { useUp } from '../../access/used-tokens.ts';
import { findUserByEmail } from '../../people/users.ts';
import { BadRequestError, NonexistentSubdomainError } from '../../platform/errors.ts';
import type { JwtKey } from '../../platform/jwt-keys.ts';
import { AuthenticationFailedError } from './errors.ts';
import { type Login, logIn } from './login.ts';

/** Longest token that is parsed, in bytes. Tokens of identity providers have one or two kilobytes. */
export const MAX_TOKEN_BYTES = 8 * 1024;
/**
 * Form of a token: three parts of base64url and nothing else. Decoders would ignore padding and white space.
 *
 * @see RFC 7515 2, 3.1
 */
const COMPACT = /^[\w-]*\.[\w-]*\.[\w-]*$/;
/** Tolerated difference between the clocks of issuer and server, in seconds. */
const CLOCK_SKEW = 60;
/** The year 9999. Later expiry dates of tokens are replaced by it. */
const LAST_DATE = Date.UTC(9999, 0);

/**
 * Returns the API key of the person whose email address a web token contains. Records the first login of an imported user.
 *
 * Key fields in the header (`kid`, `jku`, `x5u`, `jwk`) are ignored: the organization has one key.
 *
 * @throws NonexistentSubdomainError at the server's own domain, if it has no organization.
 * @throws BadRequestError if the organization does not accept web tokens, or the token is invalid.
 * @throws AuthenticationFailedError if no person of the organization has the email address.
 * @throws RealmDeactivatedError, UserDeactivatedError if the person cannot sign in.
 * @see RFC 8725
 */
export async function fetchApiKeyByJwt(
  { app, realm, caller }: RequestCtx,
  { token }: { token: string },
): Promise<Login> {
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
  if (user === null || user.botType !== null || user.isSystem) {
    const facts = {
      realm_id: realm.id,
      account: email,
      address: caller?.address,
      reason: 'no account for the web token',
    };
    app.log.warn(facts, 'sign-in failed');
    throw new AuthenticationFailedError();
  }
  const login = await logIn(app, { user, realm });
  // The use is recorded last, so that the token can be used again if signing in fails.
  const { jti, exp = 0 } = claims;
  const expiresAt = new Date(Math.min((exp + CLOCK_SKEW) * 1000, LAST_DATE));
  if (key.once && !(await useUp(app, realm.id, String(jti), expiresAt))) throw badToken();
  return login;
}

const badToken = () => new BadRequestError('Bad JSON web token');

/** Returns the claims of a token that is well-formed, signed by the organization's issuer, and currently valid. */
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

/** Returns the claims of a token as JSON text. The text is valid UTF-8, because it was already parsed. */
const payloadText = (token: string): string => Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');

/**
 * Returns whether an object has two members with one name. Parsers differ in which of the two they use, so the issuer may have
 * meant the member that this parser ignores.
 *
 * @param json Valid JSON.
 * @see RFC 7519 4
 */
function namesTwice(json: string): boolean {
  const open: Set<string>[] = [];
  // Matches a member name with its colon, another string, or a brace. Strings in arrays are not names: no colon follows.
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
