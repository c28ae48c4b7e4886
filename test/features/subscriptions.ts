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

export const subscriptions: FeatureTests = {
  rest: {
    'GET /users/me/subscriptions': () => [{ parameters: { include_subscribers: 'partial' } }],
    'POST /users/me/subscriptions': (names) => {
      const known = [{ name: names.channelName, description: 'as it was', color: '#c0ffee' }];
      const unknown = () => [{ name: fresh() }];
      return [
        {
          parameters: {
            ...{ ...REST_CREATION, subscriptions: unknown(), authorization_errors_fatal: false },
            send_new_subscription_messages: false,
          },
        },
        { parameters: { subscriptions: known } },
        { parameters: { subscriptions: known, principals: [names.email] } },
        { parameters: { subscriptions: unknown(), principals: [names.userId] } },
        { parameters: { subscriptions: unknown(), folder_id: names.folderId } },
        ...restPermissions(names).map(([name, value]) => ({ parameters: { subscriptions: unknown(), [name]: value } })),
      ];
    },
    'PATCH /users/me/subscriptions': ({ channelName }) => [
      { parameters: { delete: [channelName] } },
      { parameters: { add: [{ name: channelName }] } },
    ],
    'POST /users/me/subscriptions/properties': ({ channelId }) => [
      { parameters: { subscription_data: [{ stream_id: channelId, property: 'color', value: '#c0ffee' }] } },
      { parameters: { subscription_data: [{ stream_id: channelId, property: 'is_muted', value: true }] } },
    ],
    'POST /users/me/subscriptions/{stream_id}': ({ channelId }) => [
      { slots: { stream_id: channelId }, parameters: { property: 'pin_to_top', value: true } },
    ],
    'PATCH /users/me/subscriptions/{stream_id}': ({ channelId }) => [
      { slots: { stream_id: channelId }, parameters: { property: 'color', value: '"#c0ffee"' } },
    ],
    'DELETE /users/me/subscriptions': ({ channelName, userId, email }) => [
      { parameters: { subscriptions: [channelName] } },
      { parameters: { subscriptions: [channelName], principals: [userId] } },
      { parameters: { subscriptions: [channelName], principals: [email] } },
    ],
    'GET /users/{user_id}/subscriptions/{stream_id}': ({ userId, channelId }) => [
      { slots: { user_id: userId, stream_id: channelId } },
    ],
  },
  queries: {
    subscriptions: () => [{ ...PAGE, includeArchived: true, orderBy: { field: 'CHANNEL_NAME', direction: 'DESC' } }],
  },
  mutations: {
    subscribe: (names) => {
      const unknown = () => [{ channel: { name: fresh() }, description: 'new', color: '#c0ffee' }];
      return [
        { channels: unknown(), newChannels: GRAPHQL_CREATION, skipUnauthorized: false, sendsMessages: false },
        { channels: [{ channel: { id: globalId('Channel', names.channelId) } }] },
        { channels: [{ channel: { name: names.channelName } }] },
        { channels: unknown(), userIds: [names.userId] },
        { channels: unknown(), newChannels: { folderId: names.folderId } },
        ...graphqlPermissions(names).map(([permission, value]) => ({
          channels: unknown(),
          newChannels: { permissions: { [permission]: value } },
        })),
      ];
    },
    updateSubscriptionSettings: ({ channelId }) => [
      {
        subscriptions: [
          {
            ...{ channelId, color: '#c0ffee', isMuted: true, pinToTop: true, desktopNotifications: true },
            ...{ audibleNotifications: true, pushNotifications: true, emailNotifications: true },
            wildcardMentionsNotify: true,
          },
        ],
      },
    ],
    unsubscribe: ({ channelId, channelName, userId }) => [
      { channels: [{ id: globalId('Channel', channelId) }] },
      { channels: [{ name: channelName }] },
      { channels: [{ id: globalId('Channel', channelId) }], userIds: [userId] },
    ],
  },
  nodes: ({ ownerId, channelId }) => ({ ChannelSubscription: `${ownerId}:${channelId}` }),
};
