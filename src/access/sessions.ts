import { randomBytes } from 'node:crypto';
import DataLoader from 'dataloader';
import { nobody } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import { Prisma, type Realm, type Session, type User } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import {
  columnsOf,
  type QueryRow,
  REALM_COLUMNS,
  rowOf,
  SESSION_COLUMNS,
  USER_COLUMNS,
} from '../platform/db/columns.ts';
import { readRows } from '../platform/db/rows.ts';
import { TOTALS } from '../platform/totals.ts';
import type { Account } from './accounts.ts';
import type { App, Viewer } from './context.ts';
import { accessRevoked } from './events.ts';

const MINUTE_MS = 60_000;
/** Our choice: how old a token gets before the browser is told another. */
const ROTATION_MS = 60 * MINUTE_MS;
/** Our choice: requests that were on their way with the token before have arrived by then. */
const GRACE_MS = MINUTE_MS;
/** Our choice: how old the time may get at which a browser was seen last. */
const SEEN_MS = 5 * MINUTE_MS;
/** Our choice: expired rows removed with each one added, so that the table never grows by itself. */
const PURGED_AT_ONCE = 100;
/** Our choice: the names of browsers have some hundred characters. */
const MAX_USER_AGENT_LENGTH = 300;

/** The browser that a session is of, as it shows itself. */
export interface BrowserFacts {
  readonly userAgent: string | undefined;
  readonly networkAddress: string;
}

/** What a browser is to keep, and show with each request. */
export interface SessionToken {
  readonly token: string;
  /** When the session ends, whatever is done until then. */
  readonly expiresAt: Date;
}

/** A session that is not over, and whose it is. */
export interface SessionAccount extends Account {
  readonly session: Session;
}

/** What a session is found by in the database. */
export type SessionKey = Pick<Session, 'realmId' | 'id'>;

/** What a token looks like. */
const TOKEN = /^[\w-]{43}$/;

/** Begins a session. Of too many of the user's those end that were not seen for longest. */
export async function openSession(app: App, { id, realmId }: User, browser: BrowserFacts) {
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

/** What changes with each time that the browser is seen. */
function seen({ now, config }: App, expiresAt: Date, { userAgent = '', networkAddress }: BrowserFacts) {
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
 * Ends sessions of a user, as part of a change. What is open in them ends within seconds, on every node.
 *
 * @param which Some of the user's; absent: all.
 * @returns The ids of those that there were.
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
  if (ids.length > 0) emit(accessRevoked(userId, ids), nobody());
  return ids;
}

/** The user's sessions but the one the viewer is signed in by. */
export const otherThan = ({ credential }: Viewer): Prisma.SessionWhereInput =>
  credential?.kind === 'session' ? { id: { not: credential.id } } : {};

type Find<K> = (app: App, keys: readonly K[]) => Promise<readonly (SessionAccount | undefined)[]>;

/** Every sign-in reads, and those that arrive together share one query, as with keys. */
function together<K>(find: Find<K>): (app: App, key: K) => Promise<SessionAccount | undefined> {
  const loaders = new WeakMap<App, DataLoader<K, SessionAccount | undefined>>();
  return (app, key) => {
    let loader = loaders.get(app);
    if (loader === undefined) {
      loader = new DataLoader((keys: readonly K[]) => find(app, keys), {
        cache: false,
        maxBatchSize: 500,
        batchScheduleFn: (run) => void setImmediate(run),
      });
      loaders.set(app, loader);
    }
    return loader.load(key);
  };
}

/** The session that a token is of: the one that is shown, the one that is to be, and for a moment the one before. */
const sessionByHash = together<Uint8Array<ArrayBuffer>>(async (app, hashes) => {
  const list = Prisma.sql`ANY(${hashes}::bytea[])`;
  const found = await read(
    app.db,
    Prisma.sql`s.token_hash = ${list} OR s.next_hash = ${list} OR s.previous_hash = ${list}`,
  );
  const byHash = new Map(found.flatMap((one) => hashesOf(one.session).map((hash) => [hex(hash), one])));
  return hashes.map((hash) => byHash.get(hex(hash)));
});

const byKey = together<SessionKey>(async (app, keys) => {
  const [realmIds, ids] = [keys.map(({ realmId }) => realmId), keys.map(({ id }) => id)];
  const found = await read(
    app.db,
    Prisma.sql`(s.realm_id, s.id) IN (SELECT k.realm_id, k.id FROM unnest(${realmIds}::int[], ${ids}::int[]) AS k(realm_id, id))`,
  );
  const rows = new Map(found.map((one) => [one.session.id, one]));
  return ids.map((id) => rows.get(id));
});

/** OFFSET 0 has the organisation found by its id: the planner takes a few sessions for many, and reads all organisations. */
async function read(db: SqlClient, condition: Prisma.Sql): Promise<SessionAccount[]> {
  const rows = await readRows<QueryRow>(
    db,
    Prisma.sql`
    SELECT ${columnsOf('s', SESSION_COLUMNS)}, ${columnsOf('u', USER_COLUMNS)}, ${columnsOf('r', REALM_COLUMNS)}
    FROM session s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
    CROSS JOIN LATERAL (SELECT * FROM realm WHERE id = s.realm_id OFFSET 0) AS r WHERE ${condition}`,
  );
  return rows.map((row) => ({
    session: rowOf<Session>(row, 's', SESSION_COLUMNS),
    user: rowOf<User>(row, 'u', USER_COLUMNS),
    realm: rowOf<Realm>(row, 'r', REALM_COLUMNS),
  }));
}

const hashesOf = ({ tokenHash, nextHash, previousHash }: Session) =>
  [tokenHash, nextHash, previousHash].filter((hash) => hash !== null);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const isSame = (a: Uint8Array, b: Uint8Array | null) => b !== null && Buffer.from(a).equals(b);

const isLive = ({ now }: App, { idleExpiresAt }: Session) => idleExpiresAt > now();

/** The session of this number; undefined when there is none, or it is over. */
export async function sessionById(app: App, key: SessionKey): Promise<SessionAccount | undefined> {
  const found = await byKey(app, key);
  return found !== undefined && isLive(app, found.session) ? found : undefined;
}

/** The session that a browser shows a token of; undefined when it is nobody's, or over. */
export async function sessionByToken(app: App, token: string): Promise<SessionAccount | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const hash = app.keys.hash(token);
  const found = await sessionByHash(app, hash);
  if (found === undefined || !isLive(app, found.session)) return undefined;
  const isOld = isSame(hash, found.session.previousHash);
  return isOld && app.now().getTime() > found.session.tokenAt.getTime() + GRACE_MS ? undefined : found;
}

/**
 * Notes that the browser was seen, and sees to it that its token is another one from time to time.
 *
 * The next token follows from the one before, for who knows `SECRET_KEY`. It is told with every reply until the browser
 * shows it; the one before is good until then, and a minute longer. So no reply that is lost, and no number of tabs that
 * ask at once, signs anybody out.
 *
 * @param token What the browser showed; undefined where it is not told another.
 * @returns What it is to show from now on; undefined for what it shows.
 */
export async function renewSession(
  app: App,
  session: Session,
  browser: BrowserFacts,
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

/** Of two that come together the first counts: they would write the same. */
async function note(
  app: App,
  { realmId, id, tokenHash }: Session,
  data: Prisma.SessionUpdateManyMutationInput,
): Promise<void> {
  await app.db.session.updateMany({ where: { realmId, id, tokenHash }, data });
}
