import {
  USER_SETTING_NAMES,
  USER_SETTINGS,
  type UserSettingName,
  userSetting,
  withEdited,
} from '../access/user-settings.ts';
import { everyone, users } from '../events/audience.ts';
import type { Emit } from '../events/log.ts';
import type { User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { type SettingValue, storedAfter } from '../platform/setting.ts';
import { emailVisibilityChanged, userSettingUpdated, userTimeZoneChanged } from './events.ts';
import { presenceSwitched } from './presence/service.ts';
import { userStatusSet } from './status-events.ts';
/**
 * Changes settings of a user whose row is locked, within a transaction. Publishes the values that changed to the user's own
 * clients. Publishes to all users the parts that they can see, such as the time zone.
 *
 * @param values Values as they are stored.
 * @param isOwn Whether users change their own settings, which is recorded for each setting.
 * @returns The user after the change.
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
  await tx.user.update({ where: { realmId_id: { realmId: before.realmId, id: before.id } }, data: { settings } });
  for (const name of changed) emit(userSettingUpdated(name, userSetting(after, name)), users([before.id]));
  for (const name of changed) await EFFECTS[name]?.(tx, emit, { before, after, now });
  return after;
}

type Effect = (tx: Tx, emit: Emit, change: { before: User; after: User; now: Date }) => Promise<void>;

/** Side effects of changed settings. */
const EFFECTS: Partial<Record<UserSettingName, Effect>> = {
  async timezone(_tx, emit, { after }) {
    emit(userTimeZoneChanged(after, userSetting(after, 'timezone')), everyone());
  },
  // The deprecated form of this setting is `away` in the status.
  async presence_enabled(tx, emit, { after, now }) {
    await presenceSwitched(tx, emit, after, now);
    emit(userStatusSet(after.id, { away: !userSetting(after, 'presence_enabled') }), everyone());
  },
  async email_address_visibility(_tx, emit, { before, after }) {
    for (const event of emailVisibilityChanged(before, after)) emit(event, everyone());
  },
  // Runs when the setting is turned on and off: drafts that were stored while synchronization was being turned off must
  // not reappear. Clients drop or keep their own drafts.
  async enable_drafts_synchronization(tx, _emit, { before: { realmId, id } }) {
    await tx.draft.deleteMany({ where: { realmId, authorId: id } });
  },
};
