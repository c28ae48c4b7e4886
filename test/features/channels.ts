import {
  fresh,
  GRAPHQL_CREATION,
  graphqlPermissions,
  PAGE,
  REST_CREATION,
  restPermissions,
} from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Hoard, heldBy } from '../helpers/piles.ts';

const CHANNELS = {
  fill: (creator: string) => `INSERT INTO channel (realm_id, name, creator_id)
    SELECT $1, 'channel ' || n, ${creator} FROM generate_series(1, $3::int) AS n`,
  rest: ({ member }: Hoard, i: number) =>
    i % 2 === 0
      ? member.rest('POST', '/channels/create', { name: `new ${i}`, subscribers: [] })
      : // `POST /users/me/subscriptions` is the second endpoint that creates channels.
        member.rest('POST', '/users/me/subscriptions', { subscriptions: [{ name: `new ${i}` }] }),
  graphql: (_: Hoard, i: number) => ['createChannel', { name: `new ${i}` }] as const,
};

export const channels: FeatureTests = {
  rest: {
    'GET /streams': () => [
      {
        parameters: {
          include_public: true,
          include_web_public: true,
          include_subscribed: true,
          exclude_archived: false,
          include_all: true,
          include_default: true,
          include_owner_subscribed: false,
          include_can_access_content: true,
        },
      },
    ],
    'GET /streams/{stream_id}': ({ channelId }) => [{ slots: { stream_id: channelId } }],
    'GET /get_stream_id': ({ channelName }) => [{ parameters: { stream: channelName } }],
    'GET /streams/{stream_id}/members': ({ channelId }) => [{ slots: { stream_id: channelId } }],
    'POST /channels/create': (names) => [
      { parameters: { ...REST_CREATION, name: fresh(), description: 'new', subscribers: [names.userId] } },
      { parameters: { name: fresh(), subscribers: [], folder_id: names.folderId } },
      ...restPermissions(names).map(([name, value]) => ({
        parameters: { name: fresh(), subscribers: [], [name]: value },
      })),
    ],
    'PATCH /streams/{stream_id}': (names) => {
      const slots = { stream_id: names.channelId };
      return [
        { slots, parameters: { description: fresh(), topics_policy: 'allow_empty_topic', message_retention_days: 30 } },
        { slots, parameters: { is_private: true, history_public_to_subscribers: false } },
        { slots, parameters: { is_private: false, is_web_public: false, is_default_stream: true } },
        { slots, parameters: { folder_id: names.folderId } },
        ...restPermissions(names).flatMap(([name, value]) => [
          { slots, parameters: { [name]: { new: value } } },
          { slots, parameters: { [name]: { new: value, old: value } } },
        ]),
        { slots: { stream_id: names.archivedId }, parameters: { is_archived: false } },
        { slots, parameters: { new_name: fresh() } },
      ];
    },
    'POST /default_streams': ({ channelId }) => [{ parameters: { stream_id: channelId } }],
    'DELETE /default_streams': ({ channelId }) => [{ parameters: { stream_id: channelId } }],
    'GET /users/{user_id}/channels': ({ userId }) => [{ slots: { user_id: userId } }],
  },
  queries: {
    channel: ({ channelId, channelName }) => [
      { by: { id: globalId('Channel', channelId) } },
      { by: { name: channelName } },
    ],
    channels: ({ folderId }) => [
      { ...PAGE, includeArchived: true, onlyReadable: true, isDefault: false, privacy: ['PUBLIC'] },
      { folderId, isSubscribed: true, nameContains: 'e', orderBy: { field: 'WEEKLY_TRAFFIC', direction: 'DESC' } },
      { orderBy: { field: 'SUBSCRIBER_COUNT' } },
    ],
  },
  mutations: {
    createChannel: (names) => [
      { ...GRAPHQL_CREATION, name: fresh(), description: 'new', subscriberIds: [names.userId] },
      { name: fresh(), folderId: names.folderId },
      { name: fresh(), isPrivate: false, isWebPublic: false, historyPublicToSubscribers: true },
      ...graphqlPermissions(names).map(([permission, value]) => ({
        name: fresh(),
        permissions: { [permission]: value },
      })),
    ],
    updateChannel: (names) => {
      const { channelId } = names;
      return [
        { channelId, description: fresh(), topicsPolicy: 'ALLOW_EMPTY_TOPIC', messageRetentionDays: 30 },
        { channelId, privacy: 'PRIVATE' },
        { channelId, privacy: 'PUBLIC', isDefault: true },
        { channelId, isPrivate: false, isWebPublic: false, historyPublicToSubscribers: true },
        { channelId, folderId: names.folderId },
        ...graphqlPermissions(names).flatMap(([permission, value]) => [
          { channelId, permissions: { [permission]: { new: value } } },
          { channelId, permissions: { [permission]: { new: value, old: value } } },
        ]),
        { channelId, name: fresh() },
      ];
    },
    unarchiveChannel: ({ archivedId }) => [{ channelId: archivedId }],
  },
  nodes: ({ channelId }) => ({ Channel: channelId }),
  piles: {
    channels_per_user: {
      ...CHANNELS,
      fill: ({ sql }) => sql(CHANNELS.fill('$2'), 1_000),
      held: heldBy('channel', 'creator_id = $1'),
      free: "DELETE FROM channel WHERE realm_id = $1 AND creator_id = $2 AND name = 'channel 1'",
    },
    channels: {
      ...CHANNELS,
      // The organization has one channel already.
      fill: ({ sql }) => sql(CHANNELS.fill('NULL'), 4_999),
      held: heldBy('channel', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
      free: "DELETE FROM channel WHERE realm_id = $1 AND name = 'channel 1'",
    },
  },
};
