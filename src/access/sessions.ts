import { randomBytes } from 'node:crypto';
import { noRecipients } from '../events/audience.ts';
import { requireLive } from '../events/context.ts';
import { type Emit, transact } from '../events/log.ts';
import { Prisma, type Session, type User } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { joinedColumns, type QueryRow } from '../platform/db/columns.ts';
import { readByTurn } from '../platform/db/read-by-turn.ts';
import { readRows } from '../platform/db/rows.ts';
import { TOTALS } from '../platform/totals.ts';
import type { Account } from './accounts.ts';
import type { App, Runtime, Scope, Viewer, Work, WorkCtx } from './context.ts';
import { accessRevoked } from './events.ts';

const MINUTE_MS = 60_000;
/** Age at which a session token is replaced, in milliseconds. */
const ROTATION_MS = 60 * MINUTE_MS;
/**
 * Time, in milliseconds, for which the previous session token stays valid, so that requests sent with this token can still
 * arrive.
 */
const GRACE_MS = MINUTE_MS;
/** Interval at which the stored time of a browser's last request is updated, in milliseconds. */
const SEEN_MS = 5 * MINUTE_MS;
/**
 * Maximum number of expired sessions that each insert of a session deletes, so that the table does not accumulate them.
 * Further expired sessions remain until later inserts.
 */
const PURGED_AT_ONCE = 100;
/**
 * Maximum length of a stored User-Agent header, in UTF-16 code units. Longer headers are cut. The headers of browsers are
 * shorter.
 */
const MAX_USER_AGENT_LENGTH = 300;

/** The browser of a session, as its requests identify it. */
export interface BrowserDetails {
  readonly userAgent: string | undefined;
  readonly networkAddress: string;
}

/** The sign-in with which a session begins. */
export interface SessionOrigin
  extends Pick<Session, 'providerId' | 'providerSubject' | 'providerSession' | 'providerSignsOut'> {
  /** Time of the sign-in, if the browser that signed in passes it on to a client. Default: now. */
  readonly createdAt?: Date | undefined;
  /** Time at which the session ends: the end of that browser's session. Default: after the lifetime of a session. */
  readonly expiresAt?: Date | undefined;
}

/**
 * The way in which a user proved their identity, for the audit log. `browser`: another browser passed its sign-in on to a client.
 * `new account`: the account was just created.
 */
export type SignInMethod =
  | 'password'
  | 'password and second factor'
  | 'passkey'
  | 'single sign-on'
  | 'web token'
  | 'browser'
  | 'new account'
  | 'demo';

/** The client of a sign-in, and its identity provider. */
export type SignInScope = WorkCtx & Pick<Scope, 'caller' | 'clientName' | 'identityProvider'>;

/** The sign-in with which a session begins, and a change that belongs to it. */
export interface SessionStart<T> {
  readonly method: SignInMethod;
  /** Undefined for sign-ins with a password or a passkey. */
  readonly origin?: SessionOrigin | undefined;
  /** Makes the change, in the transaction that creates the session. */
  readonly change: (tx: Tx, emit: Emit) => Promise<T>;
}

/** A token that a browser stores and sends with each request. */
export interface SessionToken {
  readonly token: string;
  /** Time at which the session ends, even if the browser is active until then. */
  readonly expiresAt: Date;
}

/** A session that has not ended, with its user and organization. */
export interface SessionAccount extends Account {
  readonly session: Session;
}

/** The primary key of a session. */
export type SessionKey = Pick<Session, 'organizationId' | 'id'>;

const TOKEN = /^[\w-]{43}$/;

/**
 * Creates a session, and the entry of the audit log about the sign-in. If the user then has more sessions than `TOTALS` permits,
 * the sessions that were used least recently end.
 *
 * @param change A change that is made in the same transaction, before the session is created.
 */
export async function openSession<T>(
  { app, work, caller, clientName, identityProvider }: SignInScope,
  { id, organizationId }: User,
  browser: BrowserDetails,
  { method, origin, change }: SessionStart<T>,
) {
  const token = randomBytes(32).toString('base64url');
  const now = app.now();
  const expiresAt = origin?.expiresAt ?? new Date(now.getTime() + app.config.sessionMs);
  const scope = { work, organizationId, caller, clientName, identityProvider };
  const { session, changed } = await transact(scope, async (tx, emit) => {
    const changed = await change(tx, emit);
    emit.audit({
      ...{ action: 'signed_in', objectType: 'user', objectId: id, actorId: id },
      changes: { credential: { new: 'session' }, method: { new: method } },
    });
    const session = await tx.session.create({
      data: {
        ...origin,
        organizationId,
        userId: id,
        tokenHash: app.keys.hash(token),
        tokenAt: now,
        createdAt: origin?.createdAt ?? now,
        ...seen(app, expiresAt, browser),
        expiresAt,
      },
    });
    return { session, changed };
  });
  // The person is signed in. If the database becomes unavailable now, later sign-ins end these sessions.
  await endOthers(work, { id, organizationId }, now).catch((err: unknown) => {
    requireLive(work).app.log.warn({ err }, 'ending sessions beyond the limit failed');
  });
  return { session, changed, token, expiresAt };
}

