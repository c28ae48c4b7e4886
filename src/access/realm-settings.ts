import { z } from 'zod';
import type { Realm } from '../generated/prisma/client.ts';
import { isLanguage } from '../platform/languages.ts';
import { closedSet, days, flag, oneOf, type Setting, seconds, setting, text } from '../platform/setting.ts';
import type { GroupRule } from './permissions/permission-values.ts';
import type { SystemGroupName, SystemGroups } from './permissions/system-groups.ts';
import { type GroupSetting, roleGroup } from './permissions/system-groups.ts';

/** A channel's id; -1 for none. */
const channel = (meaning: string) => setting(z.int(), -1, meaning, { names: 'Channel' });

/** In the setting `video_chat_provider`. */
export const NO_VIDEO_CHAT = 0;
export const VIDEO_PROVIDER = 8;

const ORGANIZATION_TYPE = closedSet('OrganizationType', 'What kind of organization it is.', {
  UNSPECIFIED: [0, 'Nothing is said of it.'],
  BUSINESS: [10, 'A company.'],
  OPEN_SOURCE: [20, 'A project of open-source software.'],
  EDUCATION_NONPROFIT: [30, 'A school or university that is not for profit.'],
  EDUCATION: [35, 'A school or university that is for profit.'],
  RESEARCH: [40, 'An institute or a group of researchers.'],
  EVENT: [50, 'A conference or another event.'],
  NONPROFIT: [60, 'A registered charity or another that is not for profit.'],
  GOVERNMENT: [70, 'A public authority.'],
  POLITICAL_GROUP: [80, 'A party or a political campaign.'],
  COMMUNITY: [90, 'People who share an interest.'],
  PERSONAL: [100, 'Friends, a family, or one person.'],
  OTHER: [1000, 'Any other.'],
});

/** Of an organisation, which has only the second and the third, and of a channel. */
export const TOPICS_POLICY = closedSet('TopicsPolicy', 'Whether messages in channels must have a topic.', {
  INHERIT: ['inherit', "As the organization's setting has it. For a channel only."],
  ALLOW_EMPTY_TOPIC: ['allow_empty_topic', 'Messages may have a topic.'],
  DISABLE_EMPTY_TOPIC: ['disable_empty_topic', 'Messages must have a topic.'],
  EMPTY_TOPIC_ONLY: ['empty_topic_only', 'Messages have no topic. For a channel only.'],
});

const EDIT_HISTORY_VISIBILITY = closedSet(
  'EditHistoryVisibility',
  'What people see of how messages were before they were edited.',
  {
    ALL: ['all', 'Every change, of text, topic and channel.'],
    MOVES: ['moves', 'Changes of topic and channel only.'],
    NONE: ['none', 'Nothing.'],
  },
);

/** Of a user; of an organisation, which sets what users have who uploaded none, the first two. */
export const AVATAR_SOURCE = closedSet('AvatarSource', "Where a user's image comes from.", {
  HOSTED: ['G', 'An avatar provider has it, by the hash of the e-mail address.'],
  GENERATED: ['J', 'A pattern, made of the id.'],
  UPLOADED: ['U', 'The user uploaded it.'],
});

const WEEKDAY = closedSet('Weekday', 'A day of the week.', {
  MONDAY: [0, 'The first day.'],
  TUESDAY: [1, 'The second day.'],
  WEDNESDAY: [2, 'The third day.'],
  THURSDAY: [3, 'The fourth day.'],
  FRIDAY: [4, 'The fifth day.'],
  SATURDAY: [5, 'The sixth day.'],
  SUNDAY: [6, 'The seventh day.'],
});

const MEDIA_PREVIEW_SIZE = closedSet('MediaPreviewSize', 'How large clients show previews of images and videos.', {
  SMALL: [100, 'The usual size.'],
  MEDIUM: [150, 'One and a half times the usual size.'],
  LARGE: [200, 'Twice the usual size.'],
});

const VIDEO_CALL_PROVIDER = closedSet('VideoCallProvider', 'Who makes video calls for the organization.', {
  NONE: [NO_VIDEO_CHAT, 'Nobody: there are no video calls.'],
  CONFIGURED: [VIDEO_PROVIDER, "The provider that the server's operator has configured, by `createVideoCall`."],
});

/**
 * Every setting of an organisation, by its wire name without `realm_`. `Realm.settings` holds those that differ.
 * Units: seconds and days as the names say, null is unlimited.
 */
