import type { Ctx } from '../app.ts';
import { isAdministrator } from '../auth/roles.ts';
import type { Tx } from '../db/client.ts';
import { BadRequestError } from '../errors.ts';
import { everyone, users } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import type { User } from '../generated/prisma/client.ts';
import { realmSetting } from '../realm/settings.ts';
import { requireSettings, type SettingValue, storedAfter } from '../settings.ts';
import { userStatusSet } from '../user-status/events.ts';
import { emailVisibilityChanged, userSettingUpdated, userTimeZoneChanged } from './events.ts';
import { requireFullName } from './full-name.ts';
import { lockRealm, lockUser } from './new-user.ts';
import { rename } from './service.ts';
import { USER_SETTING_NAMES, USER_SETTINGS, type UserSettingName, userSetting } from './settings.ts';

/** What is to change; absent fields stay. */
export interface SettingsEdit {
  /** Passed over where the organisation lets only administrators change names. */
  readonly fullName?: string | undefined;
  /** As the client sent them. */
  readonly settings?: Partial<Record<UserSettingName, unknown>> | undefined;
}

/**
 * Changes the viewer's own settings and name, and tells the viewer's clients of each setting that is another; of what
 * others see of a user, everyone is told. What is equal already is no change.
 *
 * @returns The user as they are after it.
 * @throws BadRequestError for a bot, when a value is not taken, or when the organisation wants unique names and the name
 *   is in use.
 * @see endpoints companion B.13; interface document 6.2, 6.3
 */
export async function updateSettings(ctx: Ctx, edit: SettingsEdit): Promise<User> {
  const { viewer } = ctx;
  if (viewer.user.botType !== null) throw new BadRequestError('This endpoint does not accept bot requests.');
  const values = requireSettings(USER_SETTINGS, edit.settings ?? {});
  const fullName = edit.fullName === undefined || !mayRename(ctx) ? undefined : requireFullName(edit.fullName);
  if (fullName === undefined && Object.keys(values).length === 0) return viewer.user;
  return transact(ctx, async (tx, emit) => {
    if (fullName !== undefined) await lockRealm(tx, viewer.realm.id);
    await lockUser(tx, viewer);
    const before = await tx.user.findUniqueOrThrow({ where: { id: viewer.id } });
    const after = await writeSettings(tx, emit, before, values);
    if (fullName === undefined || fullName === before.fullName) return after;
    await rename(tx, emit, ctx, before, fullName);
    return { ...after, fullName };
  });
}

function mayRename({ viewer: { realm, role } }: Ctx): boolean {
  return !realmSetting(realm, 'name_changes_disabled') || isAdministrator(role);
}

/**
 * Changes settings of a user whose row is locked, inside a change, and tells of those that are different: the user's own
 * clients, and everyone of what others see.
 *
 * @param values As they are stored.
 * @returns The user as they are after it.
 */
export async function writeSettings(
  tx: Tx,
  emit: Emit,
  before: User,
  values: Partial<Record<UserSettingName, SettingValue>>,
): Promise<User> {
  const settings = storedAfter(USER_SETTINGS, before.settings, values);
  const after = { ...before, settings };
  const changed = USER_SETTING_NAMES.filter((name) => userSetting(before, name) !== userSetting(after, name));
  if (changed.length === 0) return before;
  await tx.user.update({ where: { id: before.id }, data: { settings } });
  for (const name of changed) emit(userSettingUpdated(name, userSetting(after, name)), users([before.id]));
  for (const name of changed) await EFFECTS[name]?.(tx, emit, before, after);
  return after;
}

type Effect = (tx: Tx, emit: Emit, before: User, after: User) => Promise<void>;

/** What follows when a setting changes. */
const EFFECTS: Partial<Record<UserSettingName, Effect>> = {
  async timezone(_tx, emit, _before, after) {
    emit(userTimeZoneChanged(after, userSetting(after, 'timezone')), everyone());
  },
  // The older word for it is a part of the status.
  async presence_enabled(_tx, emit, { id }, after) {
    emit(userStatusSet(id, { away: !userSetting(after, 'presence_enabled') }), everyone());
  },
  async email_address_visibility(_tx, emit, before, after) {
    for (const event of emailVisibilityChanged(before, after)) emit(event, everyone());
  },
  // Either way: what slipped in while synchronizing was being turned off must not come back with it. Clients drop or
  // keep theirs by themselves. @see endpoints companion B.3
  async enable_drafts_synchronization(tx, _emit, { realmId, id }) {
    await tx.draft.deleteMany({ where: { realmId, authorId: id } });
  },
};
