import { type Ctx, chargedAccountOf } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { requireHarmlessImage } from '../../access/scanned-uploads.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import { type PreparedImage, prepareAvatar } from '../../platform/images/prepare.ts';
import { deleteImage, storeImage } from '../../platform/images/store.ts';
import { MAX_FILE_SIZES_MIB } from '../../platform/limits.ts';
import { ADMINISTRATOR, isAdministrator } from '../../platform/roles.ts';
import { userAvatarChanged } from '../events.ts';
import { lockUser } from '../locks.ts';

/**
 * Decodes an uploaded avatar. Must run before the transaction that sets the avatar, because decoding is slow.
 *
 * @param file PNG, JPEG, WebP or GIF, at most 5 MiB.
 * @throws ValidationError if the file is larger.
 * @throws InfectedFileError if the virus scanner finds malware in it.
 * @throws BadImageError if the file is not a readable image.
 */
export const readAvatar = (ctx: Ctx, file: Uint8Array): Promise<PreparedImage> => {
  const account = chargedAccountOf(ctx.viewer);
  return runOutsideTransaction(ctx.work, 'avatar', async () => {
    await requireHarmlessImage(ctx, file);
    return prepareAvatar(file, { account, limitMib: MAX_FILE_SIZES_MIB.avatar });
  });
};

/**
 * Sets the viewer's avatar to an uploaded image, and notifies all users.
 *
 * @param file PNG, JPEG, WebP or GIF, at most 5 MiB.
 * @returns The viewer after the change.
 * @throws ForbiddenError if only administrators can change avatars.
 * @throws ValidationError if the file is too large.
 * @throws BadImageError if the file is not a readable image.
 */
export async function uploadOwnAvatar(ctx: Ctx, file: Uint8Array): Promise<User> {
  requireChangeable(ctx);
  const image = await readAvatar(ctx, file);
  return changeOwn(ctx, (tx, emit) => setAvatar(tx, emit, ctx.viewer.user, image));
}

/**
 * Replaces the viewer's avatar with the organization's default. No effect if the viewer already has it.
 *
 * @returns The viewer after the change.
 * @throws ForbiddenError if only administrators can change avatars.
 */
export async function removeOwnAvatar(ctx: Ctx): Promise<User> {
  return changeOwn(ctx, (tx, emit) => removeAvatar(tx, emit, ctx.viewer.user));
}

/**
 * Checks the viewer's permission again, then changes the avatar. While the image was decoded, another request can have
 * deactivated the viewer and erased the avatar.
 */
function changeOwn(ctx: Ctx, change: (tx: Tx, emit: Emit) => Promise<User>): Promise<User> {
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    requireChangeable(await asOfNow(tx, ctx));
    return change(tx, emit);
  });
}

function requireChangeable({ viewer }: Ctx): void {
  if (organizationSetting(viewer.organization, 'avatar_changes_disabled') && !isAdministrator(viewer.role)) {
    throw new ForbiddenError('Avatar changes are disabled in this organization.', { role: ADMINISTRATOR });
  }
}

type UserKey = Pick<User, 'organizationId' | 'id'>;

/**
 * Sets a user's avatar to an image, within a transaction. Deletes the previous image and notifies all users.
 *
 * @returns The user after the change.
 */
export function setAvatar(tx: Tx, emit: Emit, user: UserKey, image: PreparedImage): Promise<User> {
  return replaceAvatar(tx, emit, user, async ({ organizationId }) => ({
    avatarSource: 'U',
    avatarImageId: await storeImage(tx, organizationId, image),
  }));
}

/**
 * Sets a user's avatar to the organization's default, within a transaction. Notifies all users if the avatar changed.
 *
 * @returns The user after the change.
 */
export function removeAvatar(tx: Tx, emit: Emit, user: UserKey): Promise<User> {
  return replaceAvatar(tx, emit, user, async ({ organizationId, avatarSource }) => {
    const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
    const source = organizationSetting(organization, 'default_avatar_source');
    return source === avatarSource ? undefined : { avatarSource: source, avatarImageId: null };
  });
}

/**
 * Replaces a user's avatar with a neutral image, within a transaction, and notifies all users. The organization's default
 * avatar is not used, because it may be derived from the user's email address.
 *
 * @returns The user after the change.
 */
export function eraseAvatar(tx: Tx, emit: Emit, user: UserKey): Promise<User> {
  return replaceAvatar(tx, emit, user, async () => ({ avatarSource: 'J', avatarImageId: null }));
}

/** Replaces a user's avatar. @param make Returns the new columns, or undefined if the user keeps the current avatar. */
async function replaceAvatar(
  tx: Tx,
  emit: Emit,
  { organizationId, id }: UserKey,
  make: (user: User) => Promise<Pick<User, 'avatarSource' | 'avatarImageId'> | undefined>,
): Promise<User> {
  await lockUser(tx, { organizationId, id });
  const before = await tx.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id } } });
  const made = await make(before);
  if (made === undefined) return before;
  const data = { ...made, avatarVersion: before.avatarVersion + 1 };
  const after = await tx.user.update({ where: { organizationId_id: { organizationId, id } }, data });
  if (before.avatarImageId !== null) await deleteImage(tx, before.organizationId, before.avatarImageId);
  emit(userAvatarChanged(before, after), everyone());
  return after;
}