export const REALM_SETTINGS = {
  org_type: oneOf(ORGANIZATION_TYPE, 0, 'What kind of organization it is'),
  empty_topic_display_name: text('general chat', 60, 'What clients show in the place of an empty topic'),
  topics_policy: oneOf(
    TOPICS_POLICY,
    'allow_empty_topic',
    'Whether messages must have a topic in channels that inherit the policy',
    ['allow_empty_topic', 'disable_empty_topic'],
  ),
  moderation_request_channel_id: channel('The private channel that reports of messages are sent to'),
  new_stream_announcements_stream_id: channel('The channel in which new channels are announced'),
  signup_announcements_stream_id: channel('The channel in which new users are announced'),
  service_update_announcements_stream_id: channel('The channel in which changes of the service are announced'),
  message_edit_history_visibility_policy: oneOf(
    EDIT_HISTORY_VISIBILITY,
    'all',
    'What people see of how messages were before they were edited',
  ),
  allow_message_editing: flag(true, 'Whether people may edit what they have sent'),
  message_content_edit_limit_seconds: seconds(600, 'For how many seconds its sender may edit a message'),
  message_content_delete_limit_seconds: seconds(600, 'For how many seconds its sender may delete a message'),
  move_messages_within_stream_limit_seconds: seconds(
    604_800,
    'For how many seconds a message may be moved to another topic',
  ),
  move_messages_between_streams_limit_seconds: seconds(
    604_800,
    'For how many seconds a message may be moved to another channel',
  ),
  /** -1 keeps messages for ever. */
  message_retention_days: days(-1, 'For how many days messages are kept, in channels that set nothing else'),
  name_changes_disabled: flag(false, 'Whether only administrators may change names'),
  email_changes_disabled: flag(false, 'Whether only administrators may change e-mail addresses'),
  avatar_changes_disabled: flag(false, 'Whether only administrators may change images of users'),
  require_unique_names: flag(false, 'Whether no two users may have the same name'),
  emails_restricted_to_domains: flag(false, 'Whether only addresses of the allowed domains may be used'),
  disallow_disposable_email_addresses: flag(true, 'Whether disposable e-mail addresses may not be used'),
  invite_required: flag(true, 'Whether one needs an invitation to join'),
  presence_disabled: flag(false, 'Whether nobody is shown to be there or away'),
  enable_read_receipts: flag(false, 'Whether people see who has read a message'),
  enable_spectator_access: flag(false, 'Whether there may be channels that are read without signing in'),
  enable_guest_user_indicator: flag(true, 'Whether clients mark the names of guests'),
  enable_guest_user_dm_warning: flag(true, 'Whether clients warn of direct messages to guests'),
  waiting_period_threshold: setting(
    z.int().min(0),
    0,
    'For how many days after joining a member is not yet a full member, at least 0',
  ),
  default_language: text('en', 50, 'The organization\'s language, by its code: "en", "pt-br"', {
    isKnown: isLanguage,
  }),
  default_code_block_language: text('', 50, 'The language of code blocks that name none; empty for none'),
  default_avatar_source: oneOf(AVATAR_SOURCE, 'J', 'Where the image of users comes from who have uploaded none', [
    'G',
    'J',
  ]),
  digest_emails_enabled: flag(false, 'Whether people get mails of what was said while they were away'),
  digest_weekday: setting(
    z.int().min(0).max(6),
    1,
    'The day on which mails are sent of what was said while people were away',
    { choices: WEEKDAY },
  ),
  send_welcome_emails: flag(true, 'Whether new users get mails that introduce the service'),
  send_channel_events_messages: flag(false, 'Whether channels get a message when their settings change'),
  welcome_message_custom_text: text('', 8000, "What the organization adds to new users' first message, in Markdown"),
  message_content_allowed_in_email_notifications: flag(
    true,
    'Whether mails about missed messages may have the text of them',
  ),
  inline_image_preview: flag(true, 'Whether clients show previews of images and videos that messages link to'),
  inline_url_embed_preview: flag(false, 'Whether clients show previews of web pages that messages link to'),
  media_preview_size: oneOf(MEDIA_PREVIEW_SIZE, 100, 'How large clients show previews of images and videos'),
  video_chat_provider: oneOf(VIDEO_CALL_PROVIDER, NO_VIDEO_CHAT, 'Who makes video calls'),
  require_e2ee_push_notifications: flag(false, 'Whether notifications on phones must be encrypted end to end'),
  owner_full_content_access: flag(false, 'Whether owners may read all that is written'),
  want_advertise_in_communities_directory: flag(false, 'Whether it may be listed in a directory of communities'),
  upload_quota_mib: setting(
    z.int().positive().nullable(),
    null,
    'How much space uploaded files may take, in MiB, at least 1; null is unlimited',
  ),
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
