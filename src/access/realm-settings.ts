import { z } from 'zod';
import type { Realm } from '../generated/prisma/client.ts';
import { isLanguage } from '../platform/languages.ts';
import { days, flag, oneOf, type Setting, seconds, setting, text } from '../platform/setting.ts';
import type { GroupRule } from './permissions/permission-values.ts';
import type { SystemGroupName, SystemGroups } from './permissions/system-groups.ts';
import { type GroupSetting, roleGroup } from './permissions/system-groups.ts';

/** A channel's id; -1 for none. */
const channel = () => setting(z.int(), -1, { meaning: 'the id of a channel; -1 for none', names: 'Channel' });

/** In the setting `video_chat_provider`. */
export const NO_VIDEO_CHAT = 0;
export const VIDEO_PROVIDER = 8;

/**
 * Every setting of an organisation, by its wire name without `realm_`. `Realm.settings` holds those that differ.
 * Units: seconds and days as the names say, null is unlimited.
 */
export const REALM_SETTINGS = {
  org_type: oneOf([0, 10, 20, 30, 35, 40, 50, 60, 70, 80, 90, 100, 1000], 0),
  empty_topic_display_name: text('general chat', 60),
  topics_policy: oneOf(['allow_empty_topic', 'disable_empty_topic'], 'allow_empty_topic'),
  moderation_request_channel_id: channel(),
  new_stream_announcements_stream_id: channel(),
  signup_announcements_stream_id: channel(),
  service_update_announcements_stream_id: channel(),
  message_edit_history_visibility_policy: oneOf(['all', 'moves', 'none'], 'all'),
  allow_message_editing: flag(true),
  message_content_edit_limit_seconds: seconds(600),
  message_content_delete_limit_seconds: seconds(600),
  move_messages_within_stream_limit_seconds: seconds(604_800),
  move_messages_between_streams_limit_seconds: seconds(604_800),
  /** -1 keeps messages for ever. */
  message_retention_days: days(-1),
  name_changes_disabled: flag(false),
  email_changes_disabled: flag(false),
  avatar_changes_disabled: flag(false),
  require_unique_names: flag(false),
  emails_restricted_to_domains: flag(false),
  disallow_disposable_email_addresses: flag(true),
  invite_required: flag(true),
  presence_disabled: flag(false),
  enable_read_receipts: flag(false),
  enable_spectator_access: flag(false),
  enable_guest_user_indicator: flag(true),
  enable_guest_user_dm_warning: flag(true),
  waiting_period_threshold: setting(z.int().min(0), 0, { meaning: 'Days until a new member is a full member' }),
  default_language: text('en', 50, { isKnown: isLanguage, meaning: 'A language code: "en", "pt-br"' }),
  default_code_block_language: text('', 50),
  default_avatar_source: oneOf(['G', 'J'], 'J', 'G hosted by an avatar provider, J generated'),
  digest_emails_enabled: flag(false),
  digest_weekday: setting(z.int().min(0).max(6), 1, { meaning: '0 is Monday' }),
  send_welcome_emails: flag(true),
  send_channel_events_messages: flag(false),
  welcome_message_custom_text: text('', 8000),
  message_content_allowed_in_email_notifications: flag(true),
  inline_image_preview: flag(true),
  inline_url_embed_preview: flag(false),
  media_preview_size: oneOf([100, 150, 200], 100, '100, 150 or 200'),
  video_chat_provider: oneOf(
    [NO_VIDEO_CHAT, VIDEO_PROVIDER],
    NO_VIDEO_CHAT,
    '0 none, 8 the provider of POST /calls/videoprovider/create',
  ),
  require_e2ee_push_notifications: flag(false),
  owner_full_content_access: flag(false),
  want_advertise_in_communities_directory: flag(false),
  upload_quota_mib: setting(z.int().positive().nullable(), null),
} as const satisfies Record<string, Setting<unknown>>;

export type RealmSettingName = keyof typeof REALM_SETTINGS;

const {
  empty_topic_display_name: _topic,
  owner_full_content_access: _access,
  upload_quota_mib: _quota,
  ...editable
} = REALM_SETTINGS;

/**
 * Those that administrators change. The others are not among the parameters of the document: what the empty topic is
 * called is the same for as long as messages are kept, and the last two are for the server's operator.
 */
