import { noRecipients } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import type { ReaderAccess } from '../events/queue.ts';
import type { Organization, User } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { requireNotMoved } from '../platform/db/organization-moves.ts';
import { NonexistentSubdomainError } from '../platform/errors.ts';
import { subdomainOf } from '../platform/hosts.ts';
import { isKey } from '../platform/key-vault.ts';
import { type Account, accountByKeyHash, type KeyedAccount, readAccount } from './accounts.ts';
import { apiEmail } from './address.ts';
import {
  type App,
  type Credential,
  type Ctx,
  type RequestCtx,
  type Scope,
  signedIn,
  type Viewer,
  type WorkCtx,
} from './context.ts';
import { InvalidApiKeyError, OrganizationDeactivatedError, UnauthorizedError, UserDeactivatedError } from './errors.ts';
import { accessRevoked } from './events.ts';
import { limitsOf, noteUse } from './named-keys.ts';
import {
  renewSession,
  type SessionAccount,
  type SessionKey,
  type SessionToken,
  sessionById,
  sessionByToken,
} from './sessions.ts';

/** The headers and parameters that identify the host and the client. */
export interface RequestDetails {
  /** Value of the request's Host header. */
  readonly host: string | undefined;
  /** Value of the request's User-Agent header. */
  readonly userAgent: string | undefined;
  /** Value of the request's parameter `client`, the name that the client gives itself. */
  readonly client?: string | undefined;
}

export interface Credentials extends RequestDetails {
  /** The Authorization header, or the same string from `connection_init`. Takes precedence over a session. */
  readonly authorization: string | undefined;
  /** Whether `authorization` can also be "Bearer <api key>". Basic authentication is always accepted. */
  readonly allowBearer?: boolean;
  /** The session that a browser presents. */
  readonly session?: ShownSession | undefined;
}

/**
 * A session that a browser presents. The token in the browser's cookie identifies the session. On a connection that was opened
 * in a session, the id of the session identifies it.
 */
export interface ShownSession {
  readonly by: { readonly token: string } | SessionKey;
  readonly networkAddress: string;
  /** Called with the token that the browser must send from now on. Absent if the browser cannot receive a token. */
  readonly renewed?: (token: SessionToken) => void;
}

/**
 * Returns the organization that the Host header names, active or not. Null if the host is the server's own domain and no
 * organization uses that domain.
 *
 * @throws NonexistentSubdomainError if the host does not belong to this server.
 * @throws OrganizationMovedError if the organization has moved to another database.
 */
export async function findOrganization({ db, config }: App, host: string | undefined): Promise<Organization | null> {
  const subdomain = subdomainOf(config, host);
  const organization = await db.organization.findUnique({ where: { subdomain } });
  if (organization === null) await requireNotMoved(db, { subdomain });
  if (organization === null && subdomain !== '') throw new NonexistentSubdomainError();
  return organization;
}

/**
 * Authenticates a request. Reads its viewer from the database in one query. The viewer is null if the request has no
 * credentials, or a session that has ended. A browser continues to send the cookie of such a session, and must be able to sign
 * in again.
 *
 * @throws UnauthorizedError if the credentials cannot be parsed, or have a scheme that is not accepted here.
 * @throws InvalidApiKeyError if no account of the host's organization has this email address and key.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account exists but may not sign in.
 * @throws NonexistentSubdomainError if the host does not belong to this server.
 */
export async function signIn(app: App, request: Credentials): Promise<RequestCtx> {
  const { authorization, allowBearer = false, session } = request;
  if (authorization === undefined || authorization === '') {
    return (session && (await inSession(app, request, session))) ?? anonymous(app, request);
  }
  const { username, key } = readCredentials(authorization, allowBearer);
  const subdomain = subdomainOf(app.config, request.host);
  const keyHash = app.keys.hash(key);
  const account = isKey(key) ? await accountByKey({ app, work: app.work }, keyHash) : undefined;
  if (account === undefined || account.organization.subdomain !== subdomain || !isNamed(account.user, username)) {
    if (account?.organization.subdomain !== subdomain) await findOrganization(app, request.host);
    throw new InvalidApiKeyError();
  }
  requireActive(account);
  if (account.key !== undefined) noteUse(app, account.key);
  return contextOf(app, request, account, {
    ...{ kind: 'key', hash: keyHash },
    ...(account.key !== undefined && limitsOf(account.key)),
  });
}