/** Deletes expired sessions of all users, and ends those of a user that are too many. */
async function endOthers(work: Work, user: Pick<User, 'id' | 'organizationId'>, now: Date): Promise<void> {
  await work.db.$executeRaw`
    DELETE FROM session WHERE (realm_id, id) IN (
      SELECT realm_id, id FROM session WHERE idle_expires_at < ${now}
        -- The rows of an organization that is moving to another database can be held.
        AND NOT EXISTS (SELECT FROM realm_move m WHERE m.realm_id = session.realm_id)
      LIMIT ${PURGED_AT_ONCE} FOR UPDATE SKIP LOCKED)`;
  await endTooMany(work, user);
}

async function endTooMany(work: Work, user: Pick<User, 'id' | 'organizationId'>): Promise<void> {
  const { id: userId, organizationId } = user;
  const tooMany = await work.db.session.findMany({
    where: { organizationId, userId },
    orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }],
    skip: TOTALS.sessions.max,
    select: { id: true },
  });
  if (tooMany.length === 0) return;
  const which = { id: { in: tooMany.map(({ id }) => id) } };
  await transact({ work, organizationId }, (tx, emit) => endSessions(tx, emit, user, which));
}

/** Returns the values to store in a session when its browser sends a request: the time, the new idle expiry, and the client. */
function seen({ now, config }: Runtime, expiresAt: Date, { userAgent = '', networkAddress }: BrowserDetails) {
  const lastSeenAt = now();
  const idle = lastSeenAt.getTime() + config.sessionIdleMs;
  return {
    lastSeenAt,
    idleExpiresAt: new Date(Math.min(idle, expiresAt.getTime())),
    userAgent: userAgent.replace(/\p{Cc}/gu, '').slice(0, MAX_USER_AGENT_LENGTH),
    networkAddress,
  };
}

/**
 * Ends sessions of a user, as part of a change. The open connections of these sessions end within seconds, on every node.
 *
 * @param which A condition that selects some of the user's sessions. Default: all.
 * @param options `isSignOut`: whether the user signs out of the browser that sends the request, for the audit log.
 * @returns The ids of the sessions that were ended.
 */
export async function endSessions(
  tx: Tx,
  emit: Emit,
  { id: userId, organizationId }: Pick<User, 'id' | 'organizationId'>,
  which: Prisma.SessionWhereInput = {},
  { isSignOut = false } = {},
): Promise<number[]> {
  const where = { AND: [{ organizationId, userId }, which] };
  const ended = await tx.session.findMany({ where, select: { id: true } });
  await tx.session.deleteMany({ where });
  const ids = ended.map(({ id }) => id);
  if (ids.length > 0) emit(accessRevoked(userId, ids, isSignOut), noRecipients());
  return ids;
}

/**
 * Returns the condition that matches every session except the session that authenticated the viewer. If no session
 * authenticated the viewer, the condition matches every session.
 */
export const otherThan = ({ credential }: Viewer): Prisma.SessionWhereInput =>
  credential?.kind === 'session' ? { id: { not: credential.id } } : {};

/** Finds a session by its current, next or (briefly) previous token. */
const sessionByHash = readByTurn(async (db: SqlClient, hashes: readonly Uint8Array<ArrayBuffer>[]) => {
  const list = Prisma.sql`ANY(${hashes}::bytea[])`;
  const found = await read(
    db,
    Prisma.sql`s.token_hash = ${list} OR s.next_hash = ${list} OR s.previous_hash = ${list}`,
  );
  const byHash = new Map(found.flatMap((one) => hashesOf(one.session).map((hash) => [hex(hash), one])));
  return hashes.map((hash) => byHash.get(hex(hash)));
});

const byKey = readByTurn(async (db: SqlClient, keys: readonly SessionKey[]) => {
  const [organizationIds, ids] = [keys.map(({ organizationId }) => organizationId), keys.map(({ id }) => id)];
  const found = await read(
    db,
    Prisma.sql`(s.realm_id, s.id) IN (SELECT k.realm_id, k.id FROM unnest(${organizationIds}::int[], ${ids}::int[]) AS k(realm_id, id))`,
  );
  const rows = new Map(found.map((one) => [one.session.id, one]));
  return ids.map((id) => rows.get(id));
});

const SESSION = joinedColumns('s', 'Session');
const USER = joinedColumns('u', 'User');
const ORGANIZATION = joinedColumns('r', 'Organization');

/**
 * Reads sessions with their users and organizations. OFFSET 0 makes the planner find the organization by its id. Without it,
 * the planner overestimates the number of sessions and reads all organizations.
 */
