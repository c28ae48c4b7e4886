import type { Account } from '../../access/accounts.ts';
import type { Ctx, RequestCtx, Viewer } from '../../access/context.ts';
import { endSessions, openSession, otherThan, sessionByToken } from '../../access/sessions.ts';
import type { Browser } from '../../api/cookies.ts';
import { requireOwnPage } from '../../api/cross-site.ts';
import { sessionCookie, sessionTokenIn } from '../../api/sessions.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, Session, User } from '../../generated/prisma/client.ts';
import { ConflictError, NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { letIn, type PasswordLogin, provePassword } from '../sign-in/login.ts';

/** The user and the session of a successful sign-in. */
export interface SignedIn {
  readonly user: User;
  readonly session: Session;
}

/** Returns the filter for the sessions that the viewer can see: the viewer's own sessions that have not expired. */
export const visibleTo = ({ app, viewer }: Ctx): Prisma.SessionWhereInput => ({
  organizationId: viewer.organization.id,
  userId: viewer.id,
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
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, or if too many requests wait to sign in.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export async function signInBrowser(
  request: RequestCtx,
  login: PasswordLogin,
  browser: Browser | undefined,
): Promise<SignedIn> {
  if (browser === undefined)
    throw new ConflictError('Sign in over HTTP: a session needs a cookie, and WebSocket cannot set one');
  requireOwnPage(request.app.config, browser.header);
  return beginSession(request, await provePassword(request, login), browser);
}

/**
 * Begins a session of a user who has proved their identity. Sets the session's cookie, and ends the browser's previous session.
 *
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function beginSession(
  { app, work, caller }: Pick<RequestCtx, 'app' | 'work' | 'caller'>,
  account: Account,
  browser: Browser,
): Promise<SignedIn> {
  const user = await letIn({ app, work }, account);
  const facts = { userAgent: browser.header('user-agent'), networkAddress: caller?.address ?? '' };
  const { session, ...token } = await openSession({ app, work }, user, facts);
  const before = sessionTokenIn(app.config, browser.header);
  browser.setCookie(sessionCookie(app, browser.header, token));
  const left = before === undefined ? undefined : await sessionByToken({ app, work }, before);
  if (left !== undefined) {
    await transact({ work, organizationId: left.organization.id }, (tx, emit) =>
      endSessions(tx, emit, left.user, { id: left.session.id }),
    );
  }
  return { user, session };
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
  await transact(ctx, (tx, emit) => endSessions(tx, emit, ctx.viewer.user, { id: credential.id }));
  browser?.setCookie(sessionCookie(ctx.app, browser.header, undefined));
}

/** Returns the viewer's sessions, the last seen first. */
export const listSessions = (ctx: Ctx): Promise<Session[]> =>
  ctx.work.db.session.findMany({ where: visibleTo(ctx), orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }] });

/**
 * Signs out one of the viewer's browsers.
 *
 * @throws NotFoundError if the session does not exist or belongs to another user.
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
    const ended = await endSessions(tx, emit, ctx.viewer.user, { id: sessionId });
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
