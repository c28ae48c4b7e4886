import type { Json } from './http.ts';

/** The GraphQL fields of a channel that correspond to REST. Requires `GROUP_FRAGMENT`. */
export const CHANNEL_FIELDS = `databaseId name description renderedDescription privacy isArchived
  isRecentlyActive weeklyTraffic topicsPolicy messageRetentionDays createdAt creator { databaseId }
  folder { databaseId } subscriberCount permissions { canSendMessage { ...G } canAdministerChannel { ...G } }`;
export const GROUP_FRAGMENT = `fragment G on GroupSetting {
  group { databaseId } directMembers { databaseId } directSubgroups { databaseId } }`;
const numbers = (objects: readonly Json[]) => objects.map(({ databaseId }) => databaseId);
const toRestSetting = ({ group, directMembers, directSubgroups }: Json) =>
  group === null
    ? { direct_members: numbers(directMembers), direct_subgroups: numbers(directSubgroups) }
    : group.databaseId;
/** Converts a channel from GraphQL to REST. */
export const toRestChannel = (channel: Json) => ({
  ...{ stream_id: channel.databaseId, name: channel.name, description: channel.description },
  ...{ rendered_description: channel.renderedDescription, invite_only: channel.privacy.startsWith('PRIVATE') },
  ...{ is_web_public: channel.privacy === 'WEB_PUBLIC', history_public_to_subscribers: channel.privacy !== 'PRIVATE' },
  ...{ is_archived: channel.isArchived, is_recently_active: channel.isRecentlyActive },
  ...{ stream_weekly_traffic: channel.weeklyTraffic, topics_policy: channel.topicsPolicy.toLowerCase() },
  ...{ message_retention_days: channel.messageRetentionDays, creator_id: channel.creator?.databaseId ?? null },
  ...{
    date_created: Math.floor(Date.parse(channel.createdAt) / 1000),
    folder_id: channel.folder?.databaseId ?? null,
  },
  subscriber_count: channel.subscriberCount,
  can_send_message_group: toRestSetting(channel.permissions.canSendMessage),
  can_administer_channel_group: toRestSetting(channel.permissions.canAdministerChannel),
});
