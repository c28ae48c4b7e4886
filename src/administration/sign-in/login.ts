import { createHash } from 'node:crypto';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Account } from '../../access/accounts.ts';
import type { App, RequestCtx } from '../../access/context.ts';
import { verifyPassword } from '../../access/passwords.ts';
import { normalAddress, requireActive } from '../../access/sign-in.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { findUserByEmail } from '../../people/users.ts';
import type { Caller } from '../../platform/caller.ts';
import { AbandonedError, NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { recordFirstLogin } from '../users/service.ts';
import { AuthenticationFailedError } from './errors.ts';

const FAILURES = { points: 5, duration: 1800 };

/** What one process knows of password attempts. */
interface Attempts {
  readonly failures: RateLimiterMemory;
  /** The last attempt for each address, so that they are made one after the other. */
  readonly last: Map<string, Promise<unknown>>;
}

/** By database: an app that acts within one transaction counts on with the others. */
const attemptsOf = new WeakMap<App['database'], Attempts>();

/**
 * The API key of the person with this address and password. Counts as a login.
 *
 * @throws BadRequestError when one holds a null byte.
 * @throws AuthenticationFailedError when they fit no account with a password; it takes as long as for one.
 * @throws RealmDeactivatedError, UserDeactivatedError when they fit, but the account may not sign in.
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, and while too many wait to sign in.
 * @throws NonexistentSubdomainError at the server's own domain, when it has no organisation.
 */
export async function fetchApiKey(request: RequestCtx, login: PasswordLogin): Promise<Login> {
  return logIn(request.app, await provePassword(request, login));
}

/** What somebody types who signs in. */
export interface PasswordLogin {
  /** The account's e-mail address. */
  readonly username: string;
  readonly password: string;
}

/**
 * Whose address and password these are. They may not be let in all the same.
 *
 * @throws What `fetchApiKey` throws, but for what is wrong with the account.
 */
export async function provePassword(
  { app, realm, caller }: RequestCtx,
  { username, password }: PasswordLogin,
): Promise<Account> {
  if (realm === null) throw new NonexistentSubdomainError();
  refuseNullBytes('username', username);
  // Not for the database: scrypt does not tell a password from the same one with null bytes after it.
  refuseNullBytes('password', password);
  const address = normalAddress(username);
  const user = await tryPassword(app, realm, { address, password, caller });
  if (user === undefined) throw new AuthenticationFailedError();
  return { user, realm };
}

/** Who logged in, as they are after it, and what they sign in with from then on. */
export interface Login {
  readonly user: User;
  readonly apiKey: string;
}

/**
 * The key of somebody who has proved who they are.
 *
 * @throws RealmDeactivatedError, UserDeactivatedError when the account may not sign in.
 */
export async function logIn(app: App, account: Account): Promise<Login> {
  const user = await letIn(app, account);
  const { sealed } = await app.db.apiKey.findUniqueOrThrow({
    where: { realmId_userId: { realmId: user.realmId, userId: user.id } },
  });
  return { user, apiKey: app.keys.open(sealed) };
}

/**
 * Lets in somebody who has proved who they are. The first login of an imported user is recorded.
 *
 * @returns The user as they are after it.
 * @throws RealmDeactivatedError, UserDeactivatedError when the account may not sign in.
 */
export async function letIn(app: App, { user, realm }: Account): Promise<User> {
  requireActive({ user, realm });
  if (!user.isImportedStub) return user;
  await recordFirstLogin({ app, realmId: realm.id }, user.id);
  return app.db.user.findUniqueOrThrow({ where: { realmId_id: { realmId: realm.id, id: user.id } } });
}

/**
 * Makes one attempt with a password; all attempts for one address count together, whatever they are made for.
 *
 * @param address As `normalAddress` gives it.
 * @returns Undefined when they fit no account with a password.
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, and while too many wait to sign in.
 * @throws AbandonedError when the caller did not wait for their turn, which is then no attempt.
 */
export function tryPassword(app: App, realm: Realm, attempt: PasswordAttempt): Promise<User | undefined> {
  return limited(app, `${realm.id} ${attempt.address}`, () => checkPassword(app, realm, attempt));
}

/** A password tried, and by whom. */
interface PasswordAttempt {
  readonly address: string;
  readonly password: string;
  readonly caller: Caller | undefined;
}

/** Bots have no passwords. */
async function checkPassword(
  { db, config }: App,
  realm: Realm,
  { address, password, caller }: PasswordAttempt,
): Promise<User | undefined> {
  if (caller?.isGone === true) throw new AbandonedError();
  const user = await findUserByEmail(db, realm.id, address);
  return (await verifyPassword(config, password, user?.passwordHash ?? null, caller)) && user !== null
    ? user
    : undefined;
}

/**
 * Makes one attempt, unless too many have failed.
 *
 * Attempts for one address wait for each other: a thousand at once get five tries, and people who sign in from several
 * clients at once are not taken for guessing.
 */
async function limited(app: App, name: string, attempt: () => Promise<User | undefined>): Promise<User | undefined> {
  const { failures, last } = attemptsFor(app);
  // Of one length, whatever the client sent.
  const key = createHash('sha256').update(name).digest('base64');
  const turn = (last.get(key) ?? Promise.resolve()).then(async () => {
    const used = await failures.get(key);
    if (used !== null && used.consumedPoints >= FAILURES.points) {
      throw new RateLimitHitError(Math.ceil(used.msBeforeNext / 1000));
    }
    const user = await attempt();
    if (user === undefined) await failures.penalty(key);
    else await failures.delete(key);
    return user;
  });
  const settled = turn.then(
    () => {},
    () => {},
  );
  last.set(key, settled);
  try {
    return await turn;
  } finally {
    if (last.get(key) === settled) last.delete(key);
  }
}

function attemptsFor({ database }: App): Attempts {
  const known = attemptsOf.get(database) ?? { failures: new RateLimiterMemory(FAILURES), last: new Map() };
  attemptsOf.set(database, known);
  return known;
}
