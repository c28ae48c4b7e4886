import type { Ctx } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { requirePerson } from '../../access/roles.ts';
import { USER_SETTINGS, type UserSettingName } from '../../access/user-settings.ts';
import { transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { requireFullName } from '../../people/full-name.ts';
import { lockOrganization, lockUser } from '../../people/locks.ts';
import { writeSettings } from '../../people/settings-write.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { requireSettings } from '../../platform/setting.ts';
import { requireWantedAddress, sendConfirmation } from '../email-changes/service.ts';
import { type PasswordChange, requirePasswordChange, writePassword } from '../sign-in/password-change.ts';
import { requireProof } from '../sign-in/proof.ts';
import { rename } from './service.ts';

/** The viewer's own data to change. Absent fields stay unchanged. */
export interface SettingsEdit {
  /** New full name. Ignored if the organization allows only administrators to change names. */
  readonly fullName?: string | undefined;
  /** New email address. It takes effect when the viewer follows the link in the email that is sent to it. */
  readonly email?: string | undefined;
  /**
   * The viewer's current password. Required for a new password. Also required for a new email address, in a session whose
   * sign-in was more than ten minutes ago.
   */
  readonly oldPassword?: string | undefined;
  /** New password of 8 to 100 characters. */
  readonly newPassword?: string | undefined;
  /** Whether the API key stays valid when the password is changed in a session. */
  readonly keepsApiKey?: boolean | undefined;
  /** New values of settings, by their names over REST. They are not validated yet. */
  readonly settings?: Partial<Record<UserSettingName, unknown>> | undefined;
}

/**
 * Changes the viewer's own settings, name and password. Sends each changed setting to the viewer's clients. Sends changed data
 * that other users can see to all users. Values that are equal to the current values are ignored. A new email address takes
 * effect only after the viewer follows the link in the email to that address.
 *
 * @returns The user after the change.
 * @throws ForbiddenError if the viewer is a bot, or if only administrators can change addresses.
 * @throws ValidationError if a value is invalid, or if the old password is wrong.
 * @throws ConflictError if the address is in use, or if the organization requires unique names and the name is in use.
 * @throws PasswordRequiredError for a new email address without the password, in a session whose sign-in was more than ten
 *   minutes ago.
 * @throws RateLimitHitError after too many wrong passwords or new addresses.
 */
export async function updateSettings(ctx: Ctx, edit: SettingsEdit): Promise<User> {
  const { viewer } = ctx;
  requirePerson(ctx);
  const values = requireSettings(USER_SETTINGS, edit.settings ?? {});
  const fullName = edit.fullName === undefined || !mayRename(ctx) ? undefined : requireFullName(edit.fullName);
  const password = await passwordChange(ctx, edit);
  // If the password changes too, `passwordChange` has already checked the old password, which is proof of identity.
  if (edit.email !== undefined && password === undefined) await requireProof(ctx, edit.oldPassword, 'old_password');
  const address = edit.email === undefined ? undefined : await requireWantedAddress(ctx, edit.email);
  const isNothing = [fullName, password, address].every((change) => change === undefined);
  if (isNothing && Object.keys(values).length === 0) return viewer.user;
  return transact(ctx, async (tx, emit) => {
    if (fullName !== undefined) await lockOrganization(tx, viewer.organization.id);
    await lockUser(tx, viewer.user);
    const before = await tx.user.findUniqueOrThrow({
      where: { organizationId_id: { organizationId: viewer.organization.id, id: viewer.id } },
    });
    if (password !== undefined)
      await writePassword(tx, emit, ctx, {
        ...{ ...password, user: before },
        keepsApiKey: edit.keepsApiKey ?? false,
      });
    if (address !== undefined) {
      emit.audit({ action: 'email_change_requested', objectType: 'user', objectId: viewer.id });
      await sendConfirmation(tx, ctx, address);
    }
    const after = await writeSettings(tx, emit, before, values, { now: ctx.app.now(), isOwn: true });
    if (fullName === undefined || fullName === before.fullName) return after;
    await rename(tx, emit, ctx, before, fullName);
    return { ...after, fullName };
  });
}

function mayRename({ viewer: { organization, role } }: Ctx): boolean {
  return !organizationSetting(organization, 'name_changes_disabled') || isAdministrator(role);
}

async function passwordChange(
  ctx: Ctx,
  { oldPassword = '', newPassword }: SettingsEdit,
): Promise<PasswordChange | undefined> {
  if (newPassword === undefined) return undefined;
  return runOutsideTransaction(ctx.work, 'password', (work) =>
    requirePasswordChange({ ...ctx, work }, { oldPassword, newPassword }),
  );
}
