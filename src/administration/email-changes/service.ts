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
import { refusingTakenAddress } from '../users/new-user.ts';
import { changeAddress } from './address-change.ts';
import { countAttempt } from './limits.ts';

/** Our choice: how long a link is good. */
const LINK_MS = 86_400_000;
/** Of the page that a link leads to. */
export const CONFIRMATION_PATH = '/confirm-email';

/** An address the viewer may have, once they have shown that its mail reaches them. */
export interface WantedAddress {
  readonly newEmail: string;
  /** 256 random bits, as base64url: in the mail alone, and as a hash in the database. */
  readonly token: string;
  /** Whether somebody has it who hides it from the viewer: it is for them alone to be told. */
  readonly isTaken: boolean;
}

/**
 * Checks the address the viewer wants. One that somebody hides from them is as good as free: what is in the mail to it tells
 * whoever reads it, and nobody else.
 *
 * @returns Undefined when they have it.
 * @throws BadRequestError when the organisation lets only administrators change theirs, or does not take this one, or
 *   somebody has it whose address the viewer may see.
 * @throws RateLimitHitError after 2 attempts within an hour, or 5 within a day.
 */
export async function requireWantedAddress(ctx: Ctx, email: string): Promise<WantedAddress | undefined> {
  const { app, realmId, viewer } = ctx;
  const newEmail = requireAddress(email);
  if (newEmail === viewer.user.email) return undefined;
  requireMayChange(viewer.realm, viewer);
  await requireAllowedAddress(app.db, viewer.realm, newEmail);
  // Before it is told who has which address.
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
 * Sends the link to the new address, inside a change that holds the viewer's row; or, when the address is somebody's, a
 * mail without one. Links sent before are void.
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
  if (isTaken) {
    const body = `Hello,

${fullName} wants to use this e-mail address in ${name}, where it is yours already. Nothing has changed.
`;
    return queueMail(tx, { realmId, to: newEmail, subject: `Your e-mail address for ${name}`, body });
  }
  return queueMail(tx, {
    realmId,
    to: newEmail,
    subject: `Confirm your new e-mail address for ${name}`,
    body: `Hello,

${fullName} wants to use this e-mail address in ${name}, instead of ${viewer.user.email}.
If that is you, follow this link within a day:

${urlOf(app.config, subdomain)}${CONFIRMATION_PATH}?token=${token}

If it is not, do nothing: the address is then not used.
`,
  });
}

/**
 * Gives a user the address whose mail has reached them. A link is good once, and while the address is free. The address
 * they had so far is written to.
 *
 * @param token From the link.
 * @returns The user as they are after it.
 * @throws NonexistentSubdomainError at the server's own domain, when it has no organisation.
 * @throws BadRequestError when the link was used, is too old or none at all, or the address is taken, or not allowed any
 *   more.
 * @throws RealmDeactivatedError, UserDeactivatedError when the user may not sign in any more.
 */
export async function confirmEmailChange({ app, realm }: RequestCtx, token: string): Promise<User> {
  if (realm === null) throw new NonexistentSubdomainError();
  return refusingTakenAddress(() =>
    transact({ app, realmId: realm.id }, async (tx, emit) => {
      const change = { realmId: realm.id, tokenHash: hashOf(token), expiresAt: { gt: app.now() } };
      const found = await tx.emailChange.findFirst({ where: change });
      if (found === null) throw badLink();
      await lockUser(tx, { realmId: realm.id, id: found.userId });
      // Of two who follow it at once, the second one finds it gone here.
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
  const place = oneLine(realm.name);
  await queueMail(tx, {
    realmId: realm.id,
    to: user.email,
    subject: `Your e-mail address for ${place} has changed`,
    body: `Hello,

your e-mail address in ${place} is ${newEmail} from now on.
If you did not want that, tell the administrators of ${place}.
`,
  });
  return after;
}

const badLink = () => new BadRequestError('The link was used already, is too old, or was not copied as a whole.');
const hashOf = (token: string) => new Uint8Array(createHash('sha256').update(token).digest());
