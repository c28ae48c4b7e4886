import type { Runtime } from '../../access/context.ts';
import {
  NO_VIDEO_CHAT,
  ORGANIZATION_GROUP_SETTINGS,
  ORGANIZATION_SETTINGS,
  type OrganizationGroupSettingName,
  type OrganizationSettingName,
  organizationGroupSetting,
  organizationSetting,
  VIDEO_PROVIDER,
} from '../../access/organization-settings.ts';
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../access/passwords.ts';
import type { SystemGroupName, SystemGroups } from '../../access/system-groups.ts';
import { toWireGroupSetting } from '../../access/system-groups.ts';
import type { Snapshot, StateGroup } from '../../api/state-group.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { emojiDataUrl } from '../../people/emoji/files.ts';
import { ICON_URL, iconUrl } from '../../people/icon-url.ts';
import { domainOf, urlOf } from '../../platform/hosts.ts';
import { THUMBNAILS } from '../../platform/images/thumbnails.ts';
import {
  LONGPOLL_TIMEOUT_SECONDS,
  MAX_BULK_NEW_SUBSCRIPTION_MESSAGES,
  MAX_CHANNEL_DESCRIPTION_LENGTH,
  MAX_CHANNEL_FOLDER_DESCRIPTION_LENGTH,
  MAX_CHANNEL_FOLDER_NAME_LENGTH,
  MAX_CHANNEL_NAME_LENGTH,
  MAX_FILE_SIZES_MIB,
  MAX_MESSAGE_LENGTH,
  MAX_REMINDER_NOTE_LENGTH,
  MAX_TOPIC_LENGTH,
  MIN_PASSWORD_GUESSES,
  PRESENCE_SECONDS,
  REPORT_TYPES,
  TYPING_MS,
} from '../../platform/limits.ts';
import { phoneKindsOf } from '../../platform/push/phones.ts';
import { publishedTotals } from '../../platform/totals.ts';
import { authenticationMethods, hasProvider } from '../identity-providers.ts';
import { SERVER_GENERATION } from './feature-level.ts';
import { PERMISSION_RULES } from './permission-rules.ts';

/**
 * State group (a part of the response of `POST /register`) with limits, parameters of the server, and the organization's
 * settings and permissions.
 */
export const organizationState: StateGroup = {
  name: 'realm',
  async read({ app, db, viewer: { organization }, groups }: Snapshot) {
    return {
      ...LIMITS,
      ...publishedTotals(app.config),
      ...SERVER_PARAMETERS,
      server_emoji_data_url: emojiDataUrl(),
      settings_send_digest_emails: app.config.smtpUrl !== undefined,
      ...organizationFields(app, organization, groups),
      realm_authentication_methods: authenticationMethods(await hasProvider(db, organization.id)),
    };
  },
};

/**
 * Returns the fields of the initial state that `realm` events update. These events use the names of the fields without the
 * prefix `realm_`.
 */
export const organizationFields = (app: Runtime, organization: Organization, groups: SystemGroups) => ({
  ...identity(app, organization),
  ...settings(organization),
  ...permissions(organization, groups),
});

const LIMITS = {
  max_message_length: MAX_MESSAGE_LENGTH,
  max_topic_length: MAX_TOPIC_LENGTH,
  max_stream_name_length: MAX_CHANNEL_NAME_LENGTH,
  max_stream_description_length: MAX_CHANNEL_DESCRIPTION_LENGTH,
  max_channel_folder_name_length: MAX_CHANNEL_FOLDER_NAME_LENGTH,
  max_channel_folder_description_length: MAX_CHANNEL_FOLDER_DESCRIPTION_LENGTH,
  max_reminder_note_length: MAX_REMINDER_NOTE_LENGTH,
  max_bulk_new_subscription_messages: MAX_BULK_NEW_SUBSCRIPTION_MESSAGES,
  max_avatar_file_size_mib: MAX_FILE_SIZES_MIB.avatar,
  max_icon_file_size_mib: MAX_FILE_SIZES_MIB.icon,
  max_logo_file_size_mib: MAX_FILE_SIZES_MIB.logo,
  max_file_upload_size_mib: MAX_FILE_SIZES_MIB.upload,
  password_min_length: MIN_PASSWORD_LENGTH,
  password_max_length: MAX_PASSWORD_LENGTH,
  password_min_guesses: MIN_PASSWORD_GUESSES,
};