/** Returns the account whose API key has this hash. Undefined if there is none, or the key has expired. */
async function accountByKey({ app, work }: WorkCtx, hash: Uint8Array<ArrayBuffer>): Promise<KeyedAccount | undefined> {
  const account = await accountByKeyHash(work.db, hash);
  const expiresAt = account?.key?.expiresAt;
  return expiresAt != null && expiresAt <= app.now() ? undefined : account;
}

/**
 * Authenticates a request by its session.
 *
 * @returns The context of the request. Undefined if the session has ended, or belongs to another organization than the host.
 */
async function inSession(
  app: App,
  request: RequestDetails,
  { by, networkAddress, renewed }: ShownSession,
): Promise<RequestCtx | undefined> {
  const ctx = { app, work: app.work };
  const account = await ('token' in by ? sessionByToken(ctx, by.token) : sessionById(ctx, by));
  if (account?.organization.subdomain !== subdomainOf(app.config, request.host)) return undefined;
  requireActive(account);
  const { session } = account;
  const token = 'token' in by ? by.token : undefined;
  const next = await renewSession(app, session, { userAgent: request.userAgent, networkAddress }, token);
  if (next !== undefined) renewed?.(next);
  return contextOf(app, request, account, {
    kind: 'session',
    organizationId: session.organizationId,
    id: session.id,
    endsAt: session.idleExpiresAt,
    signedInAt: session.createdAt,
  });
}

function contextOf(
  app: App,
  request: RequestDetails,
  { user, organization }: Account,
  credential: Credential,
): RequestCtx {
  const name = clientName(request.userAgent, request.client);
  const viewer = { organization, user, id: user.id, role: user.role, clientName: name, credential };
  return { app, work: app.work, organization, viewer, clientName: name };
}

/**
 * Returns the context of a request that needs no credentials.
 *
 * @throws NonexistentSubdomainError if the host does not belong to this server.
 */
export async function anonymous(app: App, { host, userAgent, client }: RequestDetails): Promise<RequestCtx> {
  const organization = await findOrganization(app, host);
  return { app, work: app.work, organization, viewer: null, clientName: clientName(userAgent, client) };
}

/** Returns the context of an action of the server's operator on behalf of a user. */
export async function actAs(app: App, user: User): Promise<Ctx> {
  const organization = await app.db.organization.findUniqueOrThrow({ where: { id: user.organizationId } });
  const viewer = { organization, user, id: user.id, role: user.role, clientName: 'Operator', credential: null };
  return { app, work: app.work, organizationId: organization.id, viewer };
}

/**
 * Returns the account to which credentials belong, read from the database. Undefined if the credentials are no longer valid.
 */
async function ownerOf(ctx: WorkCtx, credential: Credential): Promise<(Account & Partial<SessionAccount>) | undefined> {
  return credential.kind === 'key' ? accountByKey(ctx, credential.hash) : sessionById(ctx, credential);
}

/** Returns the viewer's credentials for an event reader, which checks from time to time whether they are still valid. */
export function readerAccess(ctx: Ctx): ReaderAccess {
  const { id, credential } = ctx.viewer;
  let endsAt = credential?.endsAt?.getTime();
  return {
    sessionId: credential?.kind === 'session' ? credential.id : undefined,
    namedKeyId: credential?.kind === 'key' ? credential.id : undefined,
    get endsAt() {
      return endsAt;
    },
    async mayStay() {
      if (credential === null) return true;
      const account = await ownerOf(ctx, credential);
      if (account === undefined) await requireNotMoved(ctx.work.db, { id: ctx.viewer.organization.id });
      endsAt = account?.session?.idleExpiresAt.getTime() ?? endsAt;
      return account?.user.id === id && account.user.isActive && account.organization.deactivatedAt === null;
    },
  };
}

/**
 * Returns the viewer of a long-running operation with their current data. Concurrent calls share one query.
 *
 * @throws InvalidApiKeyError, UnauthorizedError, OrganizationDeactivatedError, UserDeactivatedError if the viewer could no
 *   longer sign in.
 * @throws OrganizationMovedError if the organization has moved to another database.
 */
export async function viewerAsOfNow(request: RequestCtx): Promise<Viewer> {
  const { viewer } = signedIn(request);
  const { credential } = viewer;
  const account = credential === null ? undefined : await ownerOf(request, credential);
  if (account === undefined) await requireNotMoved(request.work.db, { id: viewer.organization.id });
  if (account?.user.id !== viewer.id) {
    throw credential?.kind === 'session' ? new UnauthorizedError() : new InvalidApiKeyError();
  }
  requireActive(account);
  const { user, organization } = account;
  return { ...viewer, user, organization, role: user.role };
}

