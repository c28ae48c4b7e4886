import { apiEmail } from '../access/address.ts';
import { isInGroup } from '../access/permissions/membership.ts';
import { type RealmGroupSettingName, realmGroupSetting } from '../access/realm-settings.ts';
import { SETTING_CHOICES, USER_SETTING_NAMES, userSetting } from '../access/user-settings.ts';
import type { Snapshot, StateGroup } from '../api/state-group.ts';
import { Prisma, type User } from '../generated/prisma/client.ts';
import { fieldsOf, USER_COLUMNS } from '../platform/db/columns.ts';
import { readRows } from '../platform/db/rows.ts';
import { isAdministrator, isGuest, isModerator, isOwner } from '../platform/roles.ts';
import { profileDataOf } from './profile-fields/values.ts';
import { avatarUrl, toWireUser } from './wire.ts';

/** Everyone in the organisation, and what the caller is. */
export const usersState: StateGroup = {
  name: 'realm_user',
  async read(snapshot) {
    const { viewer, db, options } = snapshot;
    const everybody = await readRows<User>(
      db,
      Prisma.sql`
      SELECT ${fieldsOf('u', USER_COLUMNS)} FROM user_account u WHERE u.realm_id = ${viewer.realm.id} ORDER BY u.id`,
    );
    const users = everybody.filter(({ isSystem }) => !isSystem);
    const how = { clientGravatar: options.clientGravatar };
    const people = users.filter(({ botType }) => botType === null).map(({ id }) => id);
    const profiles = await profileDataOf(db, viewer.realm.id, people);
    const bots = everybody.filter(({ isSystem }) => isSystem);
    const [active, inactive] = [true, false].map((state) =>
      users
        .filter(({ isActive }) => isActive === state)
        .map((user) => toWireUser(user, viewer, { ...how, profileData: profiles.get(user.id) ?? {} }))
        // The lists say it by their names, and JSON leaves out what is undefined.
        .map((user) => ({ ...user, is_active: undefined })),
    );
    return {
      realm_users: active,
      realm_non_active_users: inactive,
      cross_realm_bots: bots.map((bot) => ({
        ...toWireUser(bot, viewer, how),
        is_system_bot: true,
      })),
      ...caller(snapshot),
    };
  },
};

function caller({ app, viewer, groups }: Snapshot) {
  const { user, role, realm } = viewer;
  const may = (name: RealmGroupSettingName) =>
    isInGroup(groups, viewer, realmGroupSetting(groups, realm, name), app.now());
  const canCreatePublic = may('can_create_public_channel_group');
  const canCreatePrivate = may('can_create_private_channel_group');
  return {
    user_id: user.id,
    email: apiEmail(user),
    delivery_email: user.email,
    full_name: user.fullName,
    avatar_source: user.avatarSource,
    avatar_url: avatarUrl(user),
    avatar_url_medium: avatarUrl(user, 'medium'),
    is_owner: isOwner(role),
    is_admin: isAdministrator(role),
    is_moderator: isModerator(role),
    is_guest: isGuest(role),
    can_create_public_streams: canCreatePublic,
    can_create_private_streams: canCreatePrivate,
    // The server has no web-public channels switched on, whatever the organisation would allow.
    can_create_web_public_streams: false,
    can_create_streams: canCreatePublic || canCreatePrivate,
    can_invite_others_to_realm: may('can_invite_users_group'),
  };
}

/** The caller's own settings. */
export const userSettingsState: StateGroup = {
  name: 'user_settings',
  async read({ viewer: { user } }) {
    const values = USER_SETTING_NAMES.map((name) => [name, userSetting(user, name)]);
    return { user_settings: { ...Object.fromEntries(values), ...SETTING_CHOICES } };
  },
};
