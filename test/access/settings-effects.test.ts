import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema, type GraphQLEnumType, type GraphQLInputObjectType, type GraphQLObjectType } from 'graphql';
import { parseSync } from 'vite';
import { describe, expect, test } from 'vitest';
import { ORGANIZATION_GROUP_SETTINGS, ORGANIZATION_SETTINGS } from '../../src/access/organization-settings.ts';
import { CHANNEL_PERMISSION_NAMES } from '../../src/access/permissions/channel-permissions.ts';
import { GROUP_PERMISSION_NAMES } from '../../src/access/permissions/group-permissions.ts';
import { USER_SETTINGS } from '../../src/access/user-settings.ts';
import { permissionFieldName, settingFieldName } from '../../src/api/graphql/schema/setting-fields.ts';
import { TABLE_COLUMNS } from '../../src/generated/columns.ts';
import { readConfig } from '../../src/platform/config.ts';
import { noEffect } from '../../src/platform/setting.ts';
import { send } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';

// Checks that every setting has an effect, or is listed as having none.

/** Marks a setting that the service only stores and sends, because clients implement it. */
const CLIENTS = 'enforced by clients';
/** Marks a setting that has no effect. Its declaration has the reason. */
const NONE = 'no effect';

/** For each setting, the module below `src` that implements it, or `CLIENTS` or `NONE`. */
type Effects = Readonly<Record<string, string>>;

const ORGANIZATION: Effects = {
  org_type: CLIENTS,
  empty_topic_display_name: 'channels/topic-name.ts',
  topics_policy: 'messages/sending/target.ts',
  moderation_request_channel_id: 'messages/reports/service.ts',
  new_stream_announcements_stream_id: 'messages/channel-notices.ts',
  signup_announcements_stream_id: 'messages/channel-notices.ts',
  service_update_announcements_stream_id: NONE,
  message_edit_history_visibility_policy: 'messages/edit-history.ts',
  allow_message_editing: 'messages/edits/edit.ts',
  message_content_edit_limit_seconds: 'messages/edits/edit.ts',
  message_content_delete_limit_seconds: 'messages/edits/delete.ts',
  move_messages_within_stream_limit_seconds: 'messages/edits/move.ts',
  move_messages_between_streams_limit_seconds: 'messages/edits/move.ts',
  message_retention_days: 'messages/retention/expired.ts',
  audit_log_days: 'administration/audit-log-time.ts',
  name_changes_disabled: 'administration/users/settings-update.ts',
  email_changes_disabled: 'administration/email-changes/service.ts',
  avatar_changes_disabled: 'people/avatars/service.ts',
  require_unique_names: 'administration/new-user.ts',
  emails_restricted_to_domains: 'administration/domains/service.ts',
  disallow_disposable_email_addresses: 'administration/domains/service.ts',
  invite_required: 'administration/sign-up/service.ts',
  second_factor_required_role: 'administration/sign-in/second-step.ts',
  presence_disabled: 'people/presence/service.ts',
  enable_read_receipts: 'messages/flags/receipts.ts',
  enable_spectator_access: 'channels/settings.ts',
  enable_guest_user_indicator: CLIENTS,
  enable_guest_user_dm_warning: CLIENTS,
  waiting_period_threshold: 'access/permissions/membership.ts',
  default_language: CLIENTS,
  default_code_block_language: 'messages/sending/content.ts',
  default_avatar_source: 'people/avatars/service.ts',
  digest_emails_enabled: 'messages/digests/rounds.ts',
  digest_weekday: 'messages/digests/rounds.ts',
  send_welcome_emails: 'administration/welcome-mail.ts',
  send_channel_events_messages: 'messages/channel-notices.ts',
  welcome_message_custom_text: 'administration/welcome-mail.ts',
  message_content_allowed_in_email_notifications: 'messages/notifications/mail-parts.ts',
  inline_image_preview: 'messages/sending/content.ts',
  inline_url_embed_preview: 'messages/link-previews/apply.ts',
  media_preview_size: CLIENTS,
  video_chat_provider: CLIENTS,
  require_e2ee_push_notifications: 'messages/notifications/phone-message.ts',
  owner_full_content_access: NONE,
  want_advertise_in_communities_directory: NONE,
  upload_quota_mib: 'messages/attachments/service.ts',
  max_active_users: 'administration/organization-limits.ts',
  max_requests_per_minute: 'api/rate-limits.ts',
  max_invitations_per_day: 'administration/organization-limits.ts',
};

