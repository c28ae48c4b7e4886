import type { AuditAction, AuditActorKind, AuditLogLineFragment, AuditObjectType } from '../generated/graphql.ts';

/** Texts of the actions, which follow the name of the actor. `…` stands for the object. */
export const ACTION_WORDS: Readonly<Record<AuditAction, string>> = {
  SIGNED_IN: 'signed in',
  SIGN_IN_FAILED: 'failed to sign in as …',
  SIGNED_OUT: 'signed out',
  SESSIONS_ENDED: 'ended sessions of …',
  API_KEY_REPLACED: 'replaced the API key of …',
  API_KEY_CREATED: 'created the API key …',
  API_KEY_RENAMED: 'renamed the API key …',
  API_KEYS_REVOKED: 'revoked API keys of …',
  API_KEY_READ: 'read the API key of …',
  SECOND_FACTOR_ADDED: 'added a second factor to …',
  SECOND_FACTOR_REMOVED: 'removed the authenticator app of …',
  SECOND_FACTOR_RESET: 'reset second factors of …',
  RECOVERY_CODES_REPLACED: 'replaced the recovery codes of …',
  RECOVERY_CODE_USED: 'used a recovery code of …',
  PASSKEY_ADDED: 'added a passkey to …',
  PASSKEY_RENAMED: 'renamed a passkey of …',
  PASSKEY_REMOVED: 'removed a passkey of …',
  PASSWORD_CHANGED: 'changed the password of …',
  PASSWORD_RESET_REQUESTED: 'requested a new password for …',
  PASSWORD_RESET: 'used a link to set a new password for …',
  EMAIL_CHANGE_REQUESTED: 'requested another email address for …',
  EMAIL_CHANGED: 'changed the email address of …',
  USER_CREATED: 'created the account of …',
  USER_RENAMED: 'renamed …',
  USER_ROLE_CHANGED: 'changed the role of …',
  USER_RIGHTS_CHANGED: 'granted or revoked a right of …',
  USER_SETTINGS_CHANGED: 'changed settings of …',
  USER_PROFILE_CHANGED: 'changed the profile of …',
  USER_AVATAR_CHANGED: 'changed the picture of …',
  USER_DEACTIVATED: 'deactivated …',
  USER_REACTIVATED: 'reactivated …',
  USER_ERASED: 'erased the personal data of …',
  BOT_OWNER_CHANGED: 'changed the owner of …',
  BOT_CHANGED: 'changed …',
  INVITATION_CREATED: 'created an invitation',
  INVITATION_RESENT: 'sent an invitation again',
  INVITATION_REVOKED: 'revoked an invitation',
  INVITATION_ACCEPTED: 'joined with an invitation',
  GROUP_CREATED: 'created the group …',
  GROUP_CHANGED: 'changed the group …',
  GROUP_DEACTIVATED: 'deactivated the group …',
  GROUP_REACTIVATED: 'reactivated the group …',
  GROUP_MEMBERS_ADDED: 'added members to the group …',
  GROUP_MEMBERS_REMOVED: 'removed members from the group …',
  GROUP_SUBGROUPS_ADDED: 'added subgroups to the group …',
  GROUP_SUBGROUPS_REMOVED: 'removed subgroups from the group …',
  CHANNEL_CREATED: 'created the channel …',
  CHANNEL_CHANGED: 'changed the channel …',
  CHANNEL_ARCHIVED: 'archived the channel …',
  CHANNEL_UNARCHIVED: 'restored the channel …',
  CHANNEL_SUBSCRIBERS_ADDED: 'subscribed other users to the channel …',
  CHANNEL_SUBSCRIBERS_REMOVED: 'unsubscribed other users from the channel …',
  CHANNEL_FOLDER_CREATED: 'created the folder …',
  CHANNEL_FOLDER_CHANGED: 'changed the folder …',
  CHANNEL_FOLDERS_REORDERED: 'reordered the folders',
  TOPIC_DELETED: 'deleted messages of a topic in the channel …',
  MESSAGES_DELETED: 'deleted messages of …',
  ORGANIZATION_CREATED: 'created the organization',
  ORGANIZATION_CHANGED: 'changed settings of the organization',
  ORGANIZATION_SUSPENDED: 'suspended the organization',
  ORGANIZATION_RESUMED: 'resumed the organization',
  ORGANIZATION_DELETED: 'deleted the organization',
  ORGANIZATION_RESTORED: 'restored the organization',
  ORGANIZATION_MOVE_BEGUN: 'began to move the organization to another database',
  ORGANIZATION_MOVED: 'moved the organization to this database',
  IDENTITY_PROVIDER_CREATED: 'added the provider …',
  IDENTITY_PROVIDER_CHANGED: 'changed the provider …',
  IDENTITY_PROVIDER_DELETED: 'removed the provider …',
  IDENTITY_LINKED: 'linked an identity to …',
  IDENTITY_UNLINKED: 'unlinked an identity from …',
  OWNER_LINK_CREATED: 'created a link for a new owner',
  USER_DEFAULTS_CHANGED: 'changed default settings of new users',
  DOMAIN_ADDED: 'allowed the domain …',
  DOMAIN_CHANGED: 'changed the domain …',
  DOMAIN_REMOVED: 'removed the domain …',
  EMOJI_ADDED: 'added the emoji …',
  EMOJI_DEACTIVATED: 'deactivated the emoji …',
  PROFILE_FIELD_CREATED: 'created the profile field …',
  PROFILE_FIELD_CHANGED: 'changed the profile field …',
  PROFILE_FIELD_DELETED: 'deleted the profile field …',
  PROFILE_FIELDS_REORDERED: 'reordered the profile fields',
  AUDIT_LOG_EXPORTED: 'exported the audit log',
};

