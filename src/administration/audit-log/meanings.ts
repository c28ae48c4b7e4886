import type { AuditAction, AuditActorKind, AuditObjectType } from '../../events/audit.ts';

/** Descriptions of all actions, for the documentation. */
export const ACTION_MEANINGS: Readonly<Record<AuditAction, string>> = {
  signed_in:
    'The user signed in. `credential` in `changes` is what the user got: a session or the API key. `method` is how the user ' +
    'proved their identity: `password`, `password and second factor`, `passkey`, `single sign-on`, `web token`, `browser` ' +
    '(another browser passed its sign-in on), `new account` or `demo`.',
  sign_in_failed:
    'A sign-in failed. Of the failures from one IP address within an hour, only the first, second, fourth, eighth and so ' +
    'on are recorded. `changes` contains the number of failures so far.',
  signed_out: 'The user signed out of a browser.',
  sessions_ended: 'Sessions of the user were ended.',
  api_key_replaced: 'The default API key of the user was replaced.',
  api_key_created: 'An API key with a name and scopes was created for the user.',
  api_key_renamed: 'An API key of the user was renamed.',
  api_keys_revoked:
    'An API key of a user was revoked. Each key has its own entry. Old entries about several keys are about the user.',
  api_key_read:
    'The default API key of the user was read by the operator or, for a bot, by a user who does not own it.',
  second_factor_added: 'The user added an authenticator app as a second factor.',
  second_factor_removed: 'The user removed the authenticator app.',
  second_factor_reset: 'Second factors of the user were removed by an administrator or the operator.',
  recovery_codes_replaced: 'The user got new recovery codes.',
  recovery_code_used: 'The user signed in with a recovery code.',
  passkey_added: 'The user added a passkey.',
  passkey_renamed: 'The user renamed a passkey.',
  passkey_removed: 'The user removed a passkey.',
  password_changed: 'The password of the user was changed.',
  password_reset_requested: 'A link to choose a new password was requested for the user.',
  password_reset: 'The user set a new password with a password reset link.',
  email_change_requested: 'The user requested to use another email address.',
  email_changed: 'The email address of the user was changed.',
  user_created: 'The user was created.',
  user_renamed: 'The user was renamed by another user.',
  user_role_changed: 'The role of the user was changed.',
  user_rights_changed:
    'The operator granted or revoked a right of the user. `changes` names it: `can_create_users` or ' +
    '`can_change_user_emails`. Old entries can name `can_forge_sender`, which had no effect.',
  user_settings_changed: 'Settings of the user were changed by another user.',
  user_profile_changed: 'The profile or the status of the user was changed by another user.',
  user_avatar_changed: 'The avatar of the user was changed by another user.',
  user_deactivated: 'The user was deactivated.',
  user_reactivated: 'The user was reactivated.',
  user_erased: 'The personal data of the user was erased.',
  bot_owner_changed: 'The owner of the bot was changed.',
  bot_changed: 'Default channels of the bot were changed.',
  invitation_created: 'An invitation was created.',
  invitation_resent: 'The email of an invitation was sent again.',
  invitation_revoked: 'An invitation was revoked.',
  invitation_accepted: 'The actor joined the organization with an invitation.',
  group_created: 'A group was created.',
  group_changed: 'Name, description or permissions of a group were changed.',
  group_deactivated: 'A group was deactivated.',
  group_reactivated: 'A group was reactivated.',
  group_members_added: 'Users were added to a group.',
  group_members_removed: 'Users were removed from a group.',
  group_subgroups_added: 'Subgroups were added to a group.',
  group_subgroups_removed: 'Subgroups were removed from a group.',
  channel_created: 'A channel was created.',
  channel_changed: 'Properties or permissions of a channel were changed.',
  channel_archived: 'A channel was archived.',
  channel_unarchived: 'A channel was restored from the archive.',
  channel_subscribers_added: 'The actor subscribed other users to a channel.',
  channel_subscribers_removed: 'The actor unsubscribed other users from a channel.',
  channel_folder_created: 'A channel folder was created.',
  channel_folder_changed: 'A channel folder was changed, archived or restored.',
  channel_folders_reordered: 'The channel folders were reordered.',
  topic_deleted:
    'Messages of a topic were deleted by an administrator. `changes` names the topic unless the channel is private. A long ' +
    'topic has an entry for each 100 messages.',
  messages_deleted:
    'Messages of another user were deleted. The object is the channel. For direct messages, and for messages that were ' +
    'erased when their sender was deactivated, it is the sender.',
  organization_created: 'The organization was created.',
  organization_changed: 'Profile, settings or permissions of the organization were changed.',
  user_defaults_changed: 'A default setting of new users was changed.',
  domain_added: 'A domain was added whose email addresses can be used to join.',
  domain_changed: 'The subdomains of an allowed domain were allowed or disallowed.',
  domain_removed: 'A domain was removed whose email addresses could be used to join.',
  emoji_added: 'A custom emoji was added.',
  emoji_deactivated: 'A custom emoji was deactivated.',
  profile_field_created: 'A custom profile field was created.',
  profile_field_changed: 'A custom profile field was changed.',
  profile_field_deleted: 'A custom profile field was deleted.',
  profile_fields_reordered: 'The custom profile fields were reordered.',
  organization_suspended: "The server's operator suspended the organization.",
  organization_resumed: "The server's operator resumed the organization.",
  organization_deleted: "The server's operator deleted the organization. It is erased after a grace period.",
  organization_restored: "The server's operator restored the organization before it was erased.",
  organization_move_begun: "The server's operator began to move the organization to another database.",
  organization_moved: 'The organization has been moved to this database.',
  owner_link_created: "The server's operator created a link with which a person becomes an owner.",
  identity_provider_created: 'An identity provider was added.',
  identity_provider_changed: 'An identity provider was changed.',
  identity_provider_deleted: 'An identity provider was removed.',
  identity_linked: 'A user signed in with an identity provider for the first time, and the account was linked to it.',
  identity_unlinked: 'An identity at an identity provider was unlinked from a user.',
  audit_log_exported: 'The audit log was exported.',
};

/** Descriptions of all kinds of objects, for the documentation. */
export const OBJECT_MEANINGS: Readonly<Record<AuditObjectType, string>> = {
  organization: 'The organization itself.',
  user: 'A user: a person or a bot.',
  user_group: 'A group.',
  channel: 'A channel.',
  channel_folder: 'A channel folder.',
  domain: 'A domain whose email addresses can be used to join.',
  emoji: 'A custom emoji.',
  profile_field: 'A custom profile field.',
  invitation: 'An invitation.',
  identity_provider: 'An identity provider.',
  api_key: 'An API key with a name.',
};

/** Descriptions of all kinds of actors, for the documentation. */
export const ACTOR_MEANINGS: Readonly<Record<AuditActorKind, string>> = {
  user: 'A user of the organization.',
  operator: "The server's operator, by a command.",
  visitor: 'A client that is not signed in.',
  system: 'The service itself.',
};