const ORGANIZATION_PERMISSIONS: Effects = {
  // This permission has only one possible value: everyone.
  can_access_all_users_group: CLIENTS,
  can_add_custom_emoji_group: 'people/emoji/service.ts',
  can_add_subscribers_group: 'channels/subscribe.ts',
  can_create_bots_group: 'administration/bot-owners.ts',
  can_create_groups: 'administration/user-groups/service.ts',
  can_create_private_channel_group: 'channels/settings.ts',
  can_create_public_channel_group: 'channels/settings.ts',
  can_create_web_public_channel_group: 'channels/settings.ts',
  can_create_write_only_bots_group: NONE,
  can_delete_any_message_group: 'messages/edits/delete.ts',
  can_delete_own_message_group: 'messages/edits/delete.ts',
  can_invite_users_group: 'administration/invitations/terms.ts',
  can_manage_all_groups: 'access/permissions/group-permissions.ts',
  can_manage_billing_group: NONE,
  can_mention_many_users_group: 'messages/sending/mentions.ts',
  can_move_messages_between_channels_group: 'messages/edits/move.ts',
  can_move_messages_between_topics_group: 'messages/edits/move.ts',
  can_resolve_topics_group: 'messages/edits/move.ts',
  can_set_delete_message_policy_group: 'channels/settings.ts',
  can_set_topics_policy_group: 'channels/settings.ts',
  can_summarize_topics_group: NONE,
  create_multiuse_invite_group: 'administration/invitations/terms.ts',
  direct_message_initiator_group: 'messages/direct.ts',
  direct_message_permission_group: 'messages/direct.ts',
};

/** Effects of the settings of channels. The key is the field, column or permission. */
const CHANNEL: Effects = {
  inviteOnly: 'channels/access.ts',
  isWebPublic: 'channels/access.ts',
  historyPublicToSubscribers: 'channels/access.ts',
  isArchived: 'messages/sending/target.ts',
  isDefault: 'channels/subscriptions/default-channels.ts',
  message_retention_days: 'messages/retention/expired.ts',
  topicsPolicy: 'messages/sending/target.ts',
  folderId: CLIENTS,
  can_add_subscribers_group: 'access/permissions/channel-permissions.ts',
  can_administer_channel_group: 'channels/seen-channel.ts',
  can_create_topic_group: 'messages/sending/target.ts',
  can_delete_any_message_group: 'messages/edits/delete.ts',
  can_delete_own_message_group: 'messages/edits/delete.ts',
  can_move_messages_out_of_channel_group: 'messages/edits/move.ts',
  can_move_messages_within_channel_group: 'messages/edits/move.ts',
  can_remove_subscribers_group: 'channels/subscribe.ts',
  can_resolve_topics_group: 'messages/edits/move.ts',
  can_send_message_group: 'messages/sending/target.ts',
  can_subscribe_group: 'access/permissions/channel-permissions.ts',
};

/** Fields of channels that are not settings. `CHANNEL` lists the values in `permissions` by permission. */
const NO_SETTINGS_OF_CHANNELS = [
  ...['id', 'organizationId', 'name', 'description', 'renderedDescription', 'creatorId', 'createdAt'],
  'permissions',
];

/** Modules for the permissions of user groups. */
const GROUP: Effects = {
  can_add_members_group: 'administration/user-groups/members.ts',
  can_join_group: 'administration/user-groups/members.ts',
  can_leave_group: 'administration/user-groups/members.ts',
  can_manage_group: 'access/permissions/group-permissions.ts',
  can_mention_group: 'messages/sending/mentions.ts',
  can_remove_members_group: 'administration/user-groups/members.ts',
};

/**
 * Modules for the user settings that the service implements or that have no effect. Only clients implement all other user
 * settings.
 */
