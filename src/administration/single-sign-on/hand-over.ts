import type { Ctx } from '../../access/context.ts';
import { UnauthorizedError } from '../../access/errors.ts';
import type { SessionKey, SessionOrigin } from '../../access/sessions.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';
import { logIn } from '../sign-in/login.ts';
import { requireRecentSignIn } from '../sign-in/proof.ts';
import { desktopCode, mobileUrl, OTP } from './app-sign-in.ts';

/** How a sign-in in the browser continues in a client that opened the browser. */
export type HandOver =
  | { readonly kind: 'mobile'; readonly url: string }
  /** The person pastes the code into the client. */
  | { readonly kind: 'desktop'; readonly code: string };

/**
 * Signs the client that opened the browser in as the user of the browser, whatever method the person used to sign in. The
 * session of a desktop client keeps the time of the sign-in, the end and the identity provider of the browser's session.
 *
 * @param otp Secret of the client, 64 hexadecimal digits.
 * @throws ValidationError if the secret is malformed.
 * @throws ConflictError if the request has an API key.
 * @throws PasswordRequiredError if the sign-in was more than ten minutes ago.
 * @throws UnauthorizedError if the browser's session has ended in the meantime.
 */
export async function handOver(ctx: Ctx, kind: HandOver['kind'], otp: string): Promise<HandOver> {
  const { app, work, caller, viewer } = ctx;
  const { organization, user, credential, clientName } = viewer;
  if (!OTP.test(otp)) throw new ValidationError('Invalid secret', { parameter: 'secret' });
  if (credential?.kind !== 'session') throw new ConflictError('Only a browser can continue a sign-in in an app.');
  requireRecentSignIn(ctx);
  if (kind === 'desktop') {
    const origin = await originOf(ctx, { organizationId: organization.id, id: credential.id });
    return { kind, code: desktopCode(app, user, origin, otp) };
  }
  const request = { app, work, caller, viewer, organization, clientName };
  return { kind, url: mobileUrl(app, organization, await logIn(request, viewer, 'browser'), otp) };
}

/** Returns the sign-in with which a session began. */
async function originOf({ work }: Ctx, key: SessionKey): Promise<SessionOrigin> {
  const session = await work.db.session.findUnique({ where: { organizationId_id: key } });
  if (session === null) throw new UnauthorizedError();
  const { providerId, providerSubject, providerSession, providerSignsOut, createdAt, expiresAt } = session;
  return { providerId, providerSubject, providerSession, providerSignsOut, createdAt, expiresAt };
}
