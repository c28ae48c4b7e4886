import { errors, jwtVerify } from 'jose';
import { isSameAddress } from '../../access/address.ts';
import type { RequestCtx, Runtime } from '../../access/context.ts';
import { auditFailedSignIn } from '../../access/failed-sign-ins.ts';
import { useUp } from '../../access/used-tokens.ts';
import { findUserByEmail } from '../../people/users.ts';
import { ConflictError, NonexistentSubdomainError, ValidationError } from '../../platform/errors.ts';
import type { JwtKey } from '../../platform/jwt-keys.ts';
import { AuthenticationFailedError } from './errors.ts';
import { type Login, logIn } from './login.ts';

/**
 * Maximum length of a web token, in bytes. Longer tokens are refused with `ValidationError`. Tokens of identity providers have
 * one or two kilobytes.
 */
export const MAX_TOKEN_BYTES = 8 * 1024;
/**
 * Matches a web token: three parts of base64url, separated by dots. Tokens with padding or white space are refused, although
 * decoders ignore these characters.
 *
 * @see RFC 7515 2, 3.1
 */
const COMPACT = /^[\w-]*\.[\w-]*\.[\w-]*$/;
/**
 * Tolerated difference between the clocks of issuer and server, in seconds. Tokens that are expired, or issued in the future,
 * by more than this are refused.
 */
const CLOCK_SKEW = 60;
/** Start of the year 9999, in milliseconds since 1970. It replaces later expiry times of tokens. */
const LAST_DATE = Date.UTC(9999, 0);

/**
 * Returns the API key of the person whose email address a web token contains. Records the first login of an imported user.
 *
 * The header fields that select a key (`kid`, `jku`, `x5u`, `jwk`) are ignored, because the organization has one key.
 *
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 * @throws ConflictError if the organization does not accept web tokens.
 * @throws ValidationError if the token is invalid.
 * @throws AuthenticationFailedError if no person of the organization has the email address.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the person cannot sign in.
 * @see RFC 8725
 */
export async function fetchApiKeyByJwt(request: RequestCtx, { token }: { token: string }): Promise<Login> {
  const { app, work, organization, caller, clientName } = request;
  if (organization === null) throw new NonexistentSubdomainError();
  const key = app.config.jwtKeys.get(organization.subdomain);
  if (key === undefined) throw new ConflictError('JWT authentication is not enabled for this organization');
  if (token === '')
    throw new ValidationError('No JSON web token passed in request', { parameter: 'token', minimum: 1 });
  const claims = await verify(app, key, token);
  const { email } = claims;
  if (typeof email !== 'string' || email === '') {
    throw new ValidationError('No email specified in JSON web token claims', { parameter: 'token' });
  }
  const user = await findUserByEmail(work.db, organization.id, email);
  if (user === null || user.botType !== null || user.isSystem || !isSameAddress(user.email, email.trim())) {
    const facts = {
      organization: organization.id,
      account: email,
      address: caller?.address,
      reason: 'no account for the web token',
    };
    app.log.warn(facts, 'sign-in failed');
    auditFailedSignIn(request, {
      ...{ subdomain: organization.subdomain, reason: 'no account for the web token', caller, clientName },
      account: undefined,
    });
    throw new AuthenticationFailedError();
  }
  const login = await logIn(request, { user, organization }, 'web token');
  // The use of the token is recorded last, so that the token can be used again if signing in fails.
  const { jti, exp = 0 } = claims;
  const expiresAt = new Date(Math.min((exp + CLOCK_SKEW) * 1000, LAST_DATE));
  if (key.once && !(await useUp({ app, work }, organization.id, String(jti), expiresAt))) throw badToken();
  return login;
}

const badToken = () => new ValidationError('Bad JSON web token', { parameter: 'token' });

/**
 * Returns the claims of a web token that is well-formed, signed by the organization's issuer, and currently valid.
 *
 * @throws ValidationError for any other token.
 */
async function verify(app: Runtime, { key, algorithms, issuer, audience, type, once }: JwtKey, token: string) {
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

/** Returns the claims of a web token as JSON text. The text is valid UTF-8, because it was already parsed. */
const payloadText = (token: string): string => Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');

/**
 * Returns whether an object in a JSON text has two members with the same name. Parsers differ in which of the two they use. So
 * the issuer may have meant the member that this service's parser ignores.
 *
 * @param json Valid JSON.
 * @see RFC 7519 4
 */
function namesTwice(json: string): boolean {
  const open: Set<string>[] = [];
  // Matches a member name with its colon, another string, or a brace. A string in an array is not a member name, because no
  // colon follows it.
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