export const EDITABLE_REALM_SETTINGS = editable;
export type EditableRealmSettingName = keyof typeof EDITABLE_REALM_SETTINGS;

export type RealmSettingValue<K extends RealmSettingName> = (typeof REALM_SETTINGS)[K]['initial'];

/** What `realm` has set, or the default. */
export function realmSetting<K extends RealmSettingName>(
  realm: Pick<Realm, 'settings'>,
  name: K,
): RealmSettingValue<K> {
  const set = overrides(realm)[name];
  return (set === undefined ? REALM_SETTINGS[name].initial : set) as RealmSettingValue<K>;
}

interface RealmGroupRule extends GroupRule {
  /** The group that holds the permission in a new organisation. */
  readonly initial: SystemGroupName;
}

const rule = (initial: SystemGroupName, flags: '' | 'N' | 'N E'): RealmGroupRule => ({
  initial,
  everyone: flags.includes('E'),
  nobody: flags.includes('N'),
});

/**
 * Every permission of an organisation, by its wire name without `realm_`. `Realm.settings` holds those that differ, as
 * `GroupSetting`.
 */
export const REALM_GROUP_SETTINGS = {
  // Members too, says the document: guests would then see only whom they have to do with. Nothing here hides anybody from
  // anybody, and a setting that promises it must not be taken.
  can_access_all_users_group: { ...rule('role:everyone', 'N E'), nobody: false, only: ['role:everyone'] },
  can_add_custom_emoji_group: rule('role:members', 'N'),
  can_add_subscribers_group: rule('role:members', 'N'),
  can_create_bots_group: rule('role:members', 'N'),
  can_create_groups: rule('role:members', 'N'),
  can_create_private_channel_group: rule('role:members', 'N'),
  can_create_public_channel_group: rule('role:members', 'N'),
  can_create_web_public_channel_group: {
    ...rule('role:owners', 'N'),
    only: ['role:moderators', 'role:administrators', 'role:owners', 'role:nobody'],
  },
  can_create_write_only_bots_group: rule('role:members', 'N'),
  can_delete_any_message_group: rule('role:administrators', 'N'),
  can_delete_own_message_group: rule('role:everyone', 'N E'),
  can_invite_users_group: rule('role:members', 'N'),
  can_manage_all_groups: rule('role:owners', ''),
  can_manage_billing_group: rule('role:administrators', ''),
  can_mention_many_users_group: rule('role:administrators', 'N E'),
  can_move_messages_between_channels_group: rule('role:members', 'N'),
  can_move_messages_between_topics_group: rule('role:everyone', 'N E'),
  can_resolve_topics_group: rule('role:everyone', 'N E'),
  can_set_delete_message_policy_group: rule('role:moderators', 'N'),
  can_set_topics_policy_group: rule('role:members', 'N E'),
  can_summarize_topics_group: rule('role:everyone', 'N E'),
  create_multiuse_invite_group: rule('role:administrators', 'N'),
  direct_message_initiator_group: rule('role:everyone', 'N E'),
  direct_message_permission_group: rule('role:everyone', 'N E'),
} as const satisfies Record<string, RealmGroupRule>;

export type RealmGroupSettingName = keyof typeof REALM_GROUP_SETTINGS;
export const REALM_GROUP_SETTING_NAMES = Object.keys(REALM_GROUP_SETTINGS) as readonly RealmGroupSettingName[];

/** Who holds the permission in `realm`: what is set, or the default group. */
export function realmGroupSetting(
  groups: SystemGroups,
  realm: Pick<Realm, 'settings'>,
  name: RealmGroupSettingName,
): GroupSetting {
  const set = overrides(realm)[name] as GroupSetting | undefined;
  return set ?? initialRealmGroup(groups, name);
}

/** Who holds the permission in a new organisation. */
export const initialRealmGroup = (groups: SystemGroups, name: RealmGroupSettingName): GroupSetting =>
  roleGroup(groups, REALM_GROUP_SETTINGS[name].initial);

/** The database holds an object in this column. */
const overrides = ({ settings }: Pick<Realm, 'settings'>) => settings as Readonly<Record<string, unknown>>;
