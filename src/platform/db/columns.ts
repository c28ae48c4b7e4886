import {
  type Channel,
  type ChannelFolder,
  type Conversation,
  type Message,
  Prisma,
  type Reaction,
  type Realm,
  type ScheduledMessage,
  type Session,
  type Subscription,
  type User,
} from '../../generated/prisma/client.ts';

// Columns of the tables whose whole rows are read with SQL. The type checker compares them with the Prisma model, so that a new
// field cannot be omitted.

export const USER_COLUMNS = {
  id: 'id',
  realmId: 'realm_id',
  email: 'email',
  fullName: 'full_name',
  role: 'role',
  isActive: 'is_active',
  botType: 'bot_type',
  botOwnerId: 'bot_owner_id',
  isImportedStub: 'is_imported_stub',
  isPlaceholder: 'is_placeholder',
  isDeleted: 'is_deleted',
  isSystem: 'is_system',
  joinedAt: 'joined_at',
  avatarSource: 'avatar_source',
  avatarVersion: 'avatar_version',
  avatarImageId: 'avatar_image_id',
  passwordHash: 'password_hash',
  settings: 'settings',
  groupIds: 'group_ids',
  fullMemberGroupIds: 'full_member_group_ids',
  defaultSendingChannelId: 'default_sending_channel_id',
  defaultEventsChannelId: 'default_events_channel_id',
  defaultAllPublicChannels: 'default_all_public_channels',
  canCreateUsers: 'can_create_users',
  canChangeUserEmails: 'can_change_user_emails',
  canForgeSender: 'can_forge_sender',
} as const satisfies Record<keyof User, string>;

export const REALM_COLUMNS = {
  id: 'id',
  subdomain: 'subdomain',
  uuid: 'uuid',
  name: 'name',
  description: 'description',
  settings: 'settings',
  deactivatedAt: 'deactivated_at',
  createdAt: 'created_at',
  hasAlertWords: 'has_alert_words',
  userDefaults: 'user_defaults',
} as const satisfies Record<keyof Realm, string>;

export const SESSION_COLUMNS = {
  id: 'id',
  realmId: 'realm_id',
  userId: 'user_id',
  tokenHash: 'token_hash',
  nextHash: 'next_hash',
  previousHash: 'previous_hash',
  tokenAt: 'token_at',
  createdAt: 'created_at',
  lastSeenAt: 'last_seen_at',
  idleExpiresAt: 'idle_expires_at',
  expiresAt: 'expires_at',
  userAgent: 'user_agent',
  networkAddress: 'network_address',
} as const satisfies Record<keyof Session, string>;

export const CHANNEL_COLUMNS = {
  id: 'id',
  realmId: 'realm_id',
  name: 'name',
  description: 'description',
  renderedDescription: 'rendered_description',
  creatorId: 'creator_id',
  createdAt: 'created_at',
  inviteOnly: 'invite_only',
  isWebPublic: 'is_web_public',
  historyPublicToSubscribers: 'history_public_to_subscribers',
  isArchived: 'is_archived',
  isDefault: 'is_default',
  messageRetentionDays: 'message_retention_days',
  topicsPolicy: 'topics_policy',
  folderId: 'folder_id',
  permissions: 'permissions',
} as const satisfies Record<keyof Channel, string>;

export const CHANNEL_FOLDER_COLUMNS = {
  id: 'id',
  realmId: 'realm_id',
  name: 'name',
  description: 'description',
  renderedDescription: 'rendered_description',
  creatorId: 'creator_id',
  createdAt: 'created_at',
  order: 'position',
  isArchived: 'is_archived',
} as const satisfies Record<keyof ChannelFolder, string>;

export const REACTION_COLUMNS = {
  id: 'id',
  realmId: 'realm_id',
  messageId: 'message_id',
  userId: 'user_id',
  emojiName: 'emoji_name',
  emojiCode: 'emoji_code',
  reactionType: 'reaction_type',
} as const satisfies Record<keyof Reaction, string>;

export const CONVERSATION_COLUMNS = {
  id: 'id',
  realmId: 'realm_id',
  memberIds: 'member_ids',
} as const satisfies Record<keyof Conversation, string>;

