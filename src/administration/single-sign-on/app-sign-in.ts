import { createCipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { RequestCtx, Runtime } from '../../access/context.ts';
import type { SessionOrigin } from '../../access/sessions.ts';
import { useUp } from '../../access/used-tokens.ts';
import type { Browser } from '../../api/cookies.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { beginSession } from '../sessions/service.ts';
import type { Login } from '../sign-in/login.ts';
import { SignInFailure } from './failure.ts';

/** Path at which a desktop client completes a sign-in. The token follows. */
export const DESKTOP_PATH = '/accounts/login/subdomain/';
/** Scheme of the URL by which a browser hands a sign-in over to a mobile client. */
const APP_SCHEME = 'team-chat';
/** Lifetime of the token for a desktop client, in ms. */
const DESKTOP_MS = 60_000;
const PURPOSE = 'desktop sign-in';

/** Form of the secret of a client that signs in through the browser: 256 bits in hexadecimal. */
export const OTP = /^[0-9a-f]{64}$/i;

/**
 * Returns the URL that hands the API key over to a mobile client. The key is combined by XOR with the secret of the client, so
 * other programs that read the URL cannot use it.
 */
export function mobileUrl(app: Runtime, organization: Organization, { user, apiKey }: Login, otp: string): string {
  const secret = Buffer.from(otp, 'hex');
  const key = Buffer.from(apiKey, 'ascii');
  if (key.length !== secret.length) throw new Error('The API key and the secret differ in length');
  const query = new URLSearchParams({
    realm: urlOf(app.config, organization.subdomain),
    email: user.email,
    user_id: String(user.id),
    otp_encrypted_api_key: Buffer.from(key.map((byte, i) => byte ^ (secret[i] ?? 0))).toString('hex'),
  });
  return `${APP_SCHEME}://login?${query}`;
}

/** The sign-in with which the session of the client begins. Dates are text in JSON. */
const Origin = z.object({
  providerId: z.int().nullable(),
  providerSubject: z.string().nullable(),
  providerSession: z.string().nullable(),
  providerSignsOut: z.boolean(),
  createdAt: z.coerce.date().optional(),
  expiresAt: z.coerce.date().optional(),
});

const Token = z.object({
  purpose: z.literal(PURPOSE),
  organizationId: z.int(),
  userId: z.int(),
  /** Identifies the token, which can be used once. */
  id: z.string(),
  /** Time at which the token expires, in ms since 1970. */
  expiresAt: z.number(),
  origin: Origin,
});

/**
 * Returns the code that the person pastes into a desktop client: a token, encrypted with the secret of the client. The client
 * decrypts it, and opens `DESKTOP_PATH` with the token.
 *
 * @param origin The sign-in with which the session of the client begins.
 * @returns Nonce (12 bytes), ciphertext and tag (16 bytes) of AES-256-GCM, in hexadecimal.
 */
export function desktopCode(
  app: Runtime,
  { id: userId, organizationId }: User,
  origin: SessionOrigin,
  otp: string,
): string {
  const id = randomBytes(16).toString('base64url');
  const expiresAt = app.now().getTime() + DESKTOP_MS;
  const token: z.output<typeof Token> = { purpose: PURPOSE, organizationId, userId, id, expiresAt, origin };
  const text = Buffer.from(app.keys.seal(JSON.stringify(token))).toString('base64url');
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(otp, 'hex'), nonce);
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('hex');
}

/**
 * Begins the session of a desktop client.
 *
 * @throws SignInFailure if the token is not valid, was used, or is older than a minute.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function completeOnDesktop(request: RequestCtx, text: string, browser: Browser): Promise<void> {
  const { app, work, organization } = request;
  const token = openToken(app, text);
  const failure = new SignInFailure('This sign-in has expired. Sign in again.', { status: 400 });
  if (token === undefined || organization?.id !== token.organizationId) throw failure;
  const { organizationId, userId: id, expiresAt, origin } = token;
  if (!(await useUp(request, organizationId, `${PURPOSE} ${token.id}`, new Date(expiresAt)))) throw failure;
  const user = await work.db.user.findUnique({ where: { organizationId_id: { organizationId, id } } });
  if (user === null) throw failure;
  const provider =
    origin.providerId === null
      ? null
      : await work.db.identityProvider.findUnique({
          where: { organizationId_id: { organizationId, id: origin.providerId } },
        });
  await beginSession({ ...request, identityProvider: provider?.slug }, { user, organization }, browser, {
    // The time of the sign-in is given if a browser hands it over.
    method: origin.createdAt === undefined ? 'single sign-on' : 'browser',
    origin,
  });
}

function openToken({ keys, now }: Runtime, text: string): z.output<typeof Token> | undefined {
  try {
    const token = Token.parse(JSON.parse(keys.open(Buffer.from(text, 'base64url'))));
    return token.expiresAt > now().getTime() ? token : undefined;
  } catch {
    // Any failure means that this server did not issue the token.
    return undefined;
  }
}
