import { type Ctx, chargedAccountOf } from '../../access/context.ts';
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

/** Longest name of a custom emoji, in characters: longer than any that users type between colons. */
const MAX_NAME_LENGTH = 100;

/** Returns the filter for emoji that the viewer can see: all of the organization's, including deactivated ones. */
export const visibleTo = ({ viewer }: Ctx): Prisma.CustomEmojiWhereInput => ({ realmId: viewer.realm.id });

/** Returns the organization's custom emoji in the order in which they were added, including deactivated ones. */
export const listCustomEmoji = (ctx: Ctx): Promise<CustomEmoji[]> =>
  ctx.app.db.customEmoji.findMany({ where: visibleTo(ctx), orderBy: { id: 'asc' } });

/**
 * Adds a custom emoji to the organization, and notifies all users.
 *
 * @param input `name`: lower-case letters, digits, dashes and underscores. Spaces become underscores. `file`: PNG,
 *   JPEG, WebP or GIF, at most 5 MiB. Displayed at 64 by 64 pixels, and animated if the file is.
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if the viewer cannot add emoji, the name is invalid or an active emoji has it, or the file is
 *   too large. Also if a built-in emoji has the name and the viewer is not an administrator.
 * @throws BadImageError if the file is not a readable image.
 * @throws TotalReachedError if the organization would have more than 5,000 emoji, or a viewer who is not an
 *   administrator more than 500.
 */
export async function addCustomEmoji(
  ctx: Ctx,
  { name: given, file }: { name: string; file: Uint8Array },
): Promise<CustomEmoji> {
  const { app, realmId, viewer } = ctx;
  requireMember(ctx);
  const name = requireName(given);
  await requirePermission(app.db, ctx, name);
  const image = await runOutsideTransaction(app, 'emoji', () =>
    prepareEmoji(file, { account: chargedAccountOf(viewer), limitMib: MAX_FILE_SIZES_MIB.emoji }),
  );
  return refusingTakenName(() =>
    transact(ctx, async (tx, emit) => {
      // Locks the organization, so that the list of all emoji in each event contains the changes of the previous event.
      await lockRealm(tx, realmId);
      // The viewer's permissions may have changed while the image was read.
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
 * Deactivates a custom emoji, and notifies all users. Existing uses are still displayed, and the name can be reused.
 *
 * @returns The emoji after the change.
 * @throws NotFoundError if no active emoji has the name.
 * @throws BadRequestError unless the viewer added the emoji or is an administrator.
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

/** Returns whether the actor can add emoji. Names of built-in emoji also require an administrator. */
export const mayAddEmoji = (actor: ChannelActor): boolean => mayInRealm(actor, 'can_add_custom_emoji_group');

async function requirePermission(db: Pick<Tx, 'userGroup'>, { app, viewer }: Ctx, name: string): Promise<void> {
  if (!mayAddEmoji(await channelActor(db, viewer, app.now()))) throw insufficientPermission();
  const isBuiltIn = name === EXTRA_EMOJI || emojiNamed(name) !== undefined;
  if (isBuiltIn && !isAdministrator(viewer.role)) {
    throw new BadRequestError('Only administrators can override default emoji.');
  }
}

/** Reports a unique violation as a taken name: only the database can decide whether a name is free. */
async function refusingTakenName<T>(add: () => Promise<T>): Promise<T> {
  try {
    return await add();
  } catch (error) {
    if (isUniqueViolation(error)) throw new BadRequestError('A custom emoji with this name already exists.');
    throw error;
  }
}