const USER: Effects = {
  timezone: 'access/local-time.ts',
  email_address_visibility: 'access/address.ts',
  receives_typing_notifications: 'messages/typing/queries.ts',
  translate_emoticons: 'messages/sending/content.ts',
  enable_drafts_synchronization: 'messages/drafts/service.ts',
  automatically_follow_topics_policy: 'messages/topic-policies/automatic.ts',
  automatically_unmute_topics_in_muted_streams_policy: 'messages/topic-policies/automatic.ts',
  resolved_topic_notice_auto_read_policy: 'messages/edits/notices.ts',
  presence_enabled: 'people/presence/service.ts',
  send_private_typing_notifications: 'messages/typing/service.ts',
  send_stream_typing_notifications: 'messages/typing/service.ts',
  send_read_receipts: 'messages/flags/receipts.ts',
  enable_stream_email_notifications: 'messages/notifications/decision.ts',
  enable_stream_push_notifications: 'messages/notifications/decision.ts',
  enable_offline_email_notifications: 'messages/notifications/decision.ts',
  enable_offline_push_notifications: 'messages/notifications/decision.ts',
  enable_online_push_notifications: 'messages/notifications/decision.ts',
  message_content_in_email_notifications: 'messages/notifications/mail-parts.ts',
  enable_digest_emails: 'messages/digests/rounds.ts',
  enable_marketing_emails: NONE,
  enable_login_emails: 'administration/sign-in/new-device.ts',
  enable_followed_topic_email_notifications: 'messages/notifications/decision.ts',
  wildcard_mentions_notify: 'messages/notifications/decision.ts',
  enable_followed_topic_wildcard_mentions_notify: 'messages/notifications/decision.ts',
  enable_followed_topic_push_notifications: 'messages/notifications/decision.ts',
  quiet_hours: 'messages/notifications/decision.ts',
  email_notifications_batching_period_seconds: 'messages/notifications/candidates.ts',
  realm_name_in_email_notifications_policy: 'messages/notifications/mail-parts.ts',
  automatically_follow_topics_where_mentioned: 'messages/topic-policies/queries.ts',
  allow_private_data_export: NONE,
};

/** Settings of users that only clients implement: display and notifications. */
const OF_CLIENTS = [
  ...['default_language', 'twenty_four_hour_time', 'web_mark_read_on_scroll_policy', 'web_channel_default_view'],
  ...['starred_message_counts', 'web_suggest_update_timezone', 'display_emoji_reaction_users', 'color_scheme'],
  ...['web_escape_navigates_to_home_view', 'web_navigate_to_sent_message', 'web_left_sidebar_unreads_count_summary'],
  ...['web_inbox_show_channel_folders', 'web_left_sidebar_show_channel_folders', 'fluid_layout_width', 'emojiset'],
  ...['high_contrast_mode', 'left_side_userlist', 'enter_sends', 'hide_ai_features', 'web_font_size_px'],
  ...['web_line_height_percent', 'web_home_view', 'demote_inactive_streams', 'user_list_style'],
  ...['web_animate_image_previews', 'web_stream_unreads_count_display_policy', 'notification_sound', 'enable_sounds'],
  ...['enable_stream_desktop_notifications', 'enable_stream_audible_notifications', 'enable_desktop_notifications'],
  ...['pm_content_in_desktop_notifications', 'desktop_icon_count_display'],
  ...['enable_followed_topic_desktop_notifications', 'enable_followed_topic_audible_notifications'],
];

/** Modules for the settings of subscriptions, by field or column. */
const SUBSCRIPTION: Effects = {
  color: CLIENTS,
  is_muted: 'messages/topic-policies/policies.ts',
  pinToTop: CLIENTS,
  desktopNotifications: CLIENTS,
  audibleNotifications: CLIENTS,
  wildcardMentionsNotify: 'messages/notifications/decision.ts',
  pushNotifications: 'messages/notifications/decision.ts',
  emailNotifications: 'messages/notifications/decision.ts',
};

/** Fields of subscriptions that are not settings. */
const NO_SETTINGS_OF_SUBSCRIPTIONS = ['organizationId', 'userId', 'channelId', 'active'];

