import type { Account } from '../../access/accounts.ts';
import type { Ctx, RequestCtx, Viewer } from '../../access/context.ts';
import { readsAsAdministrator } from '../../access/roles.ts';
import {
  endSessions,
  openSession,
  otherThan,
  type SessionStart,
  type SignInScope,
  sessionByToken,
} from '../../access/sessions.ts';
import { asOfNow, requireActive } from '../../access/sign-in.ts';
import type { Browser } from '../../api/cookies.ts';
import { requireOwnPage } from '../../api/cross-site.ts';
import { sessionCookie, sessionTokenIn } from '../../api/sessions.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, Session, User } from '../../generated/prisma/client.ts';
import { accessUser } from '../../people/users.ts';
import { ConflictError, NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { isOwner, OWNER } from '../../platform/roles.ts';
import { completeSecondStep } from '../second-factor/second-step.ts';
import { SecondFactorRequiredError } from '../sign-in/errors.ts';
import { type GivenFactorProof, requireFactorProof } from '../sign-in/factor-proof.ts';
import { letIn, type PasswordLogin, provePassword } from '../sign-in/login.ts';
import { isNewDevice, queueNewDeviceMail } from '../sign-in/new-device.ts';
import { passkeyStepOf, provePasskey } from '../sign-in/passkeys.ts';
import { firstStepOf, isFactorRequired, newChallenge, secondStepOf } from '../sign-in/second-step.ts';

const noCookies = () => new ConflictError('Sign in over HTTP: a session needs a cookie, and WebSocket cannot set one');

/** The user and the session of a successful sign-in. */
export interface SignedIn {
  readonly user: User;
  readonly session: Session;
}

/**
 * Returns the filter for the sessions that the viewer can end: their own and, for administrators, those of all users except
 * owners. Owners can end the sessions of all users. A limited API key needs the scope `administration` for those of other users.
 */
function endableBy(viewer: Viewer): Prisma.SessionWhereInput {
  const { id: userId, role } = viewer;
  const organizationId = viewer.organization.id;
  if (!readsAsAdministrator({ viewer })) return { organizationId, userId };
  if (isOwner(role)) return { organizationId };
  return { organizationId, OR: [{ userId }, { user: { role: { not: OWNER } } }] };
}

/** Returns the filter for the sessions that the viewer can see: those that they can end and that have not expired. */
export const visibleTo = ({ app, viewer }: Ctx): Prisma.SessionWhereInput => ({
  ...endableBy(viewer),
  idleExpiresAt: { gt: app.now() },
});

/** Returns whether the viewer is signed in by this session. */
export const isCurrent = ({ credential }: Viewer, { id }: Session): boolean =>
  credential?.kind === 'session' && credential.id === id;

/**
 * Signs a browser in with a password. Sets a cookie, which scripts cannot read. Ends the browser's previous session.
 *
 * @param browser Undefined if the transport cannot set cookies.
 * @throws ConflictError if `browser` is undefined.
 * @throws CsrfFailedError if the request comes from a page of another site.
 * @throws ValidationError if the address or the password contains a null byte.
 * @throws AuthenticationFailedError if address and password match no account with a password.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if address and password match, but the account cannot sign in.
 * @throws SecondFactorRequiredError if address and password match, but the account has or must have a second factor. It contains
 *   the challenge for `completeSignIn`.
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, or if too many requests wait to sign in.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export async function signInBrowser(
  request: RequestCtx,
  login: PasswordLogin,
  browser: Browser | undefined,
): Promise<SignedIn> {
  if (browser === undefined) throw noCookies();
  requireOwnPage(request.app.config, browser.header);
  const account = await provePassword(request, login);
  requireActive(account);
  const step = await secondStepOf(request, account);
  if (step !== undefined) {
    const challenge = newChallenge(request.app, account, step);
    const passkeyOptions = await passkeyStepOf(request, account, challenge);
    throw new SecondFactorRequiredError(challenge, step === 'enrollment', passkeyOptions);
  }
  return beginSession(request, account, browser, { method: 'password' });
}

/** The second step of a sign-in: a code, or the response of a browser that used or created a passkey. */
export interface SecondStepLogin extends GivenFactorProof {
  /** Token of the first step. */
  readonly challenge: string;
}

/**
 * Completes the sign-in of a browser whose person has given the password, with a second factor. If the person must add a second
 * factor, the code confirms the authenticator app, and the response adds a passkey.
 *
 * @param browser Undefined if the transport cannot set cookies.
 * @throws ConflictError if `browser` is undefined, or the challenge is not valid, has expired or was completed.
 * @throws CsrfFailedError if the request comes from a page of another site.
 * @throws ValidationError if there is not exactly one proof, or it is wrong or was used before, or the proof or the challenge
 *   contains a null byte or is too long.
 * @throws RateLimitHitError after 5 wrong codes within 30 minutes.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function completeSignIn(
  request: RequestCtx,
  login: SecondStepLogin,
  browser: Browser | undefined,
): Promise<SignedIn & { readonly recoveryCodes: string[] | null }> {
  if (browser === undefined) throw noCookies();
  requireOwnPage(request.app.config, browser.header);
  const proof = requireFactorProof(login);
  const first = await firstStepOf(request, login.challenge);
  requireActive(first.account);
  const complete = await completeSecondStep(request, first, proof);
  const { changed: recoveryCodes, ...signedIn } = await beginSessionWith(request, first.account, browser, {
    method: 'password and second factor',
    change: complete,
  });
  return { ...signedIn, recoveryCodes };
}

/**
 * Signs a browser in with a passkey alone, after `beginPasskeySignIn`. The authenticator must have verified the person.
 *
 * @param response Response of the browser, as JSON text.
 * @param browser Undefined if the transport cannot set cookies.
 * @throws ConflictError if `browser` is undefined.
 * @throws CsrfFailedError if the request comes from a page of another site.
 * @throws ValidationError if the response is malformed, too long or not valid, or its challenge has expired or was completed.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export async function signInWithPasskey(
  request: RequestCtx,
  response: string,
  browser: Browser | undefined,
): Promise<SignedIn> {
  if (browser === undefined) throw noCookies();
  requireOwnPage(request.app.config, browser.header);
  const account = await provePasskey(request, response);
  return beginSession(request, account, browser, { method: 'passkey' });
}

/**
 * Begins a session of a user who has proved their identity. Sets the session's cookie, and ends the browser's previous session.
 *
 * @param start The way in which the user proved their identity, with the identity provider that did, or the sign-in that a
 *   browser hands over.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function beginSession(
  ctx: SignInScope,
  account: Account,
  browser: Browser,
  start: Omit<SessionStart<void>, 'change'>,
): Promise<SignedIn> {
  const { user, session } = await beginSessionWith(ctx, account, browser, { ...start, change: async () => {} });
  return { user, session };
}

/**
 * Begins a session of a user who has proved their identity, as `beginSession` does, with a change that is made in the same
 * transaction. If it was made, the request succeeds, so its result reaches the person unless the connection is lost.
 */
async function beginSessionWith<T>(
  { app, work, caller, clientName, identityProvider }: SignInScope,
  account: Account,
  browser: Browser,
  { method, origin, change }: SessionStart<T>,
): Promise<SignedIn & { readonly changed: T }> {
  const user = await letIn({ app, work }, account);
  const facts = { userAgent: browser.header('user-agent'), networkAddress: caller?.address ?? '' };
  const device = { caller, clientName, userAgent: facts.userAgent };
  const before = sessionTokenIn(app.config, browser.header);
  const left = before === undefined ? undefined : await sessionByToken({ app, work }, before);
  const isOwn = left?.user.id === user.id && left.organization.id === user.organizationId;
  const isNew = !isOwn && origin?.createdAt === undefined && (await isNewDevice(work.db, app, account, device));
  const scope = { app, work, caller, clientName, identityProvider };
  const { session, changed, ...token } = await openSession(scope, user, facts, {
    ...{ method, origin },
    change: async (tx, emit) => {
      if (isNew) await queueNewDeviceMail(tx, account, device, app.now());
      return change(tx, emit);
    },
  });
  browser.setCookie(sessionCookie(app, browser.header, token));
  if (left !== undefined) {
    try {
      await transact({ work, organizationId: left.organization.id, caller, clientName }, (tx, emit) =>
        endSessions(tx, emit, left.user, { id: left.session.id }),
      );
    } catch (err) {
      // The new session has begun, and recovery codes can be in its response. The previous session ends when it is idle.
      app.log.warn({ err, user: left.user.id }, 'the previous session of a browser could not be ended');
    }
  }
  return { user, session, changed };
}

/**
 * Begins a session of a person whose account was just created. If that fails, because the database has become unavailable, the
 * account remains, and the person signs in with the password.
 *
 * @param browser Undefined if the transport cannot set cookies. Then no session begins, and neither if the person must have a
 *   second factor.
 */
export async function beginFirstSession(
  ctx: SignInScope,
  account: Account,
  browser: Browser | undefined,
): Promise<void> {
  // A person who must have a second factor adds it when signing in.
  if (browser === undefined || isFactorRequired(account)) return;
  try {
    await beginSession(ctx, account, browser, { method: 'new account' });
  } catch (error) {
    ctx.app.log.warn({ err: error, user: account.user.id }, 'A new user could not be signed in');
  }
}

/**
 * Signs out the browser that sent the request.
 *
 * @throws ConflictError if the viewer is signed in by an API key.
 */
export async function signOut(ctx: Ctx, browser: Browser | undefined): Promise<void> {
  const { credential } = ctx.viewer;
  if (credential?.kind !== 'session')
    throw new ConflictError('The request has no session to end: it is authenticated by an API key');
  await transact(ctx, (tx, emit) => endSessions(tx, emit, ctx.viewer.user, { id: credential.id }, { isSignOut: true }));
  browser?.setCookie(sessionCookie(ctx.app, browser.header, undefined));
}

/** Returns the sessions of users that the viewer can see, the last seen first. */
export const listSessions = (ctx: Ctx, userIds: readonly number[]): Promise<Session[]> =>
  ctx.work.db.session.findMany({
    where: { AND: [visibleTo(ctx), { userId: { in: [...userIds] } }] },
    orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }],
  });

