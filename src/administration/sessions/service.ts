import type { Account } from '../../access/accounts.ts';
import type { Ctx, RequestCtx, Viewer } from '../../access/context.ts';
import { endSessions, openSession, otherThan, sessionByToken } from '../../access/sessions.ts';
import type { Browser } from '../../api/cookies.ts';
import { requireOwnPage } from '../../api/cross-site.ts';
import { sessionCookie, sessionTokenIn } from '../../api/sessions.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, Session, User } from '../../generated/prisma/client.ts';
import { BadRequestError, NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { letIn, type PasswordLogin, provePassword } from '../sign-in/login.ts';

/** Who signed in, and in which session. */
export interface SignedIn {
  readonly user: User;
  readonly session: Session;
}

/** The sessions the viewer may see: only their own that are not over. */
export const visibleTo = ({ app, viewer }: Ctx): Prisma.SessionWhereInput => ({
  realmId: viewer.realm.id,
  userId: viewer.id,
  idleExpiresAt: { gt: app.now() },
});

/** Whether it is the session that the viewer is signed in by. */
export const isCurrent = ({ credential }: Viewer, { id }: Session): boolean =>
  credential?.kind === 'session' && credential.id === id;

/**
 * Signs a browser in with a password: it is given a cookie, which no script can read. The session that it had is over.
 *
 * @param browser Undefined where nothing can be given a cookie.
 * @throws BadRequestError without a browser.
 * @throws CsrfFailedError for a page of another site.
 * @throws AuthenticationFailedError, RateLimitHitError and the like, as with `fetchApiKey`.
 */
export async function signInBrowser(
  request: RequestCtx,
  login: PasswordLogin,
  browser: Browser | undefined,
): Promise<SignedIn> {
  if (browser === undefined) throw new BadRequestError('Sign in over HTTP: a socket can be given no cookie');
  requireOwnPage(request.app.config, browser.header);
  return beginSession(request, await provePassword(request, login), browser);
}

/**
 * Begins a session of somebody who has proved who they are.
 *
 * @throws RealmDeactivatedError, UserDeactivatedError when the account may not sign in.
 */
export async function beginSession(
  { app, caller }: Pick<RequestCtx, 'app' | 'caller'>,
  account: Account,
  browser: Browser,
): Promise<SignedIn> {
  const user = await letIn(app, account);
  const facts = { userAgent: browser.header('user-agent'), networkAddress: caller?.address ?? '' };
  const { session, ...token } = await openSession(app, user, facts);
  const before = sessionTokenIn(app.config, browser.header);
  browser.setCookie(sessionCookie(app, browser.header, token));
  const left = before === undefined ? undefined : await sessionByToken(app, before);
  if (left !== undefined) {
    await transact({ app, realmId: left.realm.id }, (tx, emit) =>
      endSessions(tx, emit, left.user, { id: left.session.id }),
    );
  }
  return { user, session };
}

/**
 * Signs the browser out that asks.
 *
 * @throws BadRequestError when the viewer is signed in by a key.
 */
export async function signOut(ctx: Ctx, browser: Browser | undefined): Promise<void> {
  const { credential } = ctx.viewer;
  if (credential?.kind !== 'session') throw new BadRequestError('Signed in by a key, and not in a session');
  await transact(ctx, (tx, emit) => endSessions(tx, emit, ctx.viewer.user, { id: credential.id }));
  browser?.setCookie(sessionCookie(ctx.app, browser.header, undefined));
}

/** The browsers in which the viewer is signed in, the one last seen first. */
export const listSessions = (ctx: Ctx): Promise<Session[]> =>
  ctx.app.db.session.findMany({ where: visibleTo(ctx), orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }] });

/**
 * Signs one of the viewer's browsers out.
 *
 * @throws NotFoundError when there is no such session, or it is another user's.
 */
export async function revokeSession(ctx: Ctx, sessionId: number): Promise<void> {
  const noSuchSession = new NotFoundError('Session does not exist.');
  if (!isRowId(sessionId)) throw noSuchSession;
  await transact(ctx, async (tx, emit) => {
    const ended = await endSessions(tx, emit, ctx.viewer.user, { id: sessionId });
    if (ended.length === 0) throw noSuchSession;
  });
}

/** Signs all of the viewer's browsers out, but the one that asks. @returns The ids of the sessions that are over. */
export const revokeOtherSessions = (ctx: Ctx): Promise<number[]> =>
  transact(ctx, (tx, emit) => endSessions(tx, emit, ctx.viewer.user, otherThan(ctx.viewer)));