const SERVER_PARAMETERS = {
  event_queue_longpoll_timeout_seconds: LONGPOLL_TIMEOUT_SECONDS,
  server_typing_started_expiry_period_milliseconds: TYPING_MS.startedExpiry,
  server_typing_stopped_wait_period_milliseconds: TYPING_MS.stoppedWait,
  server_typing_started_wait_period_milliseconds: TYPING_MS.startedWait,
  server_presence_ping_interval_seconds: PRESENCE_SECONDS.pingInterval,
  server_presence_offline_threshold_seconds: PRESENCE_SECONDS.offlineThreshold,
  server_report_message_types: REPORT_TYPES,
  server_supported_permission_settings: PERMISSION_RULES,
  server_min_deactivated_realm_deletion_days: 14,
  server_max_deactivated_realm_deletion_days: null,
  server_inline_image_preview: true,
  server_inline_url_embed_preview: true,
  server_avatar_changes_disabled: false,
  server_name_changes_disabled: false,
  server_web_public_streams_enabled: false,
  server_needs_upgrade: false,
  server_can_summarize_topics: false,
  server_generation: SERVER_GENERATION,
  server_thumbnail_formats: THUMBNAILS.map(({ name, maxWidth, maxHeight, animated }) => ({
    ...{ name, max_width: maxWidth, max_height: maxHeight, format: 'webp', animated },
  })),
  development_environment: false,
  service_plan_is_not_limited: true,
  upgrade_text_for_wide_organization_logo: '',
};

/** Plan type of a self-hosted server. */
const PLAN_TYPE = 1;

function identity({ config }: Runtime, organization: Organization) {
  const url = urlOf(config, organization.subdomain);
  return {
    realm_name: organization.name,
    realm_description: organization.description,
    realm_url: url,
    realm_uri: url,
    realm_uuid: organization.uuid,
    realm_date_created: Math.floor(organization.createdAt.getTime() / 1000),
    realm_bot_domain: domainOf(config, organization.subdomain),
    realm_icon_url: iconUrl(organization),
    realm_icon_source: organization.iconImageId === null ? 'G' : 'U',
    realm_logo_url: ICON_URL,
    realm_logo_source: 'D',
    realm_night_logo_url: ICON_URL,
    realm_night_logo_source: 'D',
    realm_plan_type: PLAN_TYPE,
    realm_email_auth_enabled: true,
    realm_password_auth_enabled: true,
    realm_push_notifications_enabled: phoneKindsOf(config).length > 0,
    realm_push_notifications_enabled_end_timestamp: null,
    realm_available_video_chat_providers: {
      disabled: { name: 'None', id: NO_VIDEO_CHAT },
      ...(config.videoProvider !== undefined && { videoprovider: { name: 'Video provider', id: VIDEO_PROVIDER } }),
    },
    realm_default_external_accounts: {},
  };
}

function settings(organization: Organization) {
  const names = Object.keys(ORGANIZATION_SETTINGS) as OrganizationSettingName[];
  return {
    ...Object.fromEntries(names.map((name) => [`realm_${name}`, organizationSetting(organization, name)])),
    realm_mandatory_topics: organizationSetting(organization, 'topics_policy') === 'disable_empty_topic',
    realm_allow_edit_history: organizationSetting(organization, 'message_edit_history_visibility_policy') !== 'none',
  };
}

function permissions(organization: Organization, groups: SystemGroups) {
  const names = Object.keys(ORGANIZATION_GROUP_SETTINGS) as OrganizationGroupSettingName[];
  const policy = (name: OrganizationGroupSettingName, codes: PolicyCodes) =>
    legacyPolicy(organization, groups, name, codes);
  return {
    ...Object.fromEntries(
      names.map((name) => [
        `realm_${name}`,
        toWireGroupSetting(groups, organizationGroupSetting(groups, organization, name)),
      ]),
    ),
    realm_create_public_stream_policy: policy('can_create_public_channel_group', CREATE_CHANNEL),
    realm_create_private_stream_policy: policy('can_create_private_channel_group', CREATE_CHANNEL),
    realm_create_web_public_stream_policy: policy('can_create_web_public_channel_group', CREATE_WEB_PUBLIC_CHANNEL),
    realm_wildcard_mention_policy: policy('can_mention_many_users_group', WILDCARD_MENTION),
  };
}

type PolicyCodes = Partial<Record<SystemGroupName, number>>;

const CREATE_CHANNEL: PolicyCodes = {
  'role:members': 1,
  'role:administrators': 2,
  'role:fullmembers': 3,
  'role:moderators': 4,
};
const CREATE_WEB_PUBLIC_CHANNEL: PolicyCodes = {
  'role:administrators': 2,
  'role:moderators': 4,
  'role:nobody': 6,
  'role:owners': 7,
};
const WILDCARD_MENTION: PolicyCodes = {
  'role:everyone': 1,
  'role:members': 2,
  'role:fullmembers': 3,
  'role:administrators': 5,
  'role:nobody': 6,
  'role:moderators': 7,
};

/**
 * Returns the holder of a permission in the form for old clients: the number of a role group in `codes`. If the holder has no
 * number in `codes`, returns the number of the permission's initial holder.
 */
function legacyPolicy(
  organization: Organization,
  groups: SystemGroups,
  name: OrganizationGroupSettingName,
  codes: PolicyCodes,
) {
  const value = toWireGroupSetting(groups, organizationGroupSetting(groups, organization, name));
  const group = typeof value === 'number' ? groups.name(value) : undefined;
  return (group && codes[group]) ?? codes[ORGANIZATION_GROUP_SETTINGS[name].initial];
}
