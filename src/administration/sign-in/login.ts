import { createHash } from 'node:crypto';
import type { Account } from '../../access/accounts.ts';
import type { RequestCtx, Runtime, WorkCtx } from '../../access/context.ts';
import { verifyPassword } from '../../access/passwords.ts';
import { normalAddress, requireActive } from '../../access/sign-in.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { findUserByEmail } from '../../people/users.ts';
import type { Caller } from '../../platform/caller.ts';
import { AbandonedError, NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import type { FailureCounter } from '../../platform/rate-limits.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { AuthenticationFailedError } from './errors.ts';
import { recordFirstLogin } from './first-login.ts';

const FAILURES = { points: 5, duration: 1800 };

/** Password attempts of one running service. */
interface Attempts {
  readonly failures: FailureCounter;
  /** Last password attempt for each email address of an organization. Attempts for the same address run one after another. */
  readonly last: Map<string, Promise<unknown>>;
}

/** Password attempts, for each running service. Several services may run in one process. */
const attemptsOf = new WeakMap<Runtime, Attempts>();

/**
 * Returns the API key of the person with this email address and password. Records the first login of an imported user.
 *
 * @throws ValidationError if the address or the password contains a null byte.
 * @throws AuthenticationFailedError if address and password match no account with a password. For an unknown address, the check
 *   takes as long as for an existing account.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if address and password match, but the account cannot sign in.
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, or if too many requests wait to sign in.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export async function fetchApiKey(request: RequestCtx, login: PasswordLogin): Promise<Login> {
  return logIn(request, await provePassword(request, login));
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
 * @throws ValidationError if the address or the password contains a null byte.
 * @throws AuthenticationFailedError if address and password match no account with a password.
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, or if too many requests wait to sign in.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export async function provePassword(request: RequestCtx, { username, password }: PasswordLogin): Promise<Account> {
  const { organization, caller } = request;
  if (organization === null) throw new NonexistentSubdomainError();
  refuseNullBytes('username', username);
  // scrypt ignores null bytes at the end of a password, so it would accept the right password followed by null bytes.
  refuseNullBytes('password', password);
  const address = normalAddress(username);
  const user = await tryPassword(request, organization, { address, password, caller });
  if (user === undefined) throw new AuthenticationFailedError();
  return { user, organization };
}

/** The user after the login, with their API key. */
export interface Login {
  readonly user: User;
  readonly apiKey: string;
}

/**
 * Returns the API key of a user who has proved their identity.
 *
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function logIn({ app, work }: WorkCtx, account: Account): Promise<Login> {
  const user = await letIn({ app, work }, account);
  const { sealed } = await work.db.apiKey.findUniqueOrThrow({
    where: { organizationId_userId: { organizationId: user.organizationId, userId: user.id } },
  });
  return { user, apiKey: app.keys.open(sealed) };
}

/**
 * Checks that a user who has proved their identity can sign in. Records the first login of an imported user.
 *
 * @returns The user, as read after the first login was recorded.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function letIn({ app, work }: WorkCtx, { user, organization }: Account): Promise<User> {
  requireActive({ user, organization });
  if (!user.isImportedStub) return user;
  await recordFirstLogin({ app, work, organizationId: organization.id }, user.id);
  return work.db.user.findUniqueOrThrow({
    where: { organizationId_id: { organizationId: organization.id, id: user.id } },
  });
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
export async function tryPassword(
  ctx: WorkCtx,
  organization: Organization,
  attempt: PasswordAttempt,
): Promise<User | undefined> {
  const { app } = ctx;
  const { address, caller } = attempt;
  const facts = { organization: organization.id, account: address, address: caller?.address };
  try {
    const user = await limited(app, `${organization.id} ${address}`, () => checkPassword(ctx, organization, attempt));
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
  { app: { config }, work: { db } }: WorkCtx,
  organization: Organization,
  { address, password, caller }: PasswordAttempt,
): Promise<User | undefined> {
  if (caller?.isGone === true) throw new AbandonedError();
  const user = await findUserByEmail(db, organization.id, address);
  return (await verifyPassword(config, password, user?.passwordHash ?? null, caller)) && user !== null
    ? user
    : undefined;
}

/**
 * Runs `attempt`, unless 5 attempts for the same email address have failed within 30 minutes.
 *
 * Attempts for one email address run one after the other. So of a thousand concurrent attempts with wrong passwords, only five
 * are made. A user who signs in with the right password from several clients at the same time does not reach the limit.
 *
 * @param name Organization id and email address, separated by a space.
 * @throws RateLimitHitError if too many attempts have failed.
 */
async function limited(
  app: Runtime,
  name: string,
  attempt: () => Promise<User | undefined>,
): Promise<User | undefined> {
  const { failures, last } = attemptsFor(app);
  const key = keyOf(name);
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

/** Returns the key of a counter. It is a hash, so that its length does not depend on the client's input. */
const keyOf = (name: string): string => createHash('sha256').update(name).digest('base64');

/** Forgets the failed attempts for an email address, after the person has chosen a new password. */
export async function forgetFailures(app: Runtime, organizationId: number, email: string): Promise<void> {
  await attemptsFor(app).failures.clear(keyOf(`${organizationId} ${normalAddress(email)}`));
}

function attemptsFor(app: Runtime): Attempts {
  const known = attemptsOf.get(app) ?? {
    failures: app.rateLimits.failureCounter('password_failures', FAILURES),
    last: new Map(),
  };
  attemptsOf.set(app, known);
  return known;
}
