import type { Ctx } from '../../access/context.ts';
import { readsAsAdministrator, requireAdministrator } from '../../access/roles.ts';
import { asOfNow, requireLiveCredential } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { LinkedIdentity, User } from '../../generated/prisma/client.ts';
import { lockOrganization, lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { isOwner, OWNER } from '../../platform/roles.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { requireProof } from '../sign-in/proof.ts';
import { emitIdentitiesChanged } from './events.ts';

/** An identity with which a user can sign in, and the provider that confirms it. */
export interface ShownIdentity extends Pick<LinkedIdentity, 'issuer' | 'createdAt'> {
  /** Name of the provider. Null if the organization has no enabled provider with the issuer. */
  readonly providerName: string | null;
}

/**
 * Returns the identities that are linked to a user, oldest first.
 *
 * @returns Empty if the user does not exist, or is another user whose identities the viewer cannot unlink. A limited API key
 *   needs the scope `administration` for other users.
 */
export async function listIdentities(ctx: Ctx, userId: number): Promise<ShownIdentity[]> {
  const { work, organizationId, viewer } = ctx;
  if (userId === viewer.id) return identitiesOf(work.db, viewer.user);
  if (!readsAsAdministrator(ctx) || !isRowId(userId)) return [];
  const user = await work.db.user.findFirst({ where: { organizationId, id: userId } });
  if (user === null || (isOwner(user.role) && !isOwner(viewer.role))) return [];
  return identitiesOf(work.db, user);
}

async function identitiesOf(
  db: Pick<Tx, 'linkedIdentity' | 'identityProvider'>,
  { organizationId, id: userId }: Pick<User, 'organizationId' | 'id'>,
): Promise<ShownIdentity[]> {
  const where = { organizationId, userId };
  const identities = await db.linkedIdentity.findMany({ where, orderBy: [{ createdAt: 'asc' }, { issuer: 'asc' }] });
  if (identities.length === 0) return [];
  const providers = await db.identityProvider.findMany({
    where: { organizationId, isEnabled: true },
    orderBy: { id: 'asc' },
  });
  return identities.map(({ issuer, createdAt }) => {
    const providerName = providers.find((provider) => provider.issuer === issuer)?.name ?? null;
    return { issuer, createdAt, providerName };
  });
}

/**
 * Unlinks an identity from a user. Sessions that began with it continue. If the provider confirms the user's address again, the
 * next sign-in with the provider links the identity again. The user is notified by email.
 *
 * @param given User and issuer of the identity. Without a user, it is an identity of the viewer.
 * @returns The user.
 * @throws UnauthorizedPrincipalError for another user, unless the viewer is an administrator, and an owner if the user is one.
 * @throws NotFoundError if there is no such user, or the user has no identity of the issuer.
 * @throws ConflictError if the viewer has no other way to sign in: no password, no other identity, and no passkey with which they
 *   have signed in alone.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 * @throws UnauthorizedError, InvalidApiKeyError if the viewer's session or key has ended in the meantime.
 */
export async function unlinkIdentity(
  ctx: Ctx,
  { userId = ctx.viewer.id, issuer }: { readonly userId?: number | undefined; readonly issuer: string },
  currentPassword?: string,
): Promise<User> {
  const isOwn = userId === ctx.viewer.id;
  if (!isOwn) requireAdministrator(ctx);
  await requireProof(ctx, currentPassword);
  const { organizationId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    await lockUser(tx, ctx.viewer.user);
    await requireLiveCredential(tx, ctx);
    const now = await asOfNow(tx, ctx);
    const user = await accessPerson(tx, now, userId);
    const identities = await identitiesOf(tx, user);
    const identity = identities.find((one) => one.issuer === issuer);
    if (identity === undefined) throw new NotFoundError('No such identity', { parameter: 'issuer' });
    const others = identities.filter((one) => one !== identity && one.providerName !== null);
    if (isOwn && user.passwordHash === null && others.length === 0 && !(await hasPasskeyAlone(tx, user))) {
      const message = 'This is your only way to sign in. Set a password, or add a passkey that verifies you, first.';
      throw new ConflictError(message, { parameter: 'issuer' });
    }
    await deleteIdentity(tx, emit, user, issuer);
    const name = oneLine(identity.providerName ?? issuer);
    await queueSecurityMail(tx, now.viewer.organization, user, {
      subject: 'A linked identity',
      happened: `${isOwn ? 'you' : 'an administrator'} unlinked your account from ${name}.`,
      isByAdministrator: !isOwn,
    });
    return user;
  });
}

/** Returns whether a user has a passkey with which they have signed in alone. Other passkeys may only be second factors. */
const hasPasskeyAlone = async (tx: Tx, { organizationId, id: userId }: User): Promise<boolean> =>
  (await tx.passkey.count({ where: { organizationId, userId, signsInAlone: true } })) > 0;

/** Finds a person whose identities the viewer can unlink. @throws NotFoundError, UnauthorizedPrincipalError */
async function accessPerson(tx: Tx, ctx: Ctx, userId: number): Promise<User> {
  const { organizationId, viewer } = ctx;
  if (userId !== viewer.id) requireAdministrator(ctx);
  const where = { organizationId, id: userId, botType: null, isSystem: false };
  const user = isRowId(userId) ? await tx.user.findFirst({ where }) : null;
  if (user === null) throw new NotFoundError('No such user', { type: 'User', id: userId, parameter: 'user_id' });
  if (isOwner(user.role) && !isOwner(viewer.role)) throw new UnauthorizedPrincipalError(OWNER);
  return user;
}

async function deleteIdentity(tx: Tx, emit: Emit, { organizationId, id: userId }: User, issuer: string): Promise<void> {
  await tx.linkedIdentity.deleteMany({ where: { organizationId, userId, issuer } });
  emitIdentitiesChanged(emit, userId);
  emit.audit({
    ...{ action: 'identity_unlinked', objectType: 'user', objectId: userId },
    changes: { issuer: { old: issuer } },
  });
}
