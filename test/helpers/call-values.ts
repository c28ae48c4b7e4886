import { CHANNEL_PERMISSION_NAMES } from '../../src/access/permissions/channel-permissions.ts';
import { settingFieldName } from '../../src/api/graphql/schema/setting-fields.ts';
import { type Settings, withEffect } from '../../src/platform/setting.ts';
import { globalId } from './global-ids.ts';
import type { Parameters } from './person.ts';
import type { Names } from './scene.ts';

let made = 0;
/** Returns a name that no object has yet. */
export const fresh = () => `new ${++made}`;
export const freshAddress = () => `${fresh().replace(' ', '.')}@new.example`;

/** GraphQL arguments for the first page of a list. */
export const PAGE = { first: 10, last: null, after: null, before: null };

/** A time in the year 2100, in the form of REST and in that of GraphQL. */
export const REST_LATER = { scheduled_delivery_timestamp: 4_102_444_800 };
export const LATER = '2100-01-01T00:00:00Z';

/** All parameters of a new channel that do not refer to other objects. */
export const REST_CREATION = {
  announce: false,
  invite_only: false,
  is_web_public: false,
  is_default_stream: false,
  history_public_to_subscribers: true,
  message_retention_days: '"realm_default"',
  topics_policy: 'inherit',
};

export const GRAPHQL_CREATION = {
  ...{ privacy: 'PUBLIC', isDefault: false },
  ...{ topicsPolicy: 'INHERIT', messageRetentionDays: null, isAnnounced: false },
};

/**
 * Returns every permission of a channel as REST parameters. Their values are alternately a group, and lists of members and
 * subgroups.
 */
export const restPermissions = ({ groupId, userId }: Names) =>
  CHANNEL_PERMISSION_NAMES.map(
    (name, i) => [name, i % 2 === 0 ? groupId : { direct_members: [userId], direct_subgroups: [groupId] }] as const,
  );

const PERMISSIONS = [
  ...['canAddSubscribers', 'canAdministerChannel', 'canCreateTopic', 'canDeleteAnyMessage', 'canDeleteOwnMessage'],
  ...['canMoveMessagesOutOfChannel', 'canMoveMessagesWithinChannel', 'canRemoveSubscribers', 'canResolveTopics'],
  ...['canSendMessage', 'canSubscribe'],
];

/**
 * Returns every permission of a channel as GraphQL fields. Their values are alternately a group, and lists of members and
 * subgroups.
 */
export const graphqlPermissions = ({ groupId, userId }: Names) =>
  PERMISSIONS.map(
    (name, i) =>
      [name, i % 2 === 0 ? { groupId } : { direct: { memberIds: [userId], subgroupIds: [groupId] } }] as const,
  );

/** Returns the initial value of every setting, by its REST name. */
export const restInitial = (settings: Readonly<Record<string, { readonly initial: unknown }>>) =>
  Object.fromEntries(Object.entries(settings).map(([name, { initial }]) => [name, initial]));

/** Returns the initial value of every setting that has an effect, by its GraphQL name. */
export const graphqlInitial = (settings: Settings) =>
  Object.fromEntries(
    Object.entries(withEffect(settings)).map(([name, { initial, names, choices }]) => {
      const choice = Object.entries(choices?.values ?? {}).find(([, [value]]) => value === initial);
      // For settings that refer to an object, null means none.
      return [settingFieldName(name), names ? null : (choice?.[0] ?? initial)];
    }),
  );

/** Returns narrows that together contain every term that refers to an object. */
export const restNarrows = ({ channelId, channelName, userId, email, messageId }: Names) => [
  [{ operator: 'channel', operand: channelId }],
  [['channel', channelName]],
  [{ operator: 'sender', operand: userId, negated: true }],
  [{ operator: 'sender', operand: email }],
  [{ operator: 'dm', operand: [userId] }],
  [{ operator: 'dm', operand: email }],
  [{ operator: 'dm-including', operand: userId }],
  [{ operator: 'mentions', operand: email }],
  [{ operator: 'id', operand: messageId }],
  [{ operator: 'with', operand: messageId }],
];

/** Returns narrows of messages that together use every field. */
export const graphqlNarrows = ({ channelId, channelName, messageId, userId }: Names): readonly Parameters[] => {
  const channel = { id: globalId('Channel', channelId) };
  const said = {
    topicNamed: 'greetings',
    senderId: userId,
    is: ['UNREAD'],
    has: ['LINK'],
    mentionsUserId: userId,
    search: 'hello',
  };
  return [
    { ...said, channel, with: messageId },
    { channel: { name: channelName }, channels: 'PUBLIC', not: { ...said, channel, channels: 'WEB_PUBLIC' } },
    { directWith: [userId], directIncluding: userId, not: { directWith: [userId], directIncluding: userId } },
  ];
};