/** Modules for the settings of the server, by configuration property. */
const SERVER: Effects = {
  tracing: 'server/serve.ts',
  host: 'server/serve.ts',
  port: 'server/serve.ts',
  externalHost: 'platform/hosts.ts',
  externalScheme: 'platform/hosts.ts',
  allowedOrigins: 'api/cors.ts',
  dataDir: 'platform/db/client.ts',
  databaseUrl: 'server/start.ts',
  databasePoolSize: 'messages/scheduled/worker.ts',
  redisUrl: 'events/bus.ts',
  secretKey: 'server/secret-key.ts',
  previousSecretKey: 'server/secret-key.ts',
  logLevel: 'server/start.ts',
  demo: 'server/demo/demo.ts',
  guardsTransactions: 'platform/db/client.ts',
  checksReplies: 'api/rest/router.ts',
  smtpUrl: 'platform/mail/worker.ts',
  apns: 'platform/push/phones.ts',
  fcm: 'platform/push/phones.ts',
  pushRegistrationKeys: 'messages/notifications/phone-registration.ts',
  mailFrom: 'platform/mail/worker.ts',
  invitationsPerDay: 'administration/organization-limits.ts',
  allowsOrganizationCreation: 'administration/new-organizations/service.ts',
  auditLogMs: 'administration/audit-log/retention.ts',
  rateLimitPerUser: 'platform/rate-limits.ts',
  rateLimitPerIp: 'platform/rate-limits.ts',
  socketsPerUser: 'api/graphql/transports/socket-limits.ts',
  socketsPerIp: 'api/graphql/transports/socket-limits.ts',
  maxSockets: 'api/graphql/transports/socket-limits.ts',
  connectionsPerIp: 'platform/connections.ts',
  maxConnections: 'platform/connections.ts',
  trustedProxies: 'api/rate-limits.ts',
  queryPlans: 'api/graphql/execution/executor.ts',
  persistedDocuments: 'api/graphql/documents/persisted-documents.ts',
  persistedDocumentsOnly: 'api/graphql/documents/persisted-documents.ts',
  anonymousIntrospection: 'api/graphql/transports/server.ts',
  metricsAddress: 'server/health.ts',
  metricsToken: 'server/health.ts',
  bucket: 'platform/object-store.ts',
  scanner: 'access/scanned-uploads.ts',
  metricsByOrganization: 'server/organization-metrics.ts',
  passwordHashCost: 'access/passwords.ts',
  sessionIdleMs: 'access/sessions.ts',
  sessionMs: 'access/sessions.ts',
  jwtKeys: 'administration/sign-in/jwt.ts',
  openidConnectProviders: 'administration/single-sign-on/declared.ts',
  videoProvider: 'administration/organization/update.ts',
  avatarProviderUrl: 'people/avatars/pictures.ts',
  heartbeatMs: 'events/stream.ts',
  queueWriteMs: 'events/queue-positions.ts',
  queuesPerUser: 'events/queue-registry.ts',
  logRetentionMs: 'events/retention.ts',
  logRowsPerOrganization: 'events/retention.ts',
};

const ROOT = join(import.meta.dirname, '../..');

/** Returns every identifier, string and template part of a module below `src`. */
function wordsIn(file: string): Set<string> {
  const text = readFileSync(join(ROOT, 'src', file), 'utf8');
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const words = new Set<string>();
  const add = (value: unknown) => {
    for (const word of typeof value === 'string' ? value.split(/\W+/) : []) words.add(word);
  };
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) {
      for (const one of node) visit(one);
      return;
    }
    if (node === null || typeof node !== 'object') return;
    const { type, name, value, ...children } = node as Record<string, unknown>;
    if (type === 'ImportDeclaration') return;
    if (type === 'Identifier') add(name);
    if (type === 'Literal') add(value);
    if (type === 'TemplateElement') add((value as { readonly raw: string }).raw);
    else visit(value);
    visit(Object.values(children));
  };
  visit(program);
  return words;
}

const unread = (effects: Effects): string[] =>
  Object.entries(effects).flatMap(([name, file]) =>
    file === CLIENTS || file === NONE || wordsIn(file).has(name) ? [] : [`${name} in ${file}`],
  );

const without = (effects: Effects): string[] =>
  Object.entries(effects)
    .filter(([, effect]) => effect === NONE)
    .map(([name]) => name)
    .sort();
const withoutEffect = (settings: Readonly<Record<string, object>>): string[] =>
  Object.entries(settings)
    .filter(([, one]) => 'hasNoEffect' in one && typeof one.hasNoEffect === 'string')
    .map(([name]) => name)
    .sort();

const ALL_OF_USER: Effects = { ...USER, ...Object.fromEntries(OF_CLIENTS.map((name) => [name, CLIENTS])) };

/** Returns the fields of a database table that are settings, sorted. */
const settingsAmong = (columns: Readonly<Record<string, string>>, noSettings: readonly string[]): string[] =>
  Object.keys(columns)
    .filter((field) => !noSettings.includes(field))
    .sort();
/** Returns the names of settings, sorted. Replaces the names of columns by those of their fields. */
const fieldsIn = (effects: Effects, columns: Readonly<Record<string, string>>): string[] => {
  const fields = new Map(Object.entries(columns).map(([field, column]) => [column, field]));
  return Object.keys(effects)
    .filter((name) => !name.startsWith('can_'))
    .map((name) => fields.get(name) ?? name)
    .sort();
};

