import { z } from 'zod';
import type { Organization } from '../generated/prisma/client.ts';
import { isLanguage } from '../platform/languages.ts';
import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER } from '../platform/roles.ts';
import {
  closedSet,
  days,
  flag,
  oneOf,
  type Setting,
  seconds,
  setting,
  text,
  withoutEffect,
} from '../platform/setting.ts';
import type { GroupRule } from './permission-values.ts';
import type { SystemGroupName, SystemGroups } from './system-groups.ts';
import { type GroupSetting, roleGroup } from './system-groups.ts';

/** Defines a setting whose value is the id of a channel, or -1 for no channel. */
const channel = (meaning: string) => setting(z.int(), -1, meaning, { names: 'Channel' });

/** Values of the setting `video_chat_provider`. */
export const NO_VIDEO_CHAT = 0;
export const VIDEO_PROVIDER = 8;

const ORGANIZATION_TYPE = closedSet('OrganizationType', 'Type of an organization.', {
  UNSPECIFIED: [0, 'Not specified.'],
  BUSINESS: [10, 'A company.'],
  OPEN_SOURCE: [20, 'An open-source software project.'],
  EDUCATION_NONPROFIT: [30, 'A nonprofit school or university.'],
  EDUCATION: [35, 'A for-profit school or university.'],
  RESEARCH: [40, 'A research institute or group.'],
  EVENT: [50, 'A conference or other event.'],
  NONPROFIT: [60, 'A registered charity or other nonprofit organization.'],
  GOVERNMENT: [70, 'A government agency.'],
  POLITICAL_GROUP: [80, 'A political party or campaign.'],
  COMMUNITY: [90, 'People who share an interest.'],
  PERSONAL: [100, 'Friends, a family, or one person.'],
  OTHER: [1000, 'Any other type.'],
});

/** The topics policy of a channel or organization. Organizations accept only `allow_empty_topic` and `disable_empty_topic`. */
export const TOPICS_POLICY = closedSet('TopicsPolicy', 'Whether messages in channels must have a topic.', {
  INHERIT: ['inherit', 'The setting of the organization applies. For channels only.'],
  ALLOW_EMPTY_TOPIC: ['allow_empty_topic', 'Messages can be sent with or without a topic.'],
  DISABLE_EMPTY_TOPIC: ['disable_empty_topic', 'Messages must have a topic.'],
  EMPTY_TOPIC_ONLY: ['empty_topic_only', 'Messages cannot have a topic. For channels only.'],
});

const EDIT_HISTORY_VISIBILITY = closedSet(
  'EditHistoryVisibility',
  'Part of the edit history of messages that users can see.',
  {
    ALL: ['all', 'All changes of text, topic and channel.'],
    MOVES: ['moves', 'Only changes of topic and channel.'],
    NONE: ['none', 'No changes.'],
  },
);

/** The source of a user's avatar. An organization's default, for users without an upload, can only be `G` or `J`. */
export const AVATAR_SOURCE = closedSet('AvatarSource', "Source of a user's avatar.", {
  HOSTED: ['G', 'An image that an avatar provider stores for the hash of the email address.'],
  GENERATED: ['J', 'A pattern that is generated from the user id.'],
  UPLOADED: ['U', 'An image that the user uploaded.'],
});

const WEEKDAY = closedSet('Weekday', 'A day of the week.', {
  MONDAY: [0, 'First day of the week.'],
  TUESDAY: [1, 'Second day of the week.'],
  WEDNESDAY: [2, 'Third day of the week.'],
  THURSDAY: [3, 'Fourth day of the week.'],
  FRIDAY: [4, 'Fifth day of the week.'],
  SATURDAY: [5, 'Sixth day of the week.'],
  SUNDAY: [6, 'Seventh day of the week.'],
});

const MEDIA_PREVIEW_SIZE = closedSet('MediaPreviewSize', 'Size of image and video previews in clients.', {
  SMALL: [100, 'The default size.'],
  MEDIUM: [150, '1.5 times the default size.'],
  LARGE: [200, 'Twice the default size.'],
});

