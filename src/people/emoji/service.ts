import { usersChargedWith } from '../../access/charged-users.ts';
import { type Ctx, chargedAccountOf } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import {
  type ChannelActor,
  channelActor,
  insufficientPermission,
  mayInOrganization,
} from '../../access/permissions/require.ts';
import { requireMember } from '../../access/roles.ts';
import { requireHarmlessImage } from '../../access/scanned-uploads.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { CustomEmoji, Prisma } from '../../generated/prisma/client.ts';
import { CUSTOM_EMOJI_NAME, EXTRA_EMOJI, emojiNamed } from '../../markdown/emoji.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { prepareEmoji } from '../../platform/images/prepare.ts';
import { storeImage } from '../../platform/images/store.ts';
import { MAX_FILE_SIZES_MIB } from '../../platform/limits.ts';
import { ADMINISTRATOR, isAdministrator } from '../../platform/roles.ts';
import { requireWithin } from '../../platform/totals.ts';
import { lockOrganization } from '../locks.ts';
import { customEmojiAdded, customEmojiChanged, customEmojiDeactivated } from './events.ts';

/**
 * Maximum length of the name of a custom emoji, in characters: more than users type between colons. Longer names are refused
 * with `ValidationError`.
 */
const MAX_NAME_LENGTH = 100;

/** Returns the filter for the emoji that the viewer can see: all emoji of the organization, including deactivated ones. */
export const visibleTo = ({ viewer }: Ctx): Prisma.CustomEmojiWhereInput => ({
  organizationId: viewer.organization.id,
});

/** Returns the organization's custom emoji in the order in which they were added, including deactivated ones. */
export const listCustomEmoji = (ctx: Ctx): Promise<CustomEmoji[]> =>
  ctx.work.db.customEmoji.findMany({ where: visibleTo(ctx), orderBy: { id: 'asc' } });

/**
 * Adds a custom emoji to the organization, and notifies all users.
 *
 * @param input `name`: lower-case letters, digits, dashes and underscores. Spaces become underscores. `file`: PNG, JPEG, WebP
 *   or GIF, at most 5 MiB. The image is shown at 64 by 64 pixels, and stays animated if the file is animated.
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws ForbiddenError if the viewer cannot add emoji.
 * @throws ForbiddenError if a built-in emoji has the name and the viewer is not an administrator.
 * @throws ValidationError if the file is too large, or the name is invalid.
 * @throws ConflictError if an active emoji has the name.
 * @throws InfectedFileError if the virus scanner finds malware in it.
 * @throws BadImageError if the file is not a readable image.
 * @throws TotalReachedError if the organization would have more than 5,000 emoji, or a viewer who is not an administrator more
 *   than 500.
 */