async function read(db: SqlClient, condition: Prisma.Sql): Promise<SessionAccount[]> {
  const rows = await readRows<QueryRow>(
    db,
    Prisma.sql`
    SELECT ${SESSION.list}, ${USER.list}, ${ORGANIZATION.list}
    FROM session s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
    CROSS JOIN LATERAL (SELECT * FROM realm WHERE id = s.realm_id OFFSET 0) AS r WHERE ${condition}`,
  );
  return rows.map((row) => ({
    session: SESSION.rowIn(row),
    user: USER.rowIn(row),
    organization: ORGANIZATION.rowIn(row),
  }));
}

const hashesOf = ({ tokenHash, nextHash, previousHash }: Session) =>
  [tokenHash, nextHash, previousHash].filter((hash) => hash !== null);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const isSame = (a: Uint8Array, b: Uint8Array | null) => b !== null && Buffer.from(a).equals(b);

const isLive = ({ now }: Runtime, { idleExpiresAt }: Session) => idleExpiresAt > now();

/** Returns the session with this id. Undefined if there is none, or the session has ended. */
export async function sessionById({ app, work }: WorkCtx, key: SessionKey): Promise<SessionAccount | undefined> {
  const found = await byKey(work.db, key);
  return found !== undefined && isLive(app, found.session) ? found : undefined;
}

/** Returns the session to which a browser's token belongs. Undefined if there is none, or the session has ended. */
export async function sessionByToken({ app, work }: WorkCtx, token: string): Promise<SessionAccount | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const hash = app.keys.hash(token);
  const found = await sessionByHash(work.db, hash);
  if (found === undefined || !isLive(app, found.session)) return undefined;
  const isOld = isSame(hash, found.session.previousHash);
  return isOld && app.now().getTime() > found.session.tokenAt.getTime() + GRACE_MS ? undefined : found;
}

/**
 * Records the time of the browser's last request, at most every 5 minutes, and replaces the session token every hour.
 *
 * The next token is derived from the current one with `SECRET_KEY`. Every response carries the next token until the browser
 * sends it. The current token is valid until then, and for a minute after that. So neither lost responses nor concurrent
 * requests of several tabs sign a user out.
 *
 * @param token The token that the browser sent. Undefined if the browser cannot receive a new token.
 * @returns The token that the browser must send from now on. Undefined if the browser keeps its token.
 */
export async function renewSession(
  app: App,
  session: Session,
  browser: BrowserDetails,
  token?: string,
): Promise<SessionToken | undefined> {
  const shown = token === undefined ? undefined : app.keys.hash(token);
  const isNext = shown !== undefined && isSame(shown, session.nextHash);
  const isDue = app.now().getTime() - session.tokenAt.getTime() > ROTATION_MS;
  const isCurrent = shown !== undefined && isSame(shown, session.tokenHash);
  const next = isCurrent && isDue && token !== undefined ? nextToken(app, token, session.nextHash) : undefined;
  const isToBeOffered = next !== undefined && !isSame(app.keys.hash(next), session.nextHash);
  const isSeenLately = app.now().getTime() - session.lastSeenAt.getTime() < SEEN_MS;
  if (isNext || isToBeOffered || !isSeenLately) {
    const isNoted = await note(app, session, {
      ...seen(app, session.expiresAt, browser),
      ...(isNext && { previousHash: session.tokenHash, tokenHash: shown, nextHash: null, tokenAt: app.now() }),
      ...(isToBeOffered && { nextHash: app.keys.hash(next) }),
    });
    // Another request has offered a token at the same time. Nodes with different SECRET_KEYs derive different ones.
    if (isToBeOffered && !isNoted && !(await isOffered(app, session, next))) return undefined;
  }
  const isOld = shown !== undefined && isSame(shown, session.previousHash);
  const offered = isOld && token !== undefined ? knownSuccessor(app, token, session.tokenHash) : next;
  return offered === undefined ? undefined : { token: offered, expiresAt: session.expiresAt };
}

/** Returns the token with this hash that replaces a session token. Undefined if it was derived with an unknown SECRET_KEY. */
const knownSuccessor = ({ keys }: App, token: string, hash: Uint8Array | null): string | undefined =>
  keys.successors(token).find((other) => isSame(keys.hash(other), hash));

/** Returns the token that replaces a session token: the one whose hash the session has already, or a new one. */
const nextToken = (app: App, token: string, hash: Uint8Array | null): string =>
  knownSuccessor(app, token, hash) ?? app.keys.successors(token)[0];

async function isOffered(app: App, { organizationId, id }: Session, token: string): Promise<boolean> {
  const where = { organizationId, id, nextHash: app.keys.hash(token) };
  return (await app.db.session.count({ where })) > 0;
}

/**
 * Stores changes of a session, unless the session's token was replaced, or a next token offered, since the session was read. In
 * that case, a concurrent call has stored its own changes.
 *
 * @returns Whether the changes were stored.
 */
async function note(
  app: App,
  { organizationId, id, tokenHash, nextHash }: Session,
  data: Prisma.SessionUpdateManyMutationInput,
): Promise<boolean> {
  const { count } = await app.db.session.updateMany({ where: { organizationId, id, tokenHash, nextHash }, data });
  return count > 0;
}
