import { nobody } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import type { ReaderAccess } from '../events/queue.ts';
import type { Realm, User } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { NonexistentSubdomainError } from '../platform/errors.ts';
import { subdomainOf } from '../platform/hosts.ts';
import { isKey } from '../platform/key-vault.ts';
import { type Account, accountByKeyHash, readAccount } from './accounts.ts';
import { apiEmail } from './address.ts';
import { type App, type Credential, type Ctx, type RequestCtx, type Scope, signedIn, type Viewer } from './context.ts';
import { InvalidApiKeyError, RealmDeactivatedError, UnauthorizedError, UserDeactivatedError } from './errors.ts';
import { accessRevoked } from './events.ts';
import {
  renewSession,
  type SessionAccount,
  type SessionKey,
  type SessionToken,
  sessionById,
  sessionByToken,
} from './sessions.ts';

/** What a request says of itself. */
export interface RequestFacts {
  /** The Host header. */
  readonly host: string | undefined;
  /** The User-Agent header. */
  readonly userAgent: string | undefined;
  /** The `client` parameter. */
  readonly client?: string | undefined;
}

export interface Credentials extends RequestFacts {
  /** The Authorization header, or the same string from `connection_init`: it counts before a session. */
  readonly authorization: string | undefined;
  /** Whether "Bearer <api key>" is taken beside Basic. */
  readonly allowBearer?: boolean;
  /** The session that a browser shows. */
  readonly session?: ShownSession | undefined;
}

/** A session that a browser shows: by the token in its cookie, or by its number, for what was opened with one. */
export interface ShownSession {
  readonly by: { readonly token: string } | SessionKey;
  readonly networkAddress: string;
  /** Called with the token that the browser is to show from now on; absent where it cannot be told. */
  readonly renewed?: (token: SessionToken) => void;
}

/**
 * The organisation the Host header names, active or not; null for the server's own domain without one.
 *
 * @throws NonexistentSubdomainError when the host is none of this server's.
 */
export async function findRealm({ db, config }: App, host: string | undefined): Promise<Realm | null> {
  const subdomain = subdomainOf(config, host);
  const realm = await db.realm.findUnique({ where: { subdomain } });
  if (realm === null && subdomain !== '') throw new NonexistentSubdomainError();
  return realm;
}

/**
 * Who sends the request: its viewer, read from the database in one query; a null viewer when it has no credentials, or a
 * session that is over: a browser goes on to show its cookie, and has to be able to sign in.
 *
 * @throws UnauthorizedError when the credentials cannot be read, or are of a scheme not taken here.
 * @throws InvalidApiKeyError when no account of the host's organisation has this address and key.
 * @throws RealmDeactivatedError, UserDeactivatedError when one has, but may not sign in.
 * @throws NonexistentSubdomainError when the host is none of this server's.
 */
export async function signIn(app: App, request: Credentials): Promise<RequestCtx> {
  const { authorization, allowBearer = false, session } = request;
  if (authorization === undefined || authorization === '') {
    return (session && (await inSession(app, request, session))) ?? anonymous(app, request);
  }
  const { username, key } = readCredentials(authorization, allowBearer);
  const subdomain = subdomainOf(app.config, request.host);
  const keyHash = app.keys.hash(key);
  const account = isKey(key) ? await accountByKeyHash(app, keyHash) : undefined;
  if (account === undefined || account.realm.subdomain !== subdomain || !isNamed(account.user, username)) {
    if (account?.realm.subdomain !== subdomain) await findRealm(app, request.host);
    throw new InvalidApiKeyError();
  }
  requireActive(account);
  return contextOf(app, request, account, { kind: 'key', hash: keyHash });
}

/** @returns Undefined when the session is none of the organisation's, or over. */
async function inSession(
  app: App,
  request: RequestFacts,
  { by, networkAddress, renewed }: ShownSession,
): Promise<RequestCtx | undefined> {
  const account = await ('token' in by ? sessionByToken(app, by.token) : sessionById(app, by));
  if (account?.realm.subdomain !== subdomainOf(app.config, request.host)) return undefined;
  requireActive(account);
  const { session } = account;
  const token = 'token' in by ? by.token : undefined;
  const next = await renewSession(app, session, { userAgent: request.userAgent, networkAddress }, token);
  if (next !== undefined) renewed?.(next);
  return contextOf(app, request, account, {
    kind: 'session',
    realmId: session.realmId,
    id: session.id,
    endsAt: session.idleExpiresAt,
  });
}

function contextOf(app: App, request: RequestFacts, { user, realm }: Account, credential: Credential): RequestCtx {
  const name = clientName(request.userAgent, request.client);
  const viewer = { realm, user, id: user.id, role: user.role, clientName: name, credential };
  return { app, realm, viewer, clientName: name };
}

/**
 * The context of a request that needs no credentials.
 *
 * @throws NonexistentSubdomainError when the host is none of this server's.
 */
export async function anonymous(app: App, { host, userAgent, client }: RequestFacts): Promise<RequestCtx> {
  return { app, realm: await findRealm(app, host), viewer: null, clientName: clientName(userAgent, client) };
}

/** The context of an act of the server's operator in some user's name. */
export async function actAs(app: App, user: User): Promise<Ctx> {
  const realm = await app.db.realm.findUniqueOrThrow({ where: { id: user.realmId } });
  const viewer = { realm, user, id: user.id, role: user.role, clientName: 'Operator', credential: null };
  return { app, realmId: realm.id, viewer };
}