export async function addCustomEmoji(
  ctx: Ctx,
  { name: given, file }: { name: string; file: Uint8Array },
): Promise<CustomEmoji> {
  const { app, work, organizationId, viewer } = ctx;
  requireMember(ctx);
  const name = requireName(given);
  await requirePermission(work.db, ctx, name);
  const image = await runOutsideTransaction(work, 'emoji', async () => {
    await requireHarmlessImage(ctx, file);
    return prepareEmoji(file, { account: chargedAccountOf(viewer), limitMib: MAX_FILE_SIZES_MIB.emoji });
  });
  return refusingTakenName(() =>
    transact(ctx, async (tx, emit) => {
      // Locks the organization, so that the list of all emoji in each event contains the changes of the previous event.
      await lockOrganization(tx, organizationId);
      // The viewer's permissions may have changed while the image was read.
      const now = await asOfNow(tx, ctx);
      requireMember(now);
      await requirePermission(tx, now, name);
      const imageId = await storeImage(tx, organizationId, image);
      const row = { organizationId, name, authorId: viewer.id, imageId, isAnimated: image.reduced !== null };
      const added = await tx.customEmoji.create({ data: { ...row, createdAt: app.now() } });
      const all = await everyEmoji(tx, organizationId);
      requireWithin('custom_emoji', all.length);
      if (!isAdministrator(now.viewer.role)) {
        const authors = new Set(await usersChargedWith(tx, { organizationId, id: viewer.id }));
        const own = all.filter(({ authorId }) => authorId !== null && authors.has(authorId));
        requireWithin('custom_emoji_per_user', own.length);
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
 * @throws ForbiddenError unless the viewer added the emoji or is an administrator.
 */
export async function deactivateCustomEmoji(ctx: Ctx, name: string): Promise<CustomEmoji> {
  const { app, organizationId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    const found = CUSTOM_EMOJI_NAME.test(name)
      ? await tx.customEmoji.findFirst({ where: { organizationId, name, deactivatedAt: null } })
      : null;
    if (found === null) {
      const details = { type: 'CustomEmoji', parameter: 'name', status: 404 } as const;
      throw new NotFoundError(`Emoji '${name}' does not exist`, details);
    }
    const { viewer } = await asOfNow(tx, ctx);
    if (found.authorId !== viewer.id && !isAdministrator(viewer.role)) {
      throw new ForbiddenError('Must be an organization administrator or emoji author', {
        role: ADMINISTRATOR,
        parameter: 'name',
      });
    }
    const deactivated = await tx.customEmoji.update({
      where: { organizationId_id: { organizationId: found.organizationId, id: found.id } },
      data: { deactivatedAt: app.now() },
    });
    emit(customEmojiDeactivated(deactivated), everyone());
    emit(customEmojiChanged(await everyEmoji(tx, organizationId)), everyone());
    return deactivated;
  });
}

const everyEmoji = (tx: Tx, organizationId: number): Promise<CustomEmoji[]> =>
  tx.customEmoji.findMany({ where: { organizationId }, orderBy: { id: 'asc' } });

function requireName(given: string): string {
  const name = given.trim().replaceAll(' ', '_');
  const parameter = 'name';
  if (!/^[0-9a-z_-]+$/.test(name)) {
    throw new ValidationError(
      'Emoji names must contain only lowercase English letters, digits, spaces, dashes, and underscores.',
      { parameter },
    );
  }
  if (!CUSTOM_EMOJI_NAME.test(name)) {
    throw new ValidationError('Emoji names must end with either a letter or digit.', { parameter });
  }
  if (name.length > MAX_NAME_LENGTH) {
    throw new ValidationError(`emoji_name is too long (limit: ${MAX_NAME_LENGTH} characters)`, {
      parameter,
      maximum: MAX_NAME_LENGTH,
      schemaMessage: `name is too long (limit: ${MAX_NAME_LENGTH} characters)`,
    });
  }
  return name;
}

/** Permission that the addition of custom emoji requires. */
const MAY_ADD = 'can_add_custom_emoji_group';

/** Returns whether the actor can add custom emoji. Only administrators can add an emoji with the name of a built-in emoji. */
export const mayAddEmoji = (actor: ChannelActor): boolean => mayInOrganization(actor, MAY_ADD);

async function requirePermission(db: Pick<Tx, 'userGroup'>, { app, viewer }: Ctx, name: string): Promise<void> {
  if (!mayAddEmoji(await channelActor(db, viewer, app.now()))) {
    throw insufficientPermission({ permission: MAY_ADD });
  }
  const isBuiltIn = name === EXTRA_EMOJI || emojiNamed(name) !== undefined;
  if (isBuiltIn && !isAdministrator(viewer.role)) {
    throw new ForbiddenError('Only administrators can override default emoji.', {
      role: ADMINISTRATOR,
      parameter: 'name',
    });
  }
}

/**
 * Runs an insert of an emoji, and converts the error of the unique index on names into a `ConflictError`. Only this index
 * detects that the name is taken.
 *
 * @throws ConflictError if an active emoji has the name.
 */
async function refusingTakenName<T>(add: () => Promise<T>): Promise<T> {
  try {
    return await add();
  } catch (error) {
    if (isUniqueViolation(error)) {
      throw new ConflictError('A custom emoji with this name already exists.', { parameter: 'name' });
    }
    throw error;
  }
}
