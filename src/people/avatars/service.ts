import { type Ctx, chargedAccountOf } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { type PreparedImage, prepareAvatar } from '../../platform/images/prepare.ts';
import { deleteImage, storeImage } from '../../platform/images/store.ts';
import { MAX_FILE_SIZES_MIB } from '../../platform/limits.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { userAvatarChanged } from '../events.ts';
import { lockUser } from '../locks.ts';

/**
 * Reads an uploaded avatar, before the transaction that sets it.
 *
 * @param file PNG, JPEG, WebP or GIF, at most 5 MiB.
 * @throws BadRequestError if the file is larger.
 * @throws BadImageError if the file is not a readable image.
 */
export const readAvatar = ({ app, viewer }: Ctx, file: Uint8Array): Promise<PreparedImage> => {
  const account = chargedAccountOf(viewer);
  return runOutsideTransaction(app, 'avatar', () =>
    prepareAvatar(file, { account, limitMib: MAX_FILE_SIZES_MIB.avatar }),
  );
};

/**
 * Sets the viewer's avatar to an uploaded image, and notifies all users.
 *
 * @param file PNG, JPEG, WebP or GIF, at most 5 MiB.
 * @returns The viewer after the change.
 * @throws BadRequestError if only administrators can change avatars, or the file is too large.
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
 * @throws BadRequestError if only administrators can change avatars.
 */
export async function removeOwnAvatar(ctx: Ctx): Promise<User> {
  return changeOwn(ctx, (tx, emit) => removeAvatar(tx, emit, ctx.viewer.user));
}

/**
 * Changes the viewer's avatar after a new permission check. While the image was read, the viewer may have been
 * deactivated and their avatar erased.
 */
function changeOwn(ctx: Ctx, change: (tx: Tx, emit: Emit) => Promise<User>): Promise<User> {
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    requireChangeable(await asOfNow(tx, ctx));
    return change(tx, emit);
  });
}

function requireChangeable({ viewer }: Ctx): void {
  if (realmSetting(viewer.realm, 'avatar_changes_disabled') && !isAdministrator(viewer.role)) {
    throw new BadRequestError('Avatar changes are disabled in this organization.');
  }
}

/** Key of the user whose avatar is changed. */
type UserKey = Pick<User, 'realmId' | 'id'>;

/**
 * Sets a user's avatar to an image, within a transaction. Deletes the previous image and notifies all users.
 *
 * @returns The user after the change.
 */
export function setAvatar(tx: Tx, emit: Emit, user: UserKey, image: PreparedImage): Promise<User> {
  return replaceAvatar(tx, emit, user, async ({ realmId }) => ({
    avatarSource: 'U',
    avatarImageId: await storeImage(tx, realmId, image),
  }));
}

/**
 * Sets a user's avatar to the organization's default, within a transaction. Notifies all users if the avatar changed.
 *
 * @returns The user after the change.
 */
export function removeAvatar(tx: Tx, emit: Emit, user: UserKey): Promise<User> {
  return replaceAvatar(tx, emit, user, async ({ realmId, avatarSource }) => {
    const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
    const source = realmSetting(realm, 'default_avatar_source');
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

/** Replaces a user's avatar. @param make Returns the new image. Undefined: the user keeps the current one. */
async function replaceAvatar(
  tx: Tx,
  emit: Emit,
  { realmId, id }: UserKey,
  make: (user: User) => Promise<Pick<User, 'avatarSource' | 'avatarImageId'> | undefined>,
): Promise<User> {
  await lockUser(tx, { realmId, id });
  const before = await tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId, id } } });
  const made = await make(before);
  if (made === undefined) return before;
  const data = { ...made, avatarVersion: before.avatarVersion + 1 };
  const after = await tx.user.update({ where: { realmId_id: { realmId, id } }, data });
  if (before.avatarImageId !== null) await deleteImage(tx, before.realmId, before.avatarImageId);
  emit(userAvatarChanged(before, after), everyone());
  return after;
}