export const MESSAGE_COLUMNS = {
  realmId: 'realm_id',
  id: 'id',
  senderId: 'sender_id',
  channelId: 'channel_id',
  sentChannelId: 'sent_channel_id',
  conversationId: 'conversation_id',
  topic: 'topic',
  content: 'content',
  renderedContent: 'rendered_content',
  clientName: 'client_name',
  sentAt: 'sent_at',
  sentEventId: 'sent_event_id',
  readBySender: 'read_by_sender',
  channelWildcard: 'channel_wildcard',
  hasLink: 'has_link',
  hasImage: 'has_image',
  hasAttachment: 'has_attachment',
  lastEditedAt: 'last_edited_at',
  lastMovedAt: 'last_moved_at',
  sendToken: 'send_token',
} as const satisfies Record<keyof Message, string>;

export const SUBSCRIPTION_COLUMNS = {
  realmId: 'realm_id',
  userId: 'user_id',
  channelId: 'channel_id',
  active: 'active',
  color: 'color',
  isMuted: 'is_muted',
  pinToTop: 'pin_to_top',
  desktopNotifications: 'desktop_notifications',
  audibleNotifications: 'audible_notifications',
  pushNotifications: 'push_notifications',
  emailNotifications: 'email_notifications',
  wildcardMentionsNotify: 'wildcard_mentions_notify',
} as const satisfies Record<keyof Subscription, string>;

export const SCHEDULED_MESSAGE_COLUMNS = {
  id: 'id',
  realmId: 'realm_id',
  ownerId: 'owner_id',
  kind: 'kind',
  channelId: 'channel_id',
  recipientIds: 'recipient_ids',
  topic: 'topic',
  content: 'content',
  renderedContent: 'rendered_content',
  scheduledAt: 'scheduled_at',
  readBySender: 'read_by_sender',
  clientName: 'client_name',
  state: 'state',
  failureMessage: 'failure_message',
  deliveredMessageId: 'delivered_message_id',
  reminderTargetId: 'reminder_target_id',
  createdAt: 'created_at',
} as const satisfies Record<keyof ScheduledMessage, string>;

/** A row of a result, with the column names that `columnsOf` assigns. */
export type QueryRow = Readonly<Record<string, unknown>>;

/**
 * Returns all columns of a table, for a SELECT from several tables.
 *
 * @param alias Alias of the table in the statement, and prefix of the column names in the result.
 */
export function columnsOf(alias: string, columns: Readonly<Record<string, string>>): Prisma.Sql {
  const selected = Object.entries(columns).map(([field, column]) => `${alias}."${column}" AS "${alias}.${field}"`);
  return Prisma.raw(selected.join(', '));
}

/** Returns all columns of a table, for a SELECT from this table only: each row of the result is a row of the table. */
export function fieldsOf(alias: string, columns: Readonly<Record<string, string>>): Prisma.Sql {
  return Prisma.raw(
    Object.entries(columns)
      .map(([field, column]) => `${alias}."${column}" AS "${field}"`)
      .join(', '),
  );
}

/** Cached pairs of a field and its column name in a result, by list of columns and by alias. */
const names = new WeakMap<object, Map<string, readonly (readonly [field: string, selected: string])[]>>();

function namesOf(alias: string, columns: object): readonly (readonly [field: string, selected: string])[] {
  const byAlias = names.get(columns) ?? new Map<string, readonly (readonly [string, string])[]>();
  names.set(columns, byAlias);
  const known = byAlias.get(alias) ?? Object.keys(columns).map((field) => [field, `${alias}.${field}`] as const);
  byAlias.set(alias, known);
  return known;
}

/** Extracts the row of one table from a row of a result. Every request calls this twice, so the names are cached. */
export function rowOf<T>(row: QueryRow, alias: string, columns: Readonly<Record<keyof T & string, string>>): T {
  const fields: Record<string, unknown> = {};
  for (const [field, selected] of namesOf(alias, columns)) fields[field] = row[selected];
  return fields as T;
}
