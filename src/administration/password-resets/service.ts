import { requireAddress } from '../../access/address.ts';
import type { Ctx, RequestCtx, Scope } from '../../access/context.ts';
import { OrganizationDeactivatedError } from '../../access/errors.ts';
import { checkPassword, hashPassword } from '../../access/passwords.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { normalAddress, requireActive } from '../../access/sign-in.ts';
import { detached } from '../../events/act.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import { findUserByEmail, noSuchUser } from '../../people/users.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ForbiddenError, NonexistentSubdomainError, NotFoundError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { isRowId } from '../../platform/ids.ts';
import { oneLine, queueMail } from '../../platform/mail/outbox.ts';
import { ADMINISTRATOR } from '../../platform/roles.ts';
import { linkTokenHash, newLinkToken } from '../link-tokens.ts';
import { requireMailServer } from '../mail-server.ts';
import { forgetFailures } from '../sign-in/attempts.ts';
import { completeReset } from '../sign-in/password-change.ts';
import { countResetRequest } from './limits.ts';

/** Lifetime of a link, in milliseconds: one hour. */
const LINK_MS = 3_600_000;
/** Path of the page that a password reset link opens. */
export const RESET_PATH = '/reset-password';
/** Name of the parameter that contains the token of a link. */
const TOKEN = 'token';

const REMEDY = 'Ask an administrator of the organization for help.';

/**
 * Sends the person with this address a link with which they can choose a new password. The result and the time it takes do not
 * depend on whether there is such a person: the email is queued after the response.
 *
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 * @throws OrganizationDeactivatedError if the organization is deactivated.
 * @throws ConflictError if the server cannot send email.
 * @throws ValidationError if the address is malformed.
 * @throws RateLimitHitError after 2 requests for the address within an hour, 5 within a day, or 100 from the client's network
 *   within an hour.
 */
export async function requestPasswordReset(request: RequestCtx, email: string): Promise<void> {
  const { app, work, organization, caller, clientName } = request;
  if (organization === null) throw new NonexistentSubdomainError();
  if (organization.deactivatedAt !== null) throw new OrganizationDeactivatedError();
  const address = requireAddress(email);
  requireMailServer(app, REMEDY);
  await countResetRequest(request, organization.id, address);
  const scope = { app, work, organizationId: organization.id, caller, clientName };
  detached(() => {
    sendTo(scope, organization, address).catch((err: unknown) => app.log.error({ err }, 'password reset email failed'));
  });
}

async function sendTo(scope: Scope, organization: Organization, address: string): Promise<void> {
  const found = await findUserByEmail(scope.work.db, organization.id, address);
  if (found === null || objectionTo(found) !== undefined) return;
  await transact(scope, async (tx, emit) => {
    const user = await lockAndRead(tx, found);
    // Another request can have deactivated the user or changed the address before the lock.
    if (objectionTo(user) !== undefined || normalAddress(user.email) !== normalAddress(address)) return;
    await mailLink(tx, emit, scope, organization, user);
  });
}

/** Returns the error if a user cannot have a new password, otherwise undefined. */
function objectionTo({ botType, isSystem, isActive }: User): ConflictError | ForbiddenError | undefined {
  const parameter = 'user_id';
  if (botType !== null || isSystem) return new ForbiddenError('A bot has no password', { parameter });
  return isActive ? undefined : new ConflictError('User is deactivated', { parameter });
}

/** Returns whether the viewer can send a user a link with which they can choose a new password. */
export const maySendReset = ({ app, viewer }: Ctx, user: User): boolean =>
  app.config.smtpUrl !== undefined && viewer.role <= ADMINISTRATOR && objectionTo(user) === undefined;

/**
 * Sends a person a link with which they can choose a new password, on behalf of an administrator.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws NotFoundError if there is no such user.
 * @throws ForbiddenError for a bot.
 * @throws ConflictError if the user is deactivated, or the server cannot send email.
 */
export async function sendPasswordReset(ctx: Ctx, userId: number): Promise<User> {
  requireAdministrator(ctx);
  const { work, organizationId, viewer } = ctx;
  const found = isRowId(userId)
    ? await work.db.user.findFirst({ where: { organizationId, id: userId, isSystem: false } })
    : null;
  if (found === null) throw noSuchUser(userId);
  const objection = objectionTo(found);
  if (objection !== undefined) throw objection;
  requireMailServer(ctx.app, REMEDY);
  return transact(ctx, async (tx, emit) => {
    const user = await lockForReset(tx, found);
    await mailLink(tx, emit, ctx, viewer.organization, user);
    return user;
  });
}