/** Names of the kinds of objects, for a list of them. */
export const OBJECT_WORDS: Readonly<Record<AuditObjectType, string>> = {
  API_KEY: 'API keys',
  CHANNEL: 'Channels',
  CHANNEL_FOLDER: 'Channel folders',
  EMOJI: 'Custom emoji',
  DOMAIN: 'Domains',
  USER_GROUP: 'Groups',
  IDENTITY_PROVIDER: 'Identity providers',
  INVITATION: 'Invitations',
  ORGANIZATION: 'Organization',
  PROFILE_FIELD: 'Profile fields',
  USER: 'Users',
};

const ACTOR_WORDS: Readonly<Record<Exclude<AuditActorKind, 'USER'>, string>> = {
  OPERATOR: "The server's operator",
  VISITOR: 'A visitor',
  SYSTEM: 'The service',
};

/** Returns the name of the actor of an entry. */
export const actorOf = ({ actorKind, actor }: AuditLogLineFragment): string =>
  actorKind === 'USER' ? (actor?.fullName ?? 'A user') : ACTOR_WORDS[actorKind];

/** Returns the name of the object of an entry. */
export function objectOf(entry: AuditLogLineFragment): string {
  const { action, objectType, objectName, user, actor } = entry;
  if (objectType === 'USER') {
    if (user === null) return 'an unknown account';
    if (user.id === actor?.id) return 'their own account';
    return user.isBot ? `the bot ${user.fullName}` : user.fullName;
  }
  if (action === 'MESSAGES_DELETED') return `other users in the channel ${objectName ?? ''}`;
  if (objectType === 'ORGANIZATION') return 'an unknown account';
  return objectName ?? '';
}

/** Returns the text of the action of an entry. Entries about revocations are about one key, or about the user of several keys. */
const wordsOf = ({ action, objectType }: AuditLogLineFragment): string =>
  action === 'API_KEYS_REVOKED' && objectType === 'API_KEY' ? 'revoked the API key …' : ACTION_WORDS[action];

/** Returns the text of an entry in three parts: before the object, the object, and after it. */
export function sentenceOf(entry: AuditLogLineFragment): readonly [string, string | undefined, string] {
  const [before = '', after] = wordsOf(entry).split('…');
  return [before, after === undefined ? undefined : objectOf(entry), after ?? ''];
}

/** Returns the words for an action without an object, for a list of actions. */
export function labelOf(action: AuditAction): string {
  const words = ACTION_WORDS[action].replace('…', '').replace(/\s+/g, ' ').trim();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`.replace(/ (of|as|for|to|from)$/, '');
}
