import {
  USER_SETTING_NAMES,
  USER_SETTINGS,
  type UserSettingName,
  userSetting,
  withEdited,
} from '../access/user-settings.ts';
import { everyone, users } from '../events/audience.ts';
import { auditChanges } from '../events/audit.ts';
import type { Emit } from '../events/log.ts';
import type { User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { eraseUnsentMail, type UnsubscribableKind } from '../platform/mail/outbox.ts';
import { type SettingValue, storedAfter } from '../platform/setting.ts';
import { emailVisibilityChanged, userSettingUpdated, userTimeZoneChanged } from './events.ts';
import { presenceSwitched } from './presence/service.ts';
import { userStatusSet } from './status-events.ts';
/**
 * Changes settings of a user whose row is locked, within a transaction. Publishes the changed values to the user's own clients,
 * and data that other users can see, such as the time zone, to all users.
 *
 * @param values Values as they are stored.
 * @param isOwn Whether the user changes their own settings. For each setting, it is recorded whether the user has changed it
 *   themselves. `isErasure`: whether the settings are erased with the user. The audit log must then not contain them.
 * @returns The user after the change.
 */
export async function writeSettings(
  tx: Tx,
  emit: Emit,
  before: User,
  values: Partial<Record<UserSettingName, SettingValue>>,
  { now, isOwn, isErasure = false }: { now: Date; isOwn: boolean; isErasure?: boolean },
): Promise<User> {
  const stored = storedAfter(USER_SETTINGS, before.settings, values);
  const changed = USER_SETTING_NAMES.filter(
    (name) => userSetting(before, name) !== userSetting({ settings: stored }, name),
  );
  if (changed.length === 0) return before;
  const settings = isOwn ? withEdited(stored, changed) : stored;
  const after = { ...before, settings };
  await tx.user.update({
    where: { organizationId_id: { organizationId: before.organizationId, id: before.id } },
    data: { settings },
  });
  const valuesOf = (user: Pick<User, 'settings'>) =>
    Object.fromEntries(changed.map((name) => [name, userSetting(user, name)]));
  if (!isErasure) {
    emit.audit({
      ...{ action: 'user_settings_changed', objectType: 'user', objectId: before.id, ownerId: before.id },
      changes: auditChanges(valuesOf(before), valuesOf(after)),
    });
  }
  for (const name of changed) emit(userSettingUpdated(name, userSetting(after, name)), users([before.id]));
  for (const name of changed) await EFFECTS[name]?.(tx, emit, { before, after, now });
  return after;
}

type Effect = (tx: Tx, emit: Emit, change: { before: User; after: User; now: Date }) => Promise<void>;

/**
 * Deletes the user's queued emails of a kind when a setting that causes such emails is turned off. Emails about missed messages
 * that another setting caused are deleted too, but few are queued: most are sent within seconds. Notifications that are not in
 * an email yet stay, and are checked again before they are sent.
 */
const eraseQueuedEmails =
  (name: UserSettingName, kind: UnsubscribableKind = 'missed'): Effect =>
  async (tx, _emit, { after }) => {
    if (userSetting(after, name) === false) await eraseUnsentMail(tx, kind, after);
  };

/** Effects of changed settings beyond the setting itself, by setting name. */
const EFFECTS: Partial<Record<UserSettingName, Effect>> = {
  async timezone(_tx, emit, { after }) {
    emit(userTimeZoneChanged(after, userSetting(after, 'timezone')), everyone());
  },
  // Also publishes `away` of the user's status, because `away` is the deprecated form of this setting.
  async presence_enabled(tx, emit, { after, now }) {
    await presenceSwitched(tx, emit, after, now);
    emit(userStatusSet(after.id, { away: !userSetting(after, 'presence_enabled') }), everyone());
  },
  async email_address_visibility(_tx, emit, { before, after }) {
    for (const event of emailVisibilityChanged(before, after)) emit(event, everyone());
  },
  // Deletes the stored drafts when the setting is turned off, and also when it is turned on: drafts that a concurrent request
  // stored while the setting was turned off must not reappear. Drafts in clients are not affected.
  async enable_drafts_synchronization(tx, _emit, { before: { organizationId, id } }) {
    await tx.draft.deleteMany({ where: { organizationId, authorId: id } });
  },
  enable_offline_email_notifications: eraseQueuedEmails('enable_offline_email_notifications'),
  enable_followed_topic_email_notifications: eraseQueuedEmails('enable_followed_topic_email_notifications'),
  enable_stream_email_notifications: eraseQueuedEmails('enable_stream_email_notifications'),
  enable_digest_emails: eraseQueuedEmails('enable_digest_emails', 'digest'),
};
