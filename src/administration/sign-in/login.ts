import { createHash } from 'node:crypto';
import type { Account } from '../../access/accounts.ts';
import type { App, RequestCtx } from '../../access/context.ts';
import { verifyPassword } from '../../access/passwords.ts';
import { normalAddress, requireActive } from '../../access/sign-in.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { findUserByEmail } from '../../people/users.ts';
import type { Caller } from '../../platform/caller.ts';
import { AbandonedError, NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import type { FailureCounter } from '../../platform/rate-limits.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { AuthenticationFailedError } from './errors.ts';
import { recordFirstLogin } from './first-login.ts';

const FAILURES = { points: 5, duration: 1800 };

/** Password attempts of one process. */
interface Attempts {
  readonly failures: FailureCounter;
  /** The last attempt for each email address. Attempts for one address run one after the other. */
  readonly last: Map<string, Promise<unknown>>;
}

/** Attempts by database. All `App` objects of a database share one entry, including those that run within a transaction. */
const attemptsOf = new WeakMap<App['database'], Attempts>();

/**
 * Returns the API key of the person with this email address and password. Records the first login of an imported user.
 *
 * @throws BadRequestError if the address or the password contains a null byte.
 * @throws AuthenticationFailedError if address and password match no account with a password. For an unknown address, the check
 * takes as long as for an existing account.
 * @throws RealmDeactivatedError, UserDeactivatedError if address and password match, but the account cannot sign in.
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, or if too many requests wait to sign in.
 * @throws NonexistentSubdomainError at the server's own domain, if it has no organization.
 */
export async function fetchApiKey(request: RequestCtx, login: PasswordLogin): Promise<Login> {
  return logIn(request.app, await provePassword(request, login));
}

/** Credentials that a user enters to sign in. */
export interface PasswordLogin {
  /** The account's email address. */
  readonly username: string;
  readonly password: string;
}

/**
 * Returns the account with this email address and password, even if the account is deactivated.
 *
 * @throws The errors of `fetchApiKey`, except those about the state of the account.
 */
export async function provePassword(
  { app, realm, caller }: RequestCtx,
  { username, password }: PasswordLogin,
): Promise<Account> {
  if (realm === null) throw new NonexistentSubdomainError();
  refuseNullBytes('username', username);
  // scrypt ignores null bytes at the end of a password, so a wrong password could be accepted.
  refuseNullBytes('password', password);
  const address = normalAddress(username);
  const user = await tryPassword(app, realm, { address, password, caller });
  if (user === undefined) throw new AuthenticationFailedError();
  return { user, realm };
}

/** The user after the login, with their API key. */
export interface Login {
  readonly user: User;
  readonly apiKey: string;
}

/**
 * Returns the API key of a user who has proved their identity.
 *
 * @throws RealmDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function logIn(app: App, account: Account): Promise<Login> {
  const user = await letIn(app, account);
  const { sealed } = await app.db.apiKey.findUniqueOrThrow({
    where: { realmId_userId: { realmId: user.realmId, userId: user.id } },
  });
  return { user, apiKey: app.keys.open(sealed) };
}

/**
 * Checks that a user who has proved their identity can sign in. Records the first login of an imported user.
 *
 * @returns The user after the change.
 * @throws RealmDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function letIn(app: App, { user, realm }: Account): Promise<User> {
  requireActive({ user, realm });
  if (!user.isImportedStub) return user;
  await recordFirstLogin({ app, realmId: realm.id }, user.id);
  return app.db.user.findUniqueOrThrow({ where: { realmId_id: { realmId: realm.id, id: user.id } } });
}

/**
 * Makes one attempt with a password. All attempts for one email address count towards one limit, regardless of their purpose.
 *
 * @param attempt Its `address` must be in the form of `normalAddress`.
 * @returns The user. Undefined if the address and the password match no account with a password.
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, or if too many requests wait to sign in.
 * @throws AbandonedError if the caller disconnected before the attempt started. Such an attempt does not count towards the
 *   limit.
 */
export async function tryPassword(app: App, realm: Realm, attempt: PasswordAttempt): Promise<User | undefined> {
  const { address, caller } = attempt;
  const facts = { realm_id: realm.id, account: address, address: caller?.address };
  try {
    const user = await limited(app, `${realm.id} ${address}`, () => checkPassword(app, realm, attempt));
    if (user === undefined) app.log.warn({ ...facts, reason: 'wrong password' }, 'sign-in failed');
    return user;
  } catch (error) {
    if (error instanceof RateLimitHitError) app.log.warn({ ...facts, reason: 'too many attempts' }, 'sign-in failed');
    throw error;
  }
}

/** A password attempt, with the caller who makes it. */
interface PasswordAttempt {
  readonly address: string;
  readonly password: string;
  readonly caller: Caller | undefined;
}

/**
 * Returns the user with the email address if the password is correct, otherwise undefined. Bots have no passwords.
 *
 * @throws AbandonedError if the caller has disconnected.
 */
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
 * Makes one attempt, unless too many attempts have failed.
 *
 * Attempts for one email address run one after the other. So of a thousand concurrent wrong attempts, only five are made. A
 * user who signs in from several clients at the same time does not reach the limit.
 */
async function limited(app: App, name: string, attempt: () => Promise<User | undefined>): Promise<User | undefined> {
  const { failures, last } = attemptsFor(app);
  // A hash, so that the key has a fixed length, regardless of the client's input.
  const key = createHash('sha256').update(name).digest('base64');
  const turn = (last.get(key) ?? Promise.resolve()).then(async () => {
    const waitMs = await failures.waitMs(key);
    if (waitMs > 0) throw new RateLimitHitError(Math.ceil(waitMs / 1000));
    const user = await attempt();
    if (user === undefined) await failures.add(key);
    else await failures.clear(key);
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

function attemptsFor({ database, rateLimits }: App): Attempts {
  const known = attemptsOf.get(database) ?? {
    failures: rateLimits.failureCounter('password_failures', FAILURES),
    last: new Map(),
  };
  attemptsOf.set(database, known);
  return known;
}
