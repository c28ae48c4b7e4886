import { createHash, randomBytes } from 'node:crypto';
import { requireAddress } from '../../access/address.ts';
import type { Ctx, RequestCtx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { requireActive } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import { findUserByEmail } from '../../people/users.ts';
import { visibleEmail } from '../../people/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, NonexistentSubdomainError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { oneLine, queueMail } from '../../platform/mail/outbox.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { requireAllowedAddress } from '../domains/service.ts';
import { refusingTakenAddress } from '../new-user.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { changeAddress, notifyOldAddress } from './address-change.ts';
import { countAttempt } from './limits.ts';

/** Lifetime of a confirmation link, in milliseconds: one day. */
const LINK_MS = 86_400_000;
/** Path of the page to which a confirmation link leads. */
export const CONFIRMATION_PATH = '/confirm-email';

/** An email address that the viewer has requested, and must confirm by a link in an email that is sent to it. */
export interface WantedAddress {
  readonly newEmail: string;
  /** Token in the link: 256 random bits as base64url. The email contains the token; the database stores only a hash. */
  readonly token: string;
  /**
   * Whether another user has this address and hides it from the viewer. The viewer must not learn this: only the other user is
   * notified.
   */
  readonly isTaken: boolean;
}

/**
 * Checks the email address that the viewer requests. An address that another user hides from the viewer is treated as unused.
 * Only the email to this address says that it is in use.
 *
 * @returns Undefined if the viewer already has the address.
 * @throws BadRequestError if only administrators can change addresses, or the organization does not accept the address.
 * @throws BadRequestError if the address belongs to a user whose address the viewer can see.
 * @throws RateLimitHitError after 2 attempts within an hour, or 5 within a day.
 */
export async function requireWantedAddress(ctx: Ctx, email: string): Promise<WantedAddress | undefined> {
  const { app, realmId, viewer } = ctx;
  const newEmail = requireAddress(email);
  if (newEmail === viewer.user.email) return undefined;
  requireMayChange(viewer.realm, viewer);
  await requireAllowedAddress(app.db, viewer.realm, newEmail);
  // The attempt is counted before the next check, because that check reveals whether an email address is in use.
  await countAttempt(app, viewer.id);
  const holder = await findUserByEmail(app.db, realmId, newEmail);
  const isTaken = holder !== null && holder.id !== viewer.id;
  if (isTaken && visibleEmail(holder, viewer) !== null) throw new BadRequestError('Email is already in use.');
  return { newEmail, token: randomBytes(32).toString('base64url'), isTaken };
}

function requireMayChange(realm: Realm, { role }: Pick<User, 'role'>): void {
  if (realmSetting(realm, 'email_changes_disabled') && !isAdministrator(role)) {
    throw new BadRequestError('Email address changes are disabled in this organization.');
  }
}

/**
 * Sends an email with the confirmation link to the new address, or an email without a link if another user has the address.
 * Earlier links become invalid. The transaction must hold the lock of the viewer's row.
 */
export async function sendConfirmation(tx: Tx, ctx: Ctx, { newEmail, token, isTaken }: WantedAddress): Promise<void> {
  const { app, realmId, viewer } = ctx;
  const now = app.now();
  await tx.emailChange.deleteMany({ where: { realmId: viewer.realm.id, userId: viewer.id } });
  const expiresAt = new Date(now.getTime() + LINK_MS);
  await tx.emailChange.create({
    data: { realmId, userId: viewer.id, newEmail, tokenHash: hashOf(token), createdAt: now, expiresAt },
  });
  const { subdomain } = viewer.realm;
  const [name, fullName] = [viewer.realm.name, viewer.user.fullName].map(oneLine);
  await queueSecurityMail(tx, viewer.realm, viewer.user, {
    subject: 'A new email address',
    happened:
      `a change of your email address to ${newEmail} was requested. It takes effect when the new address is ` +
      'confirmed.',
  });
  if (isTaken) {
    const body = `Hello,

${fullName} requested to use this email address in ${name}, where you already use it. Nothing has changed.
`;
    return queueMail(tx, { realmId, to: newEmail, subject: `Your email address for ${name}`, body });
  }
  return queueMail(tx, {
    realmId,
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
 * Changes a user's email address to the one that a confirmation link was sent to. A link can be used once, while no other user
 * has the address. Notifies the user at the previous address.
 *
 * @param token Token in the link.
 * @returns The user after the change.
 * @throws NonexistentSubdomainError at the server's own domain, if it has no organization.
 * @throws BadRequestError if the link was used, has expired or is invalid.
 * @throws BadRequestError if the address is in use or no longer allowed.
 * @throws RealmDeactivatedError, UserDeactivatedError if the user can no longer sign in.
 */
export async function confirmEmailChange({ app, realm }: RequestCtx, token: string): Promise<User> {
  if (realm === null) throw new NonexistentSubdomainError();
  return refusingTakenAddress(() =>
    transact({ app, realmId: realm.id }, async (tx, emit) => {
      const change = { realmId: realm.id, tokenHash: hashOf(token), expiresAt: { gt: app.now() } };
      const found = await tx.emailChange.findFirst({ where: change });
      if (found === null) throw badLink();
      await lockUser(tx, { realmId: realm.id, id: found.userId });
      // If two requests follow the link at the same time, the second one finds it deleted here.
      const { count } = await tx.emailChange.deleteMany({ where: { realmId: realm.id, id: found.id } });
      if (count === 0) throw badLink();
      const user = await tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId: realm.id, id: found.userId } } });
      requireActive({ user, realm });
      return useAddress(tx, emit, { realm, user, newEmail: found.newEmail });
    }),
  );
}

async function useAddress(
  tx: Tx,
  emit: Emit,
  { realm, user, newEmail }: { realm: Realm; user: User; newEmail: string },
): Promise<User> {
  requireMayChange(realm, user);
  await requireAllowedAddress(tx, realm, newEmail);
  const after = await changeAddress(tx, emit, user, newEmail);
  await notifyOldAddress(tx, realm, user, newEmail);
  return after;
}

const badLink = () => new BadRequestError('The link was already used, has expired, or is incomplete.');
const hashOf = (token: string) => new Uint8Array(createHash('sha256').update(token).digest());