const VIDEO_CALL_PROVIDER = closedSet('VideoCallProvider', 'Provider of the video calls of an organization.', {
  NONE: [NO_VIDEO_CHAT, 'No provider: video calls are not available.'],
  CONFIGURED: [VIDEO_PROVIDER, 'The provider that the operator has configured. `createVideoCall` creates the calls.'],
});

const SECOND_FACTOR_REQUIREMENT = closedSet('SecondFactorRequirement', 'People who must have a second factor.', {
  NOBODY: [0, 'A second factor is voluntary.'],
  OWNERS: [OWNER, 'Owners.'],
  ADMINISTRATORS: [ADMINISTRATOR, 'Owners and administrators.'],
  MODERATORS: [MODERATOR, 'Owners, administrators and moderators.'],
  MEMBERS: [MEMBER, 'All people except guests.'],
  EVERYONE: [GUEST, 'All people.'],
});

/**
 * Every setting of an organization, by its wire name without `realm_`. `Organization.settings` contains the values that differ
 * from the default. The name of a setting contains its unit: seconds or days. The value null means unlimited.
 */
export const ORGANIZATION_SETTINGS = {
  org_type: oneOf(ORGANIZATION_TYPE, 0, 'Type of the organization'),
  empty_topic_display_name: text('general chat', 60, 'Name that clients show for the empty topic'),
  topics_policy: oneOf(
    TOPICS_POLICY,
    'allow_empty_topic',
    'Whether messages must have a topic in channels that inherit the policy',
    ['allow_empty_topic', 'disable_empty_topic'],
  ),
  moderation_request_channel_id: channel('Private channel to which reports of messages are sent'),
  new_stream_announcements_stream_id: channel('Channel in which new public channels are announced'),
  signup_announcements_stream_id: channel('Channel in which new users are announced'),
  service_update_announcements_stream_id: withoutEffect(
    channel('Channel in which changes of the service are announced'),
    'the service sends no announcements of its changes',
  ),
  message_edit_history_visibility_policy: oneOf(
    EDIT_HISTORY_VISIBILITY,
    'all',
    'Part of the edit history of messages that users can see',
  ),
  allow_message_editing: flag(true, 'Whether users can edit the messages that they have sent'),
  message_content_edit_limit_seconds: seconds(
    600,
    'Number of seconds after sending within which the sender can edit a message',
  ),
  message_content_delete_limit_seconds: seconds(
    600,
    'Number of seconds after sending within which the sender can delete a message',
  ),
  move_messages_within_stream_limit_seconds: seconds(
    604_800,
    'Number of seconds after sending within which a message can be moved to another topic',
  ),
  move_messages_between_streams_limit_seconds: seconds(
    604_800,
    'Number of seconds after sending within which a message can be moved to another channel',
  ),
  /** The value -1 means that messages are never deleted. */
  message_retention_days: days(-1, 'Number of days that messages are kept, in channels without a setting of their own'),
  /** The value -1 means that only the limit of the server applies. */
  audit_log_days: days(
    -1,
    'Number of days that entries of the audit log are kept, not more than the operator of the server allows',
    30,
  ),
  name_changes_disabled: flag(false, 'Whether only administrators can change names of users'),
  email_changes_disabled: flag(false, 'Whether only administrators can change email addresses of users'),
  avatar_changes_disabled: flag(false, 'Whether only administrators can change avatars of users'),
  require_unique_names: flag(false, 'Whether names of users must be unique'),
  emails_restricted_to_domains: flag(false, 'Whether email addresses must belong to an allowed domain'),
  disallow_disposable_email_addresses: flag(true, 'Whether disposable email addresses are refused'),
  invite_required: flag(true, 'Whether users need an invitation to join'),
  second_factor_required_role: oneOf(
    SECOND_FACTOR_REQUIREMENT,
    0,
    'Lowest role whose users need a second factor to sign in with a password. Users without one are signed out, except the one ' +
      'who makes the change and those who signed in with an identity provider',
  ),
  presence_disabled: flag(false, 'Whether the presence of users is hidden'),
  enable_read_receipts: flag(false, 'Whether users can see which users have read a message'),
  enable_spectator_access: flag(false, 'Whether channels can be made readable without signing in'),
  enable_guest_user_indicator: flag(true, 'Whether clients mark the names of guests'),
  enable_guest_user_dm_warning: flag(true, 'Whether clients warn users before they send direct messages to guests'),
  waiting_period_threshold: setting(
    z.int().min(0),
    0,
    'Number of days after joining until a member becomes a full member (group `role:fullmembers`), at least 0',
  ),
  default_language: text('en', 50, 'Language of the organization, as a code: "en", "pt-br"', {
    isKnown: isLanguage,
  }),
  default_code_block_language: text('', 50, 'Language of code blocks that do not name a language; empty for none'),
  default_avatar_source: oneOf(AVATAR_SOURCE, 'J', 'Source of the avatars of users who have not uploaded an avatar', [
    'G',
    'J',
  ]),
  digest_emails_enabled: flag(
    false,
    'Whether users who have not been active for five days get a weekly email of the messages that they have missed',
  ),
  digest_weekday: setting(z.int().min(0).max(6), 1, 'Day of the week on which digest emails are sent', {
    choices: WEEKDAY,
  }),
  send_welcome_emails: flag(true, 'Whether people who join get an email with the address of the organization'),
  send_channel_events_messages: flag(
    false,
    'Whether the notification bot sends a message to a channel when the channel is created, renamed, archived ' +
      'or restored, or its description, privacy or message retention changes',
  ),
  welcome_message_custom_text: text(
    '',
    8000,
    'Text of the direct message to users who join by an invitation, a sign-up or single sign-on, in Markdown; empty for no message',
  ),
  message_content_allowed_in_email_notifications: flag(
    true,
    'Whether emails about missed messages can contain the text of the messages',
  ),
  inline_image_preview: flag(true, 'Whether clients show previews of images and videos that are linked in messages'),
  inline_url_embed_preview: flag(
    false,
    'Whether clients show previews of web pages to which new messages link. The service fetches these pages',
  ),
  media_preview_size: oneOf(MEDIA_PREVIEW_SIZE, 100, 'Size of image and video previews in clients'),
  video_chat_provider: oneOf(VIDEO_CALL_PROVIDER, NO_VIDEO_CHAT, 'Provider of video calls'),
  require_e2ee_push_notifications: flag(
    false,
    'Whether push notifications of apps that have registered no key are sent without texts and names',
  ),
  owner_full_content_access: withoutEffect(
    flag(false, 'Whether owners can read all messages'),
    'no role can read messages of conversations in which it does not participate',
  ),
  want_advertise_in_communities_directory: withoutEffect(
    flag(false, 'Whether the organization can be listed in a directory of communities'),
    'the service has no directory of communities',
  ),
  upload_quota_mib: setting(
    z.int().positive().nullable(),
    null,
    'Limit of the disk space of uploaded files, in MiB, at least 1. Null: unlimited',
  ),
  max_active_users: setting(
    z.int().positive().nullable(),
    null,
    'Maximum number of active people, at least 1. Guests count, bots do not. Null: unlimited',
  ),
  max_requests_per_minute: setting(
    z.int().positive().nullable(),
    null,
    'Maximum number of requests per minute of all accounts of the organization together, at least 1. Null: unlimited',
  ),
  max_invitations_per_day: setting(
    z.int().nonnegative().nullable(),
    null,
    'Maximum number of emails that the organization can send within 24 hours, for each of three kinds: invitations, emails ' +
      'that people request on pages of links, and emails for sign-up. Null: the default of the server',
  ),
} as const satisfies Record<string, Setting<unknown>>;

