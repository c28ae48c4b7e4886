import type { Ctx } from '../../access/context.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import { requireSettings, storedAfter } from '../../platform/setting.ts';
import { userDefaultUpdated } from './events.ts';
import {
  EDITABLE_USER_DEFAULT_NAMES,
  EDITABLE_USER_DEFAULTS,
  type EditableUserDefaultName,
  userDefault,
} from './settings.ts';

/**
 * Changes the default settings of new users, and sends each changed setting to all users. Existing users keep their settings.
 *
 * @param given Values as sent by the client, by name on the wire.
 * @returns The organization after the change.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws ValidationError if a value is invalid.
 */
export async function updateUserDefaults(
  ctx: Ctx,
  given: Partial<Record<EditableUserDefaultName, unknown>>,
): Promise<Organization> {
  requireAdministrator(ctx);
  const values = requireSettings(EDITABLE_USER_DEFAULTS, given);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    requireAdministrator(await asOfNow(tx, ctx));
    const before = await tx.organization.findUniqueOrThrow({ where: { id: ctx.organizationId } });
    const after = { ...before, userDefaults: storedAfter(EDITABLE_USER_DEFAULTS, before.userDefaults, values) };
    const changed = EDITABLE_USER_DEFAULT_NAMES.filter(
      (name) => userDefault(before, name) !== userDefault(after, name),
    );
    if (changed.length === 0) return before;
    await tx.organization.update({ where: { id: ctx.organizationId }, data: { userDefaults: after.userDefaults } });
    for (const name of changed) {
      const [old, value] = [userDefault(before, name), userDefault(after, name)];
      emit(userDefaultUpdated(after.id, name, value, old), everyone());
    }
    return after;
  });
}
