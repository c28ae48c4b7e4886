import { randomBytes } from 'node:crypto';
import { noRecipients } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import { Prisma, type Session, type User } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { joinedColumns, type QueryRow } from '../platform/db/columns.ts';
import { readByTurn } from '../platform/db/read-by-turn.ts';
import { readRows } from '../platform/db/rows.ts';
import { TOTALS } from '../platform/totals.ts';
import type { Account } from './accounts.ts';
import type { App, Viewer } from './context.ts';
import { accessRevoked } from './events.ts';

const MINUTE_MS = 60_000;
/** Age at which a token is replaced, in milliseconds. */
const ROTATION_MS = 60 * MINUTE_MS;
/** Milliseconds for which the previous token stays valid, so that requests sent with it can still arrive. */
const GRACE_MS = MINUTE_MS;
/** Interval at which the stored time of a browser's last request is updated, in milliseconds. */
const SEEN_MS = 5 * MINUTE_MS;
/** Maximum number of expired rows that each insert deletes, so that the table does not accumulate them. */
const PURGED_AT_ONCE = 100;
/** Longest stored User-Agent. The headers of browsers are shorter. */
const MAX_USER_AGENT_LENGTH = 300;

/** The browser of a session, as its requests identify it. */
export interface BrowserDetails {
  readonly userAgent: string | undefined;
  readonly networkAddress: string;
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
export type SessionKey = Pick<Session, 'realmId' | 'id'>;

/** The format of a token. */
const TOKEN = /^[\w-]{43}$/;

/** Creates a session. If the user then has too many sessions, those with the oldest activity end. */
export async function openSession(app: App, { id, realmId }: User, browser: BrowserDetails) {
  const token = randomBytes(32).toString('base64url');
  const now = app.now();
  const expiresAt = new Date(now.getTime() + app.config.sessionMs);
  const session = await app.db.session.create({
    data: {
      realmId,
      userId: id,
      tokenHash: app.keys.hash(token),
      tokenAt: now,
      createdAt: now,
      ...seen(app, expiresAt, browser),
      expiresAt,
    },
  });
  await app.db.$executeRaw`
    DELETE FROM session WHERE (realm_id, id) IN (
      SELECT realm_id, id FROM session WHERE idle_expires_at < ${now} LIMIT ${PURGED_AT_ONCE} FOR UPDATE SKIP LOCKED)`;
  await endTooMany(app, { id, realmId });
  return { session, token, expiresAt };
}

async function endTooMany(app: App, user: Pick<User, 'id' | 'realmId'>): Promise<void> {
  const { id: userId, realmId } = user;
  const tooMany = await app.db.session.findMany({
    where: { realmId, userId },
    orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }],
    skip: TOTALS.sessions.max,
    select: { id: true },
  });
  if (tooMany.length === 0) return;
  const which = { id: { in: tooMany.map(({ id }) => id) } };
  await transact({ app, realmId }, (tx, emit) => endSessions(tx, emit, user, which));
}

