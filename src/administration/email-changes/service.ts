import { requireAddress } from '../../access/address.ts';
import type { Ctx, RequestCtx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { requireActive } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import { findUserByEmail } from '../../people/users.ts';
import { visibleEmail } from '../../people/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ForbiddenError, NonexistentSubdomainError, NotFoundError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { oneLine, queueMail } from '../../platform/mail/outbox.ts';
import { ADMINISTRATOR, isAdministrator } from '../../platform/roles.ts';
import { requireAllowedAddress } from '../domains/service.ts';
import { linkTokenHash, newLinkToken } from '../link-tokens.ts';
import { refusingTakenAddress } from '../new-user.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { changeAddress, notifyOldAddress } from './address-change.ts';
import { countAttempt } from './limits.ts';

/** Lifetime of a confirmation link, in milliseconds: one day. */
const LINK_MS = 86_400_000;
/** Path of the page to which a confirmation link leads. */
export const CONFIRMATION_PATH = '/confirm-email';
/** Name of the parameter that contains the token of a confirmation link. */
const TOKEN = 'token';

/**
 * An email address that the viewer has requested. The viewer must confirm the address by the link in an email to this address.
 */
export interface WantedAddress {
  readonly newEmail: string;
  /** Token in the link. The email contains the token; the database stores only a hash. */
  readonly token: string;
  /**
   * Whether another user has this address and hides it from the viewer. In this case the viewer receives no error, because an
   * error would reveal the address. Only the other user is notified.
   */
  readonly isTaken: boolean;
}

/**
 * Checks the new email address that the viewer requests. An address that another user hides from the viewer is treated as
 * unused. Only an email to this address states that it is in use.
 *
 * @returns Undefined if the viewer already has the address.
 * @throws ForbiddenError if only administrators can change addresses.
 * @throws ValidationError if the address is malformed, or the organization does not accept it.
 * @throws ConflictError if the address belongs to a user whose address the viewer can see.
 * @throws RateLimitHitError after 2 attempts within an hour, or 5 within a day.
 */
export async function requireWantedAddress(ctx: Ctx, email: string): Promise<WantedAddress | undefined> {
  const { app, work, organizationId, viewer } = ctx;
  const newEmail = requireAddress(email);
  if (newEmail === viewer.user.email) return undefined;
  requireMayChange(viewer.organization, viewer, 'email');
  await requireAllowedAddress(work.db, viewer.organization, newEmail);
  // The attempt is counted before the next check, because that check reveals whether an email address is in use.
  await countAttempt(app, { organizationId, userId: viewer.id });
  const holder = await findUserByEmail(work.db, organizationId, newEmail);
  const isTaken = holder !== null && holder.id !== viewer.id;
  if (isTaken && visibleEmail(holder, viewer) !== null) {
    throw new ConflictError('Email is already in use.', { parameter: 'email' });
  }
  return { newEmail, token: newLinkToken(), isTaken };
}

function requireMayChange(organization: Organization, { role }: Pick<User, 'role'>, parameter: string): void {
  if (organizationSetting(organization, 'email_changes_disabled') && !isAdministrator(role)) {
    throw new ForbiddenError('Email address changes are disabled in this organization.', {
      role: ADMINISTRATOR,
      parameter,
    });
  }
}

/**
 * Sends an email with the confirmation link to the new address, or an email without a link if another user has the address.
 * Earlier links become invalid. The transaction must hold the lock of the viewer's row.
 */
export async function sendConfirmation(tx: Tx, ctx: Ctx, { newEmail, token, isTaken }: WantedAddress): Promise<void> {
  const { app, organizationId, viewer } = ctx;
  const now = app.now();
  await tx.emailChange.deleteMany({ where: { organizationId: viewer.organization.id, userId: viewer.id } });
  const expiresAt = new Date(now.getTime() + LINK_MS);
  await tx.emailChange.create({
    data: { organizationId, userId: viewer.id, newEmail, tokenHash: linkTokenHash(token), createdAt: now, expiresAt },
  });
  const { subdomain } = viewer.organization;
  const [name, fullName] = [viewer.organization.name, viewer.user.fullName].map(oneLine);
  await queueSecurityMail(tx, viewer.organization, viewer.user, {
    subject: 'A new email address',
    happened:
      `a change of your email address to ${newEmail} was requested. It takes effect when the new address is ` +
      'confirmed.',
  });
  if (isTaken) {
    const body = `Hello,

${fullName} requested to use this email address in ${name}, where you already use it. Nothing has changed.
`;
    return queueMail(tx, { organizationId, to: newEmail, subject: `Your email address for ${name}`, body });
  }
  return queueMail(tx, {
    organizationId,
    to: newEmail,
    subject: `Confirm your new email address for ${name}`,
    body: `Hello,

${fullName} requested to use this email address in ${name}, instead of ${viewer.user.email}.
If you requested this, follow this link within a day:

${urlOf(app.config, subdomain)}${CONFIRMATION_PATH}?token=${token}

If you did not request this, ignore this email. The address is then not used.
`,
  });
}

/**
 * Changes a user's email address to the address to which a confirmation link was sent. A link can be used once, and only if no
 * other user has the address. Sends the user an email to the previous address.
 *
 * @param token Token in the link.
 * @returns The user after the change.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 * @throws NotFoundError if the link was used, has expired or is invalid.
 * @throws ConflictError if the address is in use.
 * @throws ValidationError if the organization no longer accepts the address.
 * @throws ForbiddenError if only administrators can change addresses.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the user can no longer sign in.
 */
export async function confirmEmailChange(
  { app, work, organization, caller, clientName }: RequestCtx,
  token: string,
): Promise<User> {
  if (organization === null) throw new NonexistentSubdomainError();
  const confirm = () =>
    transact({ work, organizationId: organization.id, caller, clientName }, async (tx, emit) => {
      const change = { organizationId: organization.id, tokenHash: linkTokenHash(token), expiresAt: { gt: app.now() } };
      const found = await tx.emailChange.findFirst({ where: change });
      if (found === null) throw badLink();
      await lockUser(tx, { organizationId: organization.id, id: found.userId });
      // If two requests use the link at the same time, the second one finds that the pending change is already deleted.
      const { count } = await tx.emailChange.deleteMany({ where: { organizationId: organization.id, id: found.id } });
      if (count === 0) throw badLink();
      const user = await tx.user.findUniqueOrThrow({
        where: { organizationId_id: { organizationId: organization.id, id: found.userId } },
      });
      requireActive({ user, organization });
      return useAddress(tx, emit, { organization, user, newEmail: found.newEmail });
    });
  return refusingTakenAddress(confirm, TOKEN);
}

async function useAddress(
  tx: Tx,
  emit: Emit,
  { organization, user, newEmail }: { organization: Organization; user: User; newEmail: string },
): Promise<User> {
  requireMayChange(organization, user, TOKEN);
  await requireAllowedAddress(tx, organization, newEmail, TOKEN);
  const after = await changeAddress(tx, emit, user, newEmail);
  await notifyOldAddress(tx, organization, user, newEmail);
  return after;
}

const badLink = () =>
  new NotFoundError('The link was already used, has expired, or is incomplete.', { parameter: TOKEN });