export type OrganizationSettingName = keyof typeof ORGANIZATION_SETTINGS;

const {
  empty_topic_display_name: _topic,
  owner_full_content_access: _access,
  upload_quota_mib: _quota,
  max_active_users: _users,
  max_requests_per_minute: _requests,
  max_invitations_per_day: _invitations,
  ...editable
} = ORGANIZATION_SETTINGS;

/**
 * The settings that administrators can change, which the REST documentation lists as parameters. `empty_topic_display_name` is
 * excluded, because it must not change while messages exist. `owner_full_content_access` and the limits of the organization are
 * for the server's operator.
 */
export const EDITABLE_ORGANIZATION_SETTINGS = editable;
export type EditableOrganizationSettingName = keyof typeof EDITABLE_ORGANIZATION_SETTINGS;

export type OrganizationSettingValue<K extends OrganizationSettingName> = (typeof ORGANIZATION_SETTINGS)[K]['initial'];

/** Returns the value of a setting in `organization`: the stored value, or the default. */
export function organizationSetting<K extends OrganizationSettingName>(
  organization: Pick<Organization, 'settings'>,
  name: K,
): OrganizationSettingValue<K> {
  const set = overrides(organization)[name];
  return (set === undefined ? ORGANIZATION_SETTINGS[name].initial : set) as OrganizationSettingValue<K>;
}

