import type { RealmGroupSettingName } from '../realm-settings.ts';
import type { ChannelPermissionName } from './channel-permissions.ts';
import type { GroupPermissionName } from './group-permissions.ts';

// What each permission allows, in the words of both APIs, by its name on the wire.

export const CHANNEL_PERMISSION_MEANINGS: Readonly<Record<ChannelPermissionName, string>> = {
  can_add_subscribers_group: 'May subscribe others, and reads the channel although it is private.',
  can_administer_channel_group: 'May change the channel.',
  can_create_topic_group: 'May start a topic.',
  can_delete_any_message_group: 'May delete any message.',
  can_delete_own_message_group: 'May delete their own messages, besides those the organization lets.',
  can_move_messages_out_of_channel_group: 'May move messages to another channel, besides those the organization lets.',
  can_move_messages_within_channel_group: 'May move messages to another topic, besides those the organization lets.',
  can_remove_subscribers_group: 'May unsubscribe others.',
  can_resolve_topics_group: 'May mark topics as resolved, besides those the organization lets.',
  can_send_message_group: 'May send messages.',
  can_subscribe_group: 'May subscribe to the channel, and reads it, although it is private.',
};

export const GROUP_PERMISSION_MEANINGS: Readonly<Record<GroupPermissionName, string>> = {
  can_add_members_group: 'May put others, and groups, into it.',
  can_join_group: 'May put themselves into it.',
  can_leave_group: 'May take themselves out of it.',
  can_manage_group: 'May change everything about it.',
  can_mention_group: 'May mention it.',
  can_remove_members_group: 'May take others out of it.',
};

export const REALM_PERMISSION_MEANINGS: Readonly<Record<RealmGroupSettingName, string>> = {
  can_access_all_users_group: 'See every user. Everyone.',
  can_add_custom_emoji_group: 'May add custom emoji.',
  can_add_subscribers_group: 'May subscribe others to channels.',
  can_create_bots_group: 'May make bots of every kind.',
  can_create_groups: 'May make user groups.',
  can_create_private_channel_group: 'May make private channels.',
  can_create_public_channel_group: 'May make public channels.',
  can_create_web_public_channel_group: 'May make channels that can be read without signing in. A role group.',
  can_create_write_only_bots_group: 'May make bots that only send.',
  can_delete_any_message_group: 'May delete any message.',
  can_delete_own_message_group: 'May delete their own messages.',
  can_invite_users_group: 'May invite people.',
  can_manage_all_groups: 'May change every user group.',
  can_manage_billing_group: 'May see to plans and bills.',
  can_mention_many_users_group: 'May mention everybody where there are many.',
  can_move_messages_between_channels_group: 'May move messages to another channel.',
  can_move_messages_between_topics_group: 'May move messages to another topic.',
  can_resolve_topics_group: 'May mark topics as resolved.',
  can_set_delete_message_policy_group: 'May set who deletes messages in the channels they administer.',
  can_set_topics_policy_group: 'May set the topics policy of the channels they administer.',
  can_summarize_topics_group: 'May have topics summarized.',
  create_multiuse_invite_group: 'May make links by which anybody comes in.',
  direct_message_initiator_group: 'May begin direct conversations.',
  direct_message_permission_group: 'One of them must take part in a direct conversation.',
};
