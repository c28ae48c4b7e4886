import type { Ctx } from '../../access/context.ts';
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
 * Reads an uploaded avatar, before the change that sets it.
 *
 * @param file PNG, JPEG, WebP or GIF, of 5 MiB at most.
 * @throws BadRequestError when the file is larger.
 * @throws BadImageError when it is no image that can be read.
 */
export const readAvatar = ({ app }: Pick<Ctx, 'app'>, file: Uint8Array): Promise<PreparedImage> =>
  runOutsideTransaction(app, 'avatar', () => prepareAvatar(file, MAX_FILE_SIZES_MIB.avatar));

/**
 * Makes an uploaded image the viewer's avatar, and tells everybody.
 *
 * @param file PNG, JPEG, WebP or GIF, of 5 MiB at most.
 * @returns The viewer as they are after it.
 * @throws BadRequestError when only administrators may change avatars, or the file is too large.
 * @throws BadImageError when it is no image that can be read.
 */
export async function uploadOwnAvatar(ctx: Ctx, file: Uint8Array): Promise<User> {
  requireChangeable(ctx);
  const image = await readAvatar(ctx, file);
  return changeOwn(ctx, (tx, emit) => setAvatar(tx, emit, ctx.viewer.user, image));
}

/**
 * Takes the viewer's avatar away: they have the organisation's default again. Who has it already keeps it.
 *
 * @returns The viewer as they are after it.
 * @throws BadRequestError when only administrators may change avatars.
 */
export async function removeOwnAvatar(ctx: Ctx): Promise<User> {
  return changeOwn(ctx, (tx, emit) => removeAvatar(tx, emit, ctx.viewer.user));
}

/** An image takes its time to be read: somebody may have deactivated the viewer, and erased their avatar, meanwhile. */
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

/** Whose avatar. */
type UserKey = Pick<User, 'realmId' | 'id'>;

/**
 * Makes an image a user's avatar, inside a change, and tells everybody. The one before it is deleted.
 *
 * @returns The user as they are after it.
 */
export function setAvatar(tx: Tx, emit: Emit, user: UserKey, image: PreparedImage): Promise<User> {
  return replaceAvatar(tx, emit, user, async ({ realmId }) => ({
    avatarSource: 'U',
    avatarImageId: await storeImage(tx, realmId, image),
  }));
}

/**
 * Gives a user the organisation's default avatar, inside a change, and tells everybody when they had another.
 *
 * @returns The user as they are after it.
 */
export function removeAvatar(tx: Tx, emit: Emit, user: UserKey): Promise<User> {
  return replaceAvatar(tx, emit, user, async ({ realmId, avatarSource }) => {
    const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
    const source = realmSetting(realm, 'default_avatar_source');
    return source === avatarSource ? undefined : { avatarSource: source, avatarImageId: null };
  });
}

/**
 * Gives a user an avatar that says nothing of them, inside a change, and tells everybody: the organisation's default may
 * be worked out from their address.
 *
 * @returns The user as they are after it.
 */
export function eraseAvatar(tx: Tx, emit: Emit, user: UserKey): Promise<User> {
  return replaceAvatar(tx, emit, user, async () => ({ avatarSource: 'J', avatarImageId: null }));
}

/** @param make The picture in place of the user's; undefined when they keep what they have. */
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