/**
 * Returns the sessions of a user that the viewer can see, the last seen first.
 *
 * @throws NotFoundError if the user does not exist.
 */
export async function listSessionsOf(ctx: Ctx, userId: number): Promise<Session[]> {
  const user = await accessUser(ctx, userId);
  return listSessions(ctx, [user.id]);
}

/**
 * Signs out a browser: one of the viewer's own or, for administrators, one of another user who is not an owner. Owners can sign
 * out the browsers of all users.
 *
 * @throws NotFoundError if the session does not exist, or if the viewer cannot end it.
 */
export async function revokeSession(ctx: Ctx, sessionId: number): Promise<void> {
  const noSuchSession = new NotFoundError('Session does not exist.', {
    type: 'Session',
    id: sessionId,
    parameter: 'session_id',
    status: 404,
  });
  if (!isRowId(sessionId)) throw noSuchSession;
  await transact(ctx, async (tx, emit) => {
    const { viewer } = await asOfNow(tx, ctx);
    const where = { AND: [endableBy(viewer), { id: sessionId }] };
    const session = await tx.session.findFirst({ where, select: { organizationId: true, userId: true } });
    if (session === null) throw noSuchSession;
    const user = { organizationId: session.organizationId, id: session.userId };
    const ended = await endSessions(tx, emit, user, { id: sessionId });
    if (ended.length === 0) throw noSuchSession;
  });
}

/**
 * Signs out all of the viewer's browsers, except the one that sent the request.
 *
 * @returns Ids of the ended sessions.
 */
export const revokeOtherSessions = (ctx: Ctx): Promise<number[]> =>
  transact(ctx, (tx, emit) => endSessions(tx, emit, ctx.viewer.user, otherThan(ctx.viewer)));
