import type { Ctx } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import {
  type ChannelActor,
  channelActor,
  insufficientPermission,
  mayInRealm,
} from '../../access/permissions/require.ts';
import { requireMember } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { CustomEmoji, Prisma } from '../../generated/prisma/client.ts';
import { CUSTOM_EMOJI_NAME, EXTRA_EMOJI, emojiNamed } from '../../markdown/emoji.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { BadRequestError, NotFoundError } from '../../platform/errors.ts';
import { prepareEmoji } from '../../platform/images/prepare.ts';
import { storeImage } from '../../platform/images/store.ts';
import { MAX_FILE_SIZES_MIB } from '../../platform/limits.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { requireWithin } from '../../platform/totals.ts';
import { lockRealm } from '../locks.ts';
import { customEmojiAdded, customEmojiChanged, customEmojiDeactivated } from './events.ts';

/** Our choice: longer than any name people write between colons. */
const MAX_NAME_LENGTH = 100;

/** The emoji `viewer` may see: all of the organisation's, with those deactivated. */
export const visibleTo = ({ viewer }: Ctx): Prisma.CustomEmojiWhereInput => ({ realmId: viewer.realm.id });

/** The organisation's own emoji in the order in which they were added, those deactivated included. */
export const listCustomEmoji = (ctx: Ctx): Promise<CustomEmoji[]> =>
  ctx.app.db.customEmoji.findMany({ where: visibleTo(ctx), orderBy: { id: 'asc' } });

/**
 * Adds an emoji to the organisation's own, and tells everybody.
 *
 * @param input `name`: lower-case letters, digits, dashes and underscores; spaces become underscores. `file`: PNG, JPEG,
 *   WebP or GIF, of 5 MiB at most; shown at 64 by 64 pixels, animated if it is.
 * @throws UnauthorizedPrincipalError when the viewer is a guest.
 * @throws BadRequestError when the viewer may not add emoji, or the name is not taken: it is none, an active emoji has
 *   it, or a built-in one, which only administrators may hide; or when the file is too large.
 * @throws BadImageError when the file is no image that can be read.
 * @throws TotalReachedError when there would be more than 5,000, or more than 500 of a viewer who is no administrator.
 */
export async function addCustomEmoji(
  ctx: Ctx,
  { name: given, file }: { name: string; file: Uint8Array },
): Promise<CustomEmoji> {
  const { app, realmId, viewer } = ctx;
  requireMember(ctx);
  const name = requireName(given);
  await requirePermission(app.db, ctx, name);
  const image = await runOutsideTransaction(app, 'emoji', () => prepareEmoji(file, MAX_FILE_SIZES_MIB.emoji));
  return refusingTakenName(() =>
    transact(ctx, async (tx, emit) => {
      // So that the map each event holds has what the one before it had.
      await lockRealm(tx, realmId);
      // The image took its time to be read.
      const now = await asOfNow(tx, ctx);
      requireMember(now);
      await requirePermission(tx, now, name);
      const imageId = await storeImage(tx, realmId, image);
      const row = { realmId, name, authorId: viewer.id, imageId, isAnimated: image.reduced !== null };
      const added = await tx.customEmoji.create({ data: { ...row, createdAt: app.now() } });
      const all = await everyEmoji(tx, realmId);
      requireWithin('custom_emoji', all.length);
      if (!isAdministrator(now.viewer.role)) {
        requireWithin('custom_emoji_per_user', all.filter(({ authorId }) => authorId === viewer.id).length);
      }
      emit(customEmojiAdded(added), everyone());
      emit(customEmojiChanged(all), everyone());
      return added;
    }),
  );
}

/**
 * Takes an emoji out of use, and tells everybody. Where it stands already it is still shown, and its name is free.
 *
 * @returns The emoji as it is after it.
 * @throws NotFoundError when there is no active emoji of the name.
 * @throws BadRequestError unless the viewer added it, or is an administrator.
 */
export async function deactivateCustomEmoji(ctx: Ctx, name: string): Promise<CustomEmoji> {
  const { app, realmId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, realmId);
    const found = CUSTOM_EMOJI_NAME.test(name)
      ? await tx.customEmoji.findFirst({ where: { realmId, name, deactivatedAt: null } })
      : null;
    if (found === null) throw new NotFoundError(`Emoji '${name}' does not exist`);
    const { viewer } = await asOfNow(tx, ctx);
    if (found.authorId !== viewer.id && !isAdministrator(viewer.role)) {
      throw new BadRequestError('Must be an organization administrator or emoji author');
    }
    const deactivated = await tx.customEmoji.update({
      where: { realmId_id: { realmId: found.realmId, id: found.id } },
      data: { deactivatedAt: app.now() },
    });
    emit(customEmojiDeactivated(deactivated), everyone());
    emit(customEmojiChanged(await everyEmoji(tx, realmId)), everyone());
    return deactivated;
  });
}

const everyEmoji = (tx: Tx, realmId: number): Promise<CustomEmoji[]> =>
  tx.customEmoji.findMany({ where: { realmId }, orderBy: { id: 'asc' } });

function requireName(given: string): string {
  const name = given.trim().replaceAll(' ', '_');
  if (!/^[0-9a-z_-]+$/.test(name)) {
    throw new BadRequestError(
      'Emoji names must contain only lowercase English letters, digits, spaces, dashes, and underscores.',
    );
  }
  if (!CUSTOM_EMOJI_NAME.test(name)) {
    throw new BadRequestError('Emoji names must end with either a letter or digit.');
  }
  if (name.length > MAX_NAME_LENGTH) {
    throw new BadRequestError(`emoji_name is too long (limit: ${MAX_NAME_LENGTH} characters)`);
  }
  return name;
}

/** Whether the person may add emoji. Names of built-in ones are for administrators. */
export const mayAddEmoji = (actor: ChannelActor): boolean => mayInRealm(actor, 'can_add_custom_emoji_group');

async function requirePermission(db: Pick<Tx, 'userGroup'>, { app, viewer }: Ctx, name: string): Promise<void> {
  if (!mayAddEmoji(await channelActor(db, viewer, app.now()))) throw insufficientPermission();
  const isBuiltIn = name === EXTRA_EMOJI || emojiNamed(name) !== undefined;
  if (isBuiltIn && !isAdministrator(viewer.role)) {
    throw new BadRequestError('Only administrators can override default emoji.');
  }
}

/** The database is the judge of whether a name is free. */
async function refusingTakenName<T>(add: () => Promise<T>): Promise<T> {
  try {
    return await add();
  } catch (error) {
    if (isUniqueViolation(error)) throw new BadRequestError('A custom emoji with this name already exists.');
    throw error;
  }
}
