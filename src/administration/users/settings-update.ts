import type { Ctx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { isAdministrator } from '../../access/roles.ts';
import {
  USER_SETTING_NAMES,
  USER_SETTINGS,
  type UserSettingName,
  userSetting,
  withEdited,
} from '../../access/user-settings.ts';
import { everyone, users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import { aside } from '../../events/once.ts';
import type { User } from '../../generated/prisma/client.ts';
import { emailVisibilityChanged, userSettingUpdated, userTimeZoneChanged } from '../../people/events.ts';
import { requireFullName } from '../../people/full-name.ts';
import { presenceSwitched } from '../../people/presence/service.ts';
import { userStatusSet } from '../../people/status/events.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireSettings, type SettingValue, storedAfter } from '../../platform/setting.ts';
import { requireWantedAddress, sendConfirmation } from '../email-changes/service.ts';
import { type PasswordChange, requirePasswordChange, writePassword } from '../sign-in/password-change.ts';
import { lockRealm, lockUser } from './new-user.ts';
import { rename } from './service.ts';

/** What is to change; absent fields stay. */
export interface SettingsEdit {
  /** Passed over where the organisation lets only administrators change names. */
  readonly fullName?: string | undefined;
  /** Used once a mail that is sent to it has been answered. */
  readonly email?: string | undefined;
  /** Of no use alone. */
  readonly oldPassword?: string | undefined;
  /** 8 to 100 characters. */
  readonly newPassword?: string | undefined;
  /** As the client sent them. */
  readonly settings?: Partial<Record<UserSettingName, unknown>> | undefined;
}

/**
 * Changes the viewer's own settings, name and password, and tells the viewer's clients of each setting that is another;
 * of what others see of a user, everyone is told. What is equal already is no change. Another address is used only after
 * the link sent to it was followed.
 *
 * @returns The user as they are after it.
 * @throws BadRequestError for a bot, when a value is not taken, when the organisation wants unique names and the name is
 *   in use, or when the old password is wrong.
 * @throws RateLimitHitError after too many wrong passwords, or new addresses.
 * @see endpoints companion B.13; interface document 6.2, 6.3
 */
export async function updateSettings(ctx: Ctx, edit: SettingsEdit): Promise<User> {
  const { viewer } = ctx;
  if (viewer.user.botType !== null) throw new BadRequestError('This endpoint does not accept bot requests.');
  const values = requireSettings(USER_SETTINGS, edit.settings ?? {});
  const fullName = edit.fullName === undefined || !mayRename(ctx) ? undefined : requireFullName(edit.fullName);
  const password = await passwordChange(ctx, edit);
  const address = edit.email === undefined ? undefined : await requireWantedAddress(ctx, edit.email);
  const isNothing = [fullName, password, address].every((change) => change === undefined);
  if (isNothing && Object.keys(values).length === 0) return viewer.user;
  return transact(ctx, async (tx, emit) => {
    if (fullName !== undefined) await lockRealm(tx, viewer.realm.id);
    await lockUser(tx, viewer);
    const before = await tx.user.findUniqueOrThrow({ where: { id: viewer.id } });
    if (password !== undefined) await writePassword(tx, before, password);
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
  return aside(ctx.app, 'password', (app) => requirePasswordChange({ ...ctx, app }, { oldPassword, newPassword }));
}

/**
 * Changes settings of a user whose row is locked, inside a change, and tells of those that are different: the user's own
 * clients, and everyone of what others see.
 *
 * @param values As they are stored.
 * @param isOwn Whether they change them themselves, which is remembered of each.
 * @returns The user as they are after it.
 */
export async function writeSettings(
  tx: Tx,
  emit: Emit,
  before: User,
  values: Partial<Record<UserSettingName, SettingValue>>,
  { now, isOwn }: { now: Date; isOwn: boolean },
): Promise<User> {
  const stored = storedAfter(USER_SETTINGS, before.settings, values);
  const changed = USER_SETTING_NAMES.filter(
    (name) => userSetting(before, name) !== userSetting({ settings: stored }, name),
  );
  if (changed.length === 0) return before;
  const settings = isOwn ? withEdited(stored, changed) : stored;
  const after = { ...before, settings };
  await tx.user.update({ where: { id: before.id }, data: { settings } });
  for (const name of changed) emit(userSettingUpdated(name, userSetting(after, name)), users([before.id]));
  for (const name of changed) await EFFECTS[name]?.(tx, emit, { before, after, now });
  return after;
}

type Effect = (tx: Tx, emit: Emit, change: { before: User; after: User; now: Date }) => Promise<void>;

/** What follows when a setting changes. */
const EFFECTS: Partial<Record<UserSettingName, Effect>> = {
  async timezone(_tx, emit, { after }) {
    emit(userTimeZoneChanged(after, userSetting(after, 'timezone')), everyone());
  },
  // The older word for it is a part of the status.
  async presence_enabled(tx, emit, { after, now }) {
    await presenceSwitched(tx, emit, after, now);
    emit(userStatusSet(after.id, { away: !userSetting(after, 'presence_enabled') }), everyone());
  },
  async email_address_visibility(_tx, emit, { before, after }) {
    for (const event of emailVisibilityChanged(before, after)) emit(event, everyone());
  },
  // Either way: what slipped in while synchronizing was being turned off must not come back with it. Clients drop or
  // keep theirs by themselves. @see endpoints companion B.3
  async enable_drafts_synchronization(tx, _emit, { before: { realmId, id } }) {
    await tx.draft.deleteMany({ where: { realmId, authorId: id } });
  },
};