/**
 * Creates a link with which a person can choose a new password, for the server's operator. Earlier links become invalid.
 *
 * @throws ForbiddenError for a bot.
 * @throws ConflictError if the user is deactivated.
 */
export async function createResetLink(
  scope: Scope,
  organization: Organization,
  user: User,
): Promise<{ readonly url: string; readonly expiresAt: Date }> {
  return transact(scope, async (tx, emit) => insertLink(tx, emit, scope, organization, await lockForReset(tx, user)));
}

/** Locks a user's row, and returns its current values. */
async function lockAndRead(tx: Tx, { organizationId, id }: User): Promise<User> {
  await lockUser(tx, { organizationId, id });
  return tx.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id } } });
}

/**
 * Locks a user's row, and returns its current values.
 *
 * @throws ForbiddenError for a bot.
 * @throws ConflictError if the user is deactivated.
 */
async function lockForReset(tx: Tx, found: User): Promise<User> {
  const user = await lockAndRead(tx, found);
  const objection = objectionTo(user);
  if (objection !== undefined) throw objection;
  return user;
}

/** Creates a link, and queues the email with it. The transaction must hold the lock of the user's row. */
async function mailLink(tx: Tx, emit: Emit, scope: Scope, organization: Organization, user: User): Promise<void> {
  const { url } = await insertLink(tx, emit, scope, organization, user);
  const place = oneLine(organization.name);
  await queueMail(tx, {
    organizationId: organization.id,
    to: user.email,
    subject: `Choose a new password for ${place}`,
    body: `Hello,

A new password was requested for your account in ${place}.
To choose it, follow this link within an hour:

${url}

If you did not request this, ignore this email. Your password then stays as it is.
`,
  });
}

/** Creates the link, which replaces an earlier one. The transaction must hold the lock of the user's row. */
async function insertLink(tx: Tx, emit: Emit, { app }: Scope, organization: Organization, user: User) {
  emit.audit({ action: 'password_reset_requested', objectType: 'user', objectId: user.id });
  const [token, createdAt] = [newLinkToken(), app.now()];
  const expiresAt = new Date(createdAt.getTime() + LINK_MS);
  const key = { organizationId: user.organizationId, userId: user.id };
  const data = { tokenHash: linkTokenHash(token), createdAt, expiresAt };
  await tx.passwordReset.upsert({
    where: { organizationId_userId: key },
    create: { ...key, ...data },
    update: data,
  });
  const url = `${urlOf(app.config, organization.subdomain)}${RESET_PATH}?token=${token}`;
  return { url, expiresAt };
}

/**
 * Replaces the password of the person to whom a link was sent. A link can be used once. Ends all sessions of the person, replaces
 * the API key, cancels a pending change of address, and notifies the person by email.
 *
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 * @throws NotFoundError if the link was used, was replaced by a newer one, has expired or is invalid.
 * @throws ValidationError if the password is too short, too long or too weak.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the person can no longer sign in.
 * @throws RateLimitHitError if too many passwords wait to be hashed.
 */
export async function resetPassword(
  { app, work, organization, caller, clientName }: RequestCtx,
  { token, newPassword }: { readonly token: string; readonly newPassword: string },
): Promise<void> {
  if (organization === null) throw new NonexistentSubdomainError();
  const organizationId = organization.id;
  const which = { organizationId, tokenHash: linkTokenHash(token), expiresAt: { gt: app.now() } };
  const found = await work.db.passwordReset.findFirst({ where: which, include: { user: true } });
  if (found === null) throw badLink();
  requireActive({ user: found.user, organization });
  await checkPassword(newPassword, { ...found.user, organization }, { parameter: 'new_password' });
  const passwordHash = await hashPassword(app.config, newPassword, caller);
  const scope = { app, work, organizationId, caller, clientName };
  await transact(scope, async (tx, emit) => {
    await lockUser(tx, found.user);
    // If two requests use the link at the same time, the second one finds that the row is already deleted.
    const { count } = await tx.passwordReset.deleteMany({ where: which });
    if (count === 0) throw badLink();
    const user = await tx.user.findUniqueOrThrow({
      where: { organizationId_id: { organizationId, id: found.userId } },
    });
    requireActive({ user, organization });
    await completeReset(tx, emit, scope, { organization, user, passwordHash });
  });
  await forgetFailures(app, organizationId, found.user.email);
}

const badLink = () =>
  new NotFoundError('The link was already used, was replaced by a newer one, has expired, or is incomplete.', {
    parameter: TOKEN,
  });