interface OrganizationGroupRule extends GroupRule {
  /** Name of the role group that holds the permission in a new organization. */
  readonly initial: SystemGroupName;
  /** Reason why no code checks the permission. It is stored for clients that send it over REST. */
  readonly hasNoEffect?: string;
}

/**
 * Declares a permission.
 *
 * @param flags "N": the permission can be left without a holder. "E": the group of all users, including guests, can hold it.
 */
const rule = (initial: SystemGroupName, flags: '' | 'N' | 'N E'): OrganizationGroupRule => ({
  initial,
  everyone: flags.includes('E'),
  nobody: flags.includes('N'),
});

/**
 * Every permission of an organization, by its wire name without `realm_`. `Organization.settings` contains the values that
 * differ from the default, as `GroupSetting`.
 */
export const ORGANIZATION_GROUP_SETTINGS = {
  // The REST documentation also allows members: guests would then see only users that they interact with. This service does not
  // hide users from each other, so it refuses that value.
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
  can_create_write_only_bots_group: {
    ...rule('role:members', 'N'),
    hasNoEffect: 'all bots can read messages',
  },
  can_delete_any_message_group: rule('role:administrators', 'N'),
  can_delete_own_message_group: rule('role:everyone', 'N E'),
  can_invite_users_group: rule('role:members', 'N'),
  can_manage_all_groups: rule('role:owners', ''),
  can_manage_billing_group: { ...rule('role:administrators', ''), hasNoEffect: 'the service has no billing' },
  can_mention_many_users_group: rule('role:administrators', 'N E'),
  can_move_messages_between_channels_group: rule('role:members', 'N'),
  can_move_messages_between_topics_group: rule('role:everyone', 'N E'),
  can_resolve_topics_group: rule('role:everyone', 'N E'),
  can_set_delete_message_policy_group: rule('role:moderators', 'N'),
  can_set_topics_policy_group: rule('role:members', 'N E'),
  can_summarize_topics_group: {
    ...rule('role:everyone', 'N E'),
    hasNoEffect: 'the service makes no summaries',
  },
  create_multiuse_invite_group: rule('role:administrators', 'N'),
  direct_message_initiator_group: rule('role:everyone', 'N E'),
  direct_message_permission_group: rule('role:everyone', 'N E'),
} as const satisfies Record<string, OrganizationGroupRule>;

export type OrganizationGroupSettingName = keyof typeof ORGANIZATION_GROUP_SETTINGS;
export const ORGANIZATION_GROUP_SETTING_NAMES = Object.keys(
  ORGANIZATION_GROUP_SETTINGS,
) as readonly OrganizationGroupSettingName[];

/** Returns the holders of the permission in `organization`: the stored value, or the default group. */
export function organizationGroupSetting(
  groups: SystemGroups,
  organization: Pick<Organization, 'settings'>,
  name: OrganizationGroupSettingName,
): GroupSetting {
  const set = overrides(organization)[name] as GroupSetting | undefined;
  return set ?? initialOrganizationGroup(groups, name);
}

/** Returns the holders of the permission in a new organization. */
export const initialOrganizationGroup = (groups: SystemGroups, name: OrganizationGroupSettingName): GroupSetting =>
  roleGroup(groups, ORGANIZATION_GROUP_SETTINGS[name].initial);

/** Returns the stored settings of an organization. The database column always contains a JSON object. */
const overrides = ({ settings }: Pick<Organization, 'settings'>) => settings as Readonly<Record<string, unknown>>;