/** Whom credentials are of now; undefined when they are nobody's any more. Asked of the database. */
async function ownerOf(app: App, credential: Credential): Promise<(Account & Partial<SessionAccount>) | undefined> {
  return credential.kind === 'key' ? accountByKeyHash(app, credential.hash) : sessionById(app, credential);
}

/** What the viewer reads by, for as long as it is good. */
export function readerAccess({ app, viewer: { id, credential } }: Ctx): ReaderAccess {
  let endsAt = credential?.kind === 'session' ? credential.endsAt.getTime() : undefined;
  return {
    sessionId: credential?.kind === 'session' ? credential.id : undefined,
    get endsAt() {
      return endsAt;
    },
    async mayStay() {
      if (credential === null) return true;
      const account = await ownerOf(app, credential);
      endsAt = account?.session?.idleExpiresAt.getTime() ?? endsAt;
      return account?.user.id === id && account.user.isActive && account.realm.deactivatedAt === null;
    },
  };
}

/**
 * The viewer of something that goes on for long, as they are by now. Those who are asked for together share one query.
 *
 * @throws InvalidApiKeyError, UnauthorizedError, RealmDeactivatedError, UserDeactivatedError when they could not sign in
 *   any more.
 */
export async function viewerAsOfNow(request: RequestCtx): Promise<Viewer> {
  const { app, viewer } = signedIn(request);
  const { credential } = viewer;
  const account = credential === null ? undefined : await ownerOf(app, credential);
  if (account?.user.id !== viewer.id) {
    throw credential?.kind === 'session' ? new UnauthorizedError() : new InvalidApiKeyError();
  }
  requireActive(account);
  const { user, realm } = account;
  return { ...viewer, user, realm, role: user.role };
}

/**
 * The context with the viewer as of a change that holds the organisation's row: somebody else may have deactivated them
 * since they signed in, or changed their role.
 *
 * @throws RealmDeactivatedError, UserDeactivatedError when they could not sign in any more.
 */
export async function asOfNow(tx: SqlClient, ctx: Ctx): Promise<Ctx> {
  const account = await readAccount(tx, ctx.realmId, ctx.viewer.id);
  // The operator acts in an organisation before it is opened, too.
  if (ctx.viewer.credential !== null) requireActive(account);
  return { ...ctx, viewer: { ...ctx.viewer, ...account, role: account.user.role } };
}

/** @throws RealmDeactivatedError, UserDeactivatedError, in this order. */
export function requireActive({ user, realm }: Account): void {
  if (realm.deactivatedAt !== null) throw new RealmDeactivatedError();
  if (!user.isActive) throw new UserDeactivatedError();
}

/** Case and surrounding spaces do not matter, for the real address as for the API's. */
export const normalAddress = (address: string): string => address.trim().toLowerCase();

/** Undefined for a bearer: the key alone names its owner. */
function isNamed(user: User, username: string | undefined): boolean {
  if (username === undefined) return true;
  const address = normalAddress(username);
  return address === normalAddress(user.email) || address === apiEmail(user).toLowerCase();
}

function readCredentials(authorization: string, allowBearer: boolean): { username: string | undefined; key: string } {
  const [, scheme, value] = /^([a-z]+) +([A-Za-z0-9+/=_.~-]+) *$/i.exec(authorization) ?? [];
  if (allowBearer && scheme?.toLowerCase() === 'bearer' && value !== undefined)
    return { username: undefined, key: value };
  if (scheme?.toLowerCase() !== 'basic' || value === undefined) {
    throw new UnauthorizedError(`The Authorization header must be "Basic …"${allowBearer ? ' or "Bearer …"' : ''}`);
  }
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon === -1)
    throw new UnauthorizedError('The Authorization header must hold an address and a key, joined by ":"');
  return { username: text.slice(0, colon), key: text.slice(colon + 1) };
}

const MAX_CLIENT_NAME_LENGTH = 30;

/**
 * The client's name for itself: the `client` parameter, or else what the User-Agent begins with, up to its version.
 *
 * @returns At most 30 Unicode code points.
 */
export function clientName(userAgent: string | undefined, client?: string): string {
  const named = client === undefined ? '' : printable(client);
  if (named !== '') return cut(named);
  if (userAgent === undefined) return 'Unspecified';
  const [token = ''] = printable(userAgent).split(/[/\s]/);
  return token === '' ? 'Unparsable' : cut(token);
}

const printable = (text: string) => text.replace(/\p{Cc}/gu, '').trim();
const cut = (text: string) => [...text].slice(0, MAX_CLIENT_NAME_LENGTH).join('');

/**
 * Gives the user a new API key. The old one is void at once, and what is open under it ends within seconds on every
 * node. Sessions are credentials of their own, and go on.
 *
 * @returns The new key.
 * @see src/access/README.md
 */
export async function rotateKey(scope: Scope, userId: number): Promise<string> {
  return transact(scope, (tx, emit) => replaceKey(tx, emit, scope, userId));
}

/** Gives the user a new API key as part of a change, as `rotateKey` does. */
export async function replaceKey(tx: Tx, emit: Emit, { app, realmId }: Scope, userId: number): Promise<string> {
  const key = app.keys.newKey();
  const data = { hash: app.keys.hash(key), sealed: app.keys.seal(key), createdAt: app.now() };
  await tx.apiKey.upsert({
    where: { realmId_userId: { realmId, userId } },
    create: { ...data, userId, realmId },
    update: data,
  });
  emit(accessRevoked(userId, 'key'), nobody());
  return key;
}
