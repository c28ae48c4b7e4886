import type { Account } from '../../access/accounts.ts';
import type { RequestCtx, WorkCtx } from '../../access/context.ts';
import { auditFailedSignIn, type FailedSignIn } from '../../access/failed-sign-ins.ts';
import { verifyPassword } from '../../access/passwords.ts';
import type { SignInMethod, SignInScope } from '../../access/sessions.ts';
import { normalAddress, requireActive } from '../../access/sign-in.ts';
import type { AuditedContext } from '../../events/audit.ts';
import { transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { findUserByEmail } from '../../people/users.ts';
import type { Caller } from '../../platform/caller.ts';
import { AbandonedError, NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { limited } from './attempts.ts';
import { AuthenticationFailedError, PasswordAuthDisabledError } from './errors.ts';
import { recordFirstLogin } from './first-login.ts';
import { isNewDevice, queueNewDeviceMail } from './new-device.ts';
import { secondStepOf } from './second-step.ts';

/**
 * Returns the API key of the person with this email address and password. Records the first login of an imported user.
 *
 * @throws ValidationError if the address or the password contains a null byte.
 * @throws AuthenticationFailedError if address and password match no account with a password. For an unknown address, the check
 *   takes as long as for an existing account.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if address and password match, but the account cannot sign in.
 * @throws PasswordAuthDisabledError if address and password match, but the account has or must have a second factor.
 * @throws RateLimitHitError after 5 failures for the address within 30 minutes, or if too many requests wait to sign in.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export async function fetchApiKey(request: RequestCtx, login: PasswordLogin): Promise<Login> {
  const account = await provePassword(request, login);
  requireActive(account);
  if ((await secondStepOf(request, account)) !== undefined) throw new PasswordAuthDisabledError();
  return logIn(request, account, 'password');
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
 * Returns the API key of a user who has proved their identity, and writes an entry about the sign-in to the audit log.
 *
 * @param method The way in which the user proved their identity.
 *
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function logIn(request: SignInScope, account: Account, method: SignInMethod): Promise<Login> {
  const { app, work, caller, clientName, identityProvider } = request;
  const user = await letIn({ app, work }, account);
  const { id, organizationId } = user;
  const changes = { credential: { new: 'api_key' }, method: { new: method } };
  const device = { caller, clientName };
  const isNew = method !== 'browser' && (await isNewDevice(work.db, app, account, device));
  await transact({ work, organizationId, caller, clientName, identityProvider }, async (tx, emit) => {
    emit.audit({ action: 'signed_in', objectType: 'user', objectId: id, actorId: id, changes });
    if (isNew) await queueNewDeviceMail(tx, account, device, app.now());
  });
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
  ctx: WorkCtx & Pick<AuditedContext, 'clientName' | 'viewer'>,
  organization: Organization,
  attempt: PasswordAttempt,
): Promise<User | undefined> {
  const { app } = ctx;
  const { address, caller } = attempt;
  const facts = { organization: organization.id, account: address, address: caller?.address };
  const audit = (reason: FailedSignIn['reason']) =>
    auditFailedSignIn(ctx, {
      ...{ subdomain: organization.subdomain, reason, caller, account: address },
      clientName: ctx.clientName ?? ctx.viewer?.clientName,
    });
  try {
    const user = await limited(app, `${organization.id} ${address}`, () => checkPassword(ctx, organization, attempt));
    if (user === undefined) {
      app.log.warn({ ...facts, reason: 'wrong password' }, 'sign-in failed');
      audit('wrong password');
    }
    return user;
  } catch (error) {
    if (error instanceof RateLimitHitError) {
      app.log.warn({ ...facts, reason: 'too many attempts' }, 'sign-in failed');
      audit('too many attempts');
    }
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
