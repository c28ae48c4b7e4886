import type { OrganizationGroupSettingName } from '../organization-settings.ts';
import type { ChannelPermissionName } from './channel-permissions.ts';
import type { GroupPermissionName } from './group-permissions.ts';

// The descriptions of the permissions in both APIs, by their names on the wire.

export const CHANNEL_PERMISSION_MEANINGS: Readonly<Record<ChannelPermissionName, string>> = {
  can_add_subscribers_group: 'Users who can subscribe other users. They can also read the channel if it is private.',
  can_administer_channel_group: 'Users who can change the channel.',
  can_create_topic_group: 'Users who can start topics.',
  can_delete_any_message_group: 'Users who can delete any message of the channel.',
  can_delete_own_message_group: 'Users who can delete their own messages, even if the organization does not permit it.',
  can_move_messages_out_of_channel_group:
    'Users who can move messages to another channel, even if the organization does not permit it.',
  can_move_messages_within_channel_group:
    'Users who can move messages to another topic, even if the organization does not permit it.',
  can_remove_subscribers_group: 'Users who can unsubscribe other users.',
  can_resolve_topics_group: 'Users who can mark topics as resolved, even if the organization does not permit it.',
  can_send_message_group: 'Users who can send messages.',
  can_subscribe_group: 'Users who can subscribe to the channel and read it, even if it is private.',
};

export const GROUP_PERMISSION_MEANINGS: Readonly<Record<GroupPermissionName, string>> = {
  can_add_members_group: 'Users who can add users and groups to the group.',
  can_join_group: 'Users who can join the group.',
  can_leave_group: 'Users who can leave the group.',
  can_manage_group: 'Users who can change everything about the group.',
  can_mention_group: 'Users who can mention the group.',
  can_remove_members_group: 'Users who can remove other users from the group.',
};

export const ORGANIZATION_PERMISSION_MEANINGS: Readonly<Record<OrganizationGroupSettingName, string>> = {
  can_access_all_users_group: 'Users who can see all users. The only accepted value is the group `role:everyone`.',
  can_add_custom_emoji_group: 'Users who can add custom emoji.',
  can_add_subscribers_group: 'Users who can subscribe other users to channels.',
  can_create_bots_group: 'Users who can create bots of every kind.',
  can_create_groups: 'Users who can create user groups.',
  can_create_private_channel_group: 'Users who can create private channels.',
  can_create_public_channel_group: 'Users who can create public channels.',
  can_create_web_public_channel_group:
    'Users who can create channels that can be read without signing in. Must be a role group.',
  can_create_write_only_bots_group: 'Users who can create bots that only send messages.',
  can_delete_any_message_group: 'Users who can delete any message that they can read.',
  can_delete_own_message_group: 'Users who can delete their own messages.',
  can_invite_users_group: 'Users who can invite other users.',
  can_manage_all_groups: 'Users who can change every user group.',
  can_manage_billing_group: 'Users who can manage plans and billing.',
  can_mention_many_users_group: 'Users who can mention all users of a large channel or topic.',
  can_move_messages_between_channels_group: 'Users who can move messages to another channel.',
  can_move_messages_between_topics_group: 'Users who can move messages to another topic.',
  can_resolve_topics_group: 'Users who can mark topics as resolved.',
  can_set_delete_message_policy_group: 'Users who can set the delete permissions of the channels that they administer.',
  can_set_topics_policy_group: 'Users who can set the topics policy of the channels that they administer.',
  can_summarize_topics_group: 'Users who can request summaries of topics.',
  create_multiuse_invite_group: 'Users who can create reusable invitation links.',
  direct_message_initiator_group: 'Users who can start direct conversations.',
  direct_message_permission_group: 'Every direct conversation must include at least one of these users.',
};