/**
 * Returns the context with the viewer's current data. Call it in a change that locks the organization's row. Since sign-in,
 * another user may have deactivated the viewer or changed their role.
 *
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the viewer could no longer sign in.
 */
export async function asOfNow(tx: SqlClient, ctx: Ctx): Promise<Ctx> {
  const account = await readAccount(tx, ctx.organizationId, ctx.viewer.id);
  // The operator also acts in organizations that are not active yet.
  if (ctx.viewer.credential !== null) requireActive(account);
  return { ...ctx, viewer: { ...ctx.viewer, ...account, role: account.user.role } };
}

/**
 * Checks that the credential with which the request was authenticated still exists. The transaction must hold the lock of the
 * viewer's row. Called by changes that give lasting access: a new password that ends sessions and revokes keys in between must
 * prevent them.
 *
 * @throws UnauthorizedError, InvalidApiKeyError if the session or the key has ended.
 */
export async function requireLiveCredential(tx: Tx, { app, organizationId, viewer }: Ctx): Promise<void> {
  const { credential, id: userId } = viewer;
  if (credential === null) return;
  const own = { organizationId, userId };
  if (credential.kind === 'session') {
    const where = { ...own, id: credential.id, idleExpiresAt: { gt: app.now() } };
    if ((await tx.session.count({ where })) === 0) throw new UnauthorizedError();
    return;
  }
  const { id, hash } = credential;
  const found =
    id === undefined
      ? await tx.apiKey.count({ where: { ...own, hash } })
      : await tx.namedApiKey.count({
          where: { ...own, id, OR: [{ expiresAt: null }, { expiresAt: { gt: app.now() } }] },
        });
  if (found === 0) throw new InvalidApiKeyError();
}

/**
 * Checks that the organization and the user are active.
 *
 * @throws OrganizationDeactivatedError if the organization is deactivated.
 * @throws UserDeactivatedError if only the user is deactivated.
 */
export function requireActive({ user, organization }: Account): void {
  if (organization.deactivatedAt !== null) throw new OrganizationDeactivatedError();
  if (!user.isActive) throw new UserDeactivatedError();
}

/** Returns an email address in lower case and without surrounding white space. Equal addresses are then equal strings. */
export const normalAddress = (address: string): string => address.trim().toLowerCase();

/**
 * Returns whether `username` is an email address of the user. If `username` is undefined, returns true: a bearer token
 * identifies the user by the API key alone.
 */
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
    throw new UnauthorizedError('The Authorization header must contain an email address and a key, separated by ":"');
  return { username: text.slice(0, colon), key: text.slice(colon + 1) };
}

/** Returns the email address in an Authorization header. Undefined if the header has none, or cannot be parsed. */
export function accountIn(authorization: string | undefined): string | undefined {
  try {
    return readCredentials(authorization ?? '', true).username;
  } catch (error) {
    if (error instanceof UnauthorizedError) return undefined;
    throw error;
  }
}

const MAX_CLIENT_NAME_LENGTH = 30;

/**
 * Returns the client's own name: the `client` parameter, or else the beginning of the User-Agent, up to its version.
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
 * Replaces the user's default API key. The old key becomes invalid immediately, and connections opened with it end within seconds, on
 * every node. Sessions are separate credentials, and continue.
 *
 * @returns The new key.
 * @see src/access/README.md
 */
export async function rotateKey(scope: Scope, userId: number): Promise<string> {
  return transact(scope, (tx, emit) => replaceKey(tx, emit, scope, userId));
}

/**
 * Replaces the user's default API key as part of a change. The old key becomes invalid with the commit, and connections opened with it
 * end within seconds, on every node. Returns the new key.
 */
export async function replaceKey(tx: Tx, emit: Emit, { app, organizationId }: Scope, userId: number): Promise<string> {
  const key = app.keys.newKey();
  const data = { hash: app.keys.hash(key), sealed: app.keys.seal(key), createdAt: app.now() };
  await tx.apiKey.upsert({
    where: { organizationId_userId: { organizationId, userId } },
    create: { ...data, userId, organizationId },
    update: data,
  });
  emit(accessRevoked(userId, 'key'), noRecipients());
  return key;
}