/** Returns the columns that change when a request of the browser is recorded. */
function seen({ now, config }: App, expiresAt: Date, { userAgent = '', networkAddress }: BrowserDetails) {
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
 * @returns The ids of the sessions that were ended.
 */
export async function endSessions(
  tx: Tx,
  emit: Emit,
  { id: userId, realmId }: Pick<User, 'id' | 'realmId'>,
  which: Prisma.SessionWhereInput = {},
): Promise<number[]> {
  const where = { AND: [{ realmId, userId }, which] };
  const ended = await tx.session.findMany({ where, select: { id: true } });
  await tx.session.deleteMany({ where });
  const ids = ended.map(({ id }) => id);
  if (ids.length > 0) emit(accessRevoked(userId, ids), noRecipients());
  return ids;
}

/**
 * Returns the condition that matches every session except the one that authenticated this request. If an API key authenticated
 * it, the condition matches every session.
 */
export const otherThan = ({ credential }: Viewer): Prisma.SessionWhereInput =>
  credential?.kind === 'session' ? { id: { not: credential.id } } : {};

/** Finds a session by its current, next or (briefly) previous token. */
const sessionByHash = readByTurn(async (app: App, hashes: readonly Uint8Array<ArrayBuffer>[]) => {
  const list = Prisma.sql`ANY(${hashes}::bytea[])`;
  const found = await read(
    app.db,
    Prisma.sql`s.token_hash = ${list} OR s.next_hash = ${list} OR s.previous_hash = ${list}`,
  );
  const byHash = new Map(found.flatMap((one) => hashesOf(one.session).map((hash) => [hex(hash), one])));
  return hashes.map((hash) => byHash.get(hex(hash)));
});

const byKey = readByTurn(async (app: App, keys: readonly SessionKey[]) => {
  const [realmIds, ids] = [keys.map(({ realmId }) => realmId), keys.map(({ id }) => id)];
  const found = await read(
    app.db,
    Prisma.sql`(s.realm_id, s.id) IN (SELECT k.realm_id, k.id FROM unnest(${realmIds}::int[], ${ids}::int[]) AS k(realm_id, id))`,
  );
  const rows = new Map(found.map((one) => [one.session.id, one]));
  return ids.map((id) => rows.get(id));
});

const SESSION = joinedColumns('s', 'Session');
const USER = joinedColumns('u', 'User');
const REALM = joinedColumns('r', 'Realm');

/**
 * Reads sessions with their users and organizations. OFFSET 0 makes the planner find the organization by its id. Without it,
 * the planner overestimates the number of sessions and reads all organizations.
 */
async function read(db: SqlClient, condition: Prisma.Sql): Promise<SessionAccount[]> {
  const rows = await readRows<QueryRow>(
    db,
    Prisma.sql`
    SELECT ${SESSION.list}, ${USER.list}, ${REALM.list}
    FROM session s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
    CROSS JOIN LATERAL (SELECT * FROM realm WHERE id = s.realm_id OFFSET 0) AS r WHERE ${condition}`,
  );
  return rows.map((row) => ({ session: SESSION.rowIn(row), user: USER.rowIn(row), realm: REALM.rowIn(row) }));
}

const hashesOf = ({ tokenHash, nextHash, previousHash }: Session) =>
  [tokenHash, nextHash, previousHash].filter((hash) => hash !== null);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const isSame = (a: Uint8Array, b: Uint8Array | null) => b !== null && Buffer.from(a).equals(b);

const isLive = ({ now }: App, { idleExpiresAt }: Session) => idleExpiresAt > now();

/** Returns the session with this id. Undefined if there is none, or it has ended. */
export async function sessionById(app: App, key: SessionKey): Promise<SessionAccount | undefined> {
  const found = await byKey(app, key);
  return found !== undefined && isLive(app, found.session) ? found : undefined;
}

/** Returns the session of a browser's token. Undefined if there is none, or it has ended. */
export async function sessionByToken(app: App, token: string): Promise<SessionAccount | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const hash = app.keys.hash(token);
  const found = await sessionByHash(app, hash);
  if (found === undefined || !isLive(app, found.session)) return undefined;
  const isOld = isSame(hash, found.session.previousHash);
  return isOld && app.now().getTime() > found.session.tokenAt.getTime() + GRACE_MS ? undefined : found;
}

/**
 * Records that the browser was seen, and replaces its token from time to time.
 *
 * The next token is derived from the current one with `SECRET_KEY`. Every response carries the next token until the browser
 * sends it. The previous token is valid until then, and a minute longer. So neither lost responses nor concurrent requests of
 * several tabs sign a user out.
 *
 * @param token The token that the browser sent. Undefined if the browser cannot receive another one.
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
  const next = isCurrent && isDue && token !== undefined ? app.keys.successor(token) : undefined;
  const isToBeOffered = next !== undefined && session.nextHash === null;
  const isSeenLately = app.now().getTime() - session.lastSeenAt.getTime() < SEEN_MS;
  if (isNext || isToBeOffered || !isSeenLately) {
    await note(app, session, {
      ...seen(app, session.expiresAt, browser),
      ...(isNext && { previousHash: session.tokenHash, tokenHash: shown, nextHash: null, tokenAt: app.now() }),
      ...(isToBeOffered && { nextHash: app.keys.hash(next) }),
    });
  }
  const isOld = shown !== undefined && isSame(shown, session.previousHash);
  const told = isOld && token !== undefined ? app.keys.successor(token) : next;
  return told === undefined ? undefined : { token: told, expiresAt: session.expiresAt };
}

/** Stores changes of a session, unless its token was replaced since it was read. A concurrent call then stored the changes. */
async function note(
  app: App,
  { realmId, id, tokenHash }: Session,
  data: Prisma.SessionUpdateManyMutationInput,
): Promise<void> {
  await app.db.session.updateMany({ where: { realmId, id, tokenHash }, data });
}
