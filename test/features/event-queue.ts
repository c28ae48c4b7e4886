import type { FeatureTests } from '../helpers/feature.ts';

const REGISTRATION = {
  apply_markdown: true,
  client_gravatar: true,
  include_subscribers: 'partial',
  slim_presence: true,
  presence_history_limit_days: 1,
  event_types: ['drafts'],
  fetch_event_types: ['drafts'],
  all_public_streams: false,
  client_capabilities: { notification_settings_null: true },
  idle_queue_timeout: 60,
  queue_lifespan_secs: 60,
};

const _CAPABILITIES = [
  ...['archivedChannels', 'bulkMessageDeletion', 'emptyTopicName', 'includeDeactivatedGroups'],
  ...['individualEmojiChanges', 'linkifierUrlTemplate', 'notificationSettingsNull', 'simplifiedPresenceEvents'],
  ...['streamTypingNotifications', 'userAvatarUrlFieldOptional', 'userListIncomplete', 'userSettingsObject'],
];

export const eventQueue: FeatureTests = {
  rest: {
    'POST /register': ({ channelName }) => [{ parameters: { ...REGISTRATION, narrow: [['channel', channelName]] } }],
    'GET /events': ({ queueId, channelName }) => [
      { parameters: { queue_id: queueId, last_event_id: -1, dont_block: true } },
      { parameters: { ...REGISTRATION, narrow: [['channel', channelName]], dont_block: true } },
    ],
    'DELETE /events': ({ queueId }) => [{ parameters: { queue_id: queueId } }],
  },
  queries: {
    events: ({ queueId }) => [{ queueId, after: -1 }],
  },
  mutations: {
    acknowledgeEvents: ({ queueId }) => [{ queueId, upTo: 1 }],
    registerEventQueue: ({ channelName, userId }) => [
      {
        ...{ eventTypes: ['DRAFTS'], idleTimeoutSeconds: 60, allPublicChannels: false },
        narrow: { channel: { name: channelName }, topicNamed: 'greetings', senderId: userId, is: ['UNREAD'] },
      },
    ],
    deleteEventQueue: ({ queueId }) => [{ queueId }],
  },
};
