import type { Ctx } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { USER_SETTINGS, type UserSettingName } from '../../access/user-settings.ts';
import { transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { requireFullName } from '../../people/full-name.ts';
import { lockRealm, lockUser } from '../../people/locks.ts';
import { writeSettings } from '../../people/settings-write.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { requireSettings } from '../../platform/setting.ts';
import { requireWantedAddress, sendConfirmation } from '../email-changes/service.ts';
import { type PasswordChange, requirePasswordChange, writePassword } from '../sign-in/password-change.ts';
import { requireProof } from '../sign-in/proof.ts';
import { rename } from './service.ts';

/** The viewer's own data to change. Absent fields stay unchanged. */
export interface SettingsEdit {
  /** Ignored if the organization allows only administrators to change names. */
  readonly fullName?: string | undefined;
  /** New email address. It takes effect when the viewer follows the link in the email that is sent to it. */
  readonly email?: string | undefined;
  /**
   * The viewer's current password. Required for a new password and, in a session without a recent sign-in, for a new email
   * address.
   */
  readonly oldPassword?: string | undefined;
  /** New password of 8 to 100 characters. */
  readonly newPassword?: string | undefined;
  /** Whether the API key stays valid when the password is changed in a session. */
  readonly keepsApiKey?: boolean | undefined;
  /** Settings as sent by the client. */
  readonly settings?: Partial<Record<UserSettingName, unknown>> | undefined;
}

/**
 * Changes the viewer's own settings, name and password. Sends each changed setting to the viewer's clients, or to all users if
 * they can see it. Values that would change nothing are ignored. A new email address takes effect only after the viewer follows
 * the link that is sent to it.
 *
 * @returns The user after the change.
 * @throws BadRequestError if the viewer is a bot, if a value is invalid, or if the old password is wrong.
 * @throws BadRequestError if the organization requires unique names and the name is in use.
 * @throws PasswordRequiredError for a new email address without the password, in a session whose sign-in is not recent.
 * @throws RateLimitHitError after too many wrong passwords or new addresses.
 */
export async function updateSettings(ctx: Ctx, edit: SettingsEdit): Promise<User> {
  const { viewer } = ctx;
  if (viewer.user.botType !== null) throw new BadRequestError('This endpoint does not accept bot requests.');
  const values = requireSettings(USER_SETTINGS, edit.settings ?? {});
  const fullName = edit.fullName === undefined || !mayRename(ctx) ? undefined : requireFullName(edit.fullName);
  const password = await passwordChange(ctx, edit);
  // The old password has already proved a change of the password.
  if (edit.email !== undefined && password === undefined) await requireProof(ctx, edit.oldPassword);
  const address = edit.email === undefined ? undefined : await requireWantedAddress(ctx, edit.email);
  const isNothing = [fullName, password, address].every((change) => change === undefined);
  if (isNothing && Object.keys(values).length === 0) return viewer.user;
  return transact(ctx, async (tx, emit) => {
    if (fullName !== undefined) await lockRealm(tx, viewer.realm.id);
    await lockUser(tx, viewer.user);
    const before = await tx.user.findUniqueOrThrow({
      where: { realmId_id: { realmId: viewer.realm.id, id: viewer.id } },
    });
    if (password !== undefined)
      await writePassword(tx, emit, ctx, {
        ...{ ...password, user: before },
        keepsApiKey: edit.keepsApiKey ?? false,
      });
    if (address !== undefined) await sendConfirmation(tx, ctx, address);
    const after = await writeSettings(tx, emit, before, values, { now: ctx.app.now(), isOwn: true });
    if (fullName === undefined || fullName === before.fullName) return after;
    await rename(tx, emit, ctx, before, fullName);
    return { ...after, fullName };
  });
}

function mayRename({ viewer: { realm, role } }: Ctx): boolean {
  return !realmSetting(realm, 'name_changes_disabled') || isAdministrator(role);
}

async function passwordChange(
  ctx: Ctx,
  { oldPassword = '', newPassword }: SettingsEdit,
): Promise<PasswordChange | undefined> {
  if (newPassword === undefined) return undefined;
  return runOutsideTransaction(ctx.app, 'password', (app) =>
    requirePasswordChange({ ...ctx, app }, { oldPassword, newPassword }),
  );
}
