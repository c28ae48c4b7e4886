import { type Ctx, chargedAccountOf } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { requireHarmlessImage } from '../../access/scanned-uploads.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import type { Organization, Prisma } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import { prepareAvatar } from '../../platform/images/prepare.ts';
import { deleteImage, storeImage } from '../../platform/images/store.ts';
import { MAX_FILE_SIZES_MIB } from '../../platform/limits.ts';
import { writeOrganization } from './update.ts';

/**
 * Sets the icon of the organization to an uploaded image, deletes the previous one, and notifies all users.
 *
 * @param file PNG, JPEG, WebP or GIF, at most 5 MiB. Null for the generated icon.
 * @returns The organization after the change.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws ValidationError if the file is too large.
 * @throws InfectedFileError if the virus scanner finds malware in it.
 * @throws BadImageError if the file is not a readable image.
 */
export async function setOrganizationIcon(ctx: Ctx, file: Uint8Array | null): Promise<Organization> {
  const { app, work, organizationId, viewer } = ctx;
  requireAdministrator(ctx);
  const image =
    file === null
      ? null
      : await runOutsideTransaction(work, 'icon', async () => {
          await requireHarmlessImage(ctx, file);
          return prepareAvatar(file, { account: chargedAccountOf(viewer), limitMib: MAX_FILE_SIZES_MIB.icon });
        });
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    // The viewer's role may have changed while the image was read.
    requireAdministrator(await asOfNow(tx, ctx));
    const before = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
    const iconImageId = image === null ? null : await storeImage(tx, organizationId, image);
    const settings = before.settings as Prisma.JsonObject;
    const after = { ...before, iconImageId, iconVersion: before.iconVersion + 1, settings };
    await writeOrganization(tx, emit, app, { before, after });
    if (before.iconImageId !== null) await deleteImage(tx, organizationId, before.iconImageId);
    return after;
  });
}