describe('every setting', () => {
  test('of an organization, a user, a channel and a group is listed with its implementation', () => {
    expect(Object.keys(ORGANIZATION).sort()).toEqual(Object.keys(ORGANIZATION_SETTINGS).sort());
    expect(Object.keys(ORGANIZATION_PERMISSIONS).sort()).toEqual(Object.keys(ORGANIZATION_GROUP_SETTINGS).sort());
    expect(Object.keys(ALL_OF_USER).sort()).toEqual(Object.keys(USER_SETTINGS).sort());
    expect(
      Object.keys(CHANNEL)
        .filter((name) => name.startsWith('can_'))
        .sort(),
    ).toEqual([...CHANNEL_PERMISSION_NAMES].sort());
    expect(fieldsIn(CHANNEL, TABLE_COLUMNS.Channel)).toEqual(
      settingsAmong(TABLE_COLUMNS.Channel, NO_SETTINGS_OF_CHANNELS),
    );
    expect(Object.keys(GROUP).sort()).toEqual([...GROUP_PERMISSION_NAMES].sort());
  });

  test('of a subscription and the server is listed with its implementation', () => {
    expect(fieldsIn(SUBSCRIPTION, TABLE_COLUMNS.Subscription)).toEqual(
      settingsAmong(TABLE_COLUMNS.Subscription, NO_SETTINGS_OF_SUBSCRIPTIONS),
    );
    expect(Object.keys(SERVER).sort()).toEqual(Object.keys(readConfig({})).sort());
  });

  test('that the service implements is read in the listed module', () => {
    const all = [ORGANIZATION, ORGANIZATION_PERMISSIONS, CHANNEL, GROUP, ALL_OF_USER, SUBSCRIPTION, SERVER];
    expect(all.flatMap(unread)).toEqual([]);
  });

  test('without effect is marked so in the source', () => {
    expect(withoutEffect(ORGANIZATION_SETTINGS)).toEqual(without(ORGANIZATION));
    expect(withoutEffect(ORGANIZATION_GROUP_SETTINGS)).toEqual(without(ORGANIZATION_PERMISSIONS));
    expect(withoutEffect(USER_SETTINGS)).toEqual(without(USER));
  });
});

describe('a setting without effect', () => {
  test('has no field, input or name in GraphQL, and every other setting has one', () => {
    const schema = buildSchema(readFileSync(join(ROOT, 'schema.graphql'), 'utf8'));
    const fieldsOf = (type: string) =>
      new Set(Object.keys((schema.getType(type) as GraphQLObjectType | GraphQLInputObjectType).getFields()));
    const named = (name: string) => settingFieldName(name).replace(/Id$/, '');
    for (const [type, effects, nameOf] of [
      ['Organization', ORGANIZATION, named],
      ['OrganizationPermissions', ORGANIZATION_PERMISSIONS, permissionFieldName],
      ['OrganizationPermissionEditsInput', ORGANIZATION_PERMISSIONS, permissionFieldName],
      ['UserSettings', ALL_OF_USER, settingFieldName],
      ['UserSettingsInput', ALL_OF_USER, settingFieldName],
    ] as const) {
      const fields = fieldsOf(type);
      const shown = Object.keys(effects).filter((name) => fields.has(nameOf(name)));
      const expected = Object.keys(effects).filter((name) => effects[name] !== NONE);
      expect([type, shown]).toEqual([type, expected]);
    }
    const names = (type: string) => (schema.getType(type) as GraphQLEnumType).getValues().map(({ value }) => value);
    for (const name of [...without(ORGANIZATION), ...without(USER)]) {
      expect(names('OrganizationSetting').concat(names('UserSetting'))).not.toContain(name.toUpperCase());
    }
  });

  test('is accepted and stored over REST, sent in its events, and documented as without effect', async () => {
    const { owner } = await createOrganization();
    const heard = await owner.receiving({ event_types: ['realm', 'user_settings'] });
    const values = { send_welcome_emails: false, want_advertise_in_communities_directory: true };
    await owner.ok('PATCH', '/realm', values);
    await owner.ok('PATCH', '/settings', { enable_marketing_emails: false });
    const [changed, own] = await heard();
    expect(changed.data).toEqual(values);
    expect(own).toMatchObject({ property: 'enable_marketing_emails', value: false });
    const state = await owner.register();
    expect(state).toMatchObject({
      ...{ realm_send_welcome_emails: false, realm_want_advertise_in_communities_directory: true },
      user_settings: expect.objectContaining({ enable_marketing_emails: false }),
    });
    const { text: document } = await send(owner.url, {
      method: 'GET',
      path: '/api/v1/openapi.json',
      headers: owner.headers,
    });
    // The only one that no endpoint accepts.
    const { owner_full_content_access, ...organization } = ORGANIZATION_SETTINGS;
    const all = { ...organization, ...ORGANIZATION_GROUP_SETTINGS, ...USER_SETTINGS };
    const reasons = Object.values(all).flatMap((one) => ('hasNoEffect' in one ? [noEffect(one.hasNoEffect)] : []));
    expect(reasons).toHaveLength(7);
    expect(reasons.filter((reason) => !document.includes(reason))).toEqual([]);
  });
});
