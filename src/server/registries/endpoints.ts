import {
  deleteBot,
  getBotKey,
  getBots,
  patchBot,
  postBot,
  postBotKey,
  postOwnKey,
} from '../../administration/bots/rest.ts';
import { deleteOwnUser, deleteUser, postReactivate } from '../../administration/deactivation/rest.ts';
import {
  deleteRealmDomain,
  getRealmDomains,
  patchRealmDomain,
  postRealmDomain,
} from '../../administration/domains/rest.ts';
import { getServerSettings, patchRealm } from '../../administration/organization/rest.ts';
import {
  deleteCurrentSession,
  deleteOtherSessions,
  deleteSession,
  getSessions,
  postSession,
} from '../../administration/sessions/rest.ts';
import { fetchApiKey, jwtFetchApiKey } from '../../administration/sign-in/rest.ts';
import { patchUserDefaults } from '../../administration/user-defaults/rest.ts';
import {
  getUserGroupMember,
  getUserGroupMembers,
  getUserGroupSubgroups,
  getUserGroups,
  patchUserGroup,
  postUserGroup,
  postUserGroupDeactivate,
  postUserGroupMembers,
  postUserGroupSubgroups,
} from '../../administration/user-groups/rest.ts';
import {
  createUser,
  getOwnUser,
  getUser,
  getUserByEmail,
  listUsers,
  patchSettings,
  patchUser,
  patchUserByEmail,
} from '../../administration/users/rest.ts';
import type { Endpoint } from '../../api/rest/endpoint.ts';
import {
  getChannelFolders,
  patchChannelFolder,
  patchChannelFolders,
  postChannelFolder,
} from '../../channels/folders/rest.ts';
import {
  deleteDefaultStream,
  deleteStream,
  getStream,
  getStreamId,
  getStreamMembers,
  getStreams,
  patchStream,
  postChannelsCreate,
  postDefaultStream,
} from '../../channels/rest.ts';
import {
  deleteSubscriptions,
  getSubscriptions,
  getUserChannels,
  getUserSubscription,
  patchSubscriptionProperty,
  patchSubscriptions,
  postSubscriptionProperties,
  postSubscriptionProperty,
  postSubscriptions,
} from '../../channels/subscriptions/rest.ts';
import { deleteDraftEndpoint, getDrafts, patchDraft, postDrafts } from '../../messages/drafts/rest.ts';
import { deleteMessageEndpoint, getMessageHistory, patchMessage } from '../../messages/edits/rest.ts';
import {
  getReadReceipts,
  postMarkAllAsRead,
  postMarkStreamAsRead,
  postMarkTopicAsRead,
  postMessagesFlags,
  postMessagesFlagsNarrow,
} from '../../messages/flags/rest.ts';
import { deleteReaction, postReaction } from '../../messages/reactions/rest.ts';
import { deleteReminderEndpoint, getReminders, postReminder } from '../../messages/reminders/rest.ts';
import { postReport } from '../../messages/reports/rest.ts';
import {
  getMatchesNarrow,
  getMessage,
  getMessages,
  getTopics,
  postDeleteTopic,
  postMessage,
  postRender,
} from '../../messages/rest.ts';
import {
  deleteScheduledMessage,
  getScheduledMessages,
  patchScheduledMessage,
  postScheduledMessage,
} from '../../messages/scheduled/rest.ts';
import {
  deleteSavedSnippetEndpoint,
  getSavedSnippets,
  patchSavedSnippet,
  postSavedSnippet,
} from '../../messages/snippets/rest.ts';
import { patchMutedTopics, postUserTopics } from '../../messages/topic-policies/rest.ts';
import { postMessageTyping, postTyping } from '../../messages/typing/rest.ts';
import { deleteAlertWords, getAlertWords, postAlertWords } from '../../people/alert-words/rest.ts';
import { deleteAvatar, postAvatar } from '../../people/avatars/rest.ts';
import { deleteCustomEmoji, getCustomEmoji, postCustomEmoji } from '../../people/emoji/rest.ts';
import {
  deleteNavigationView,
  getNavigationViews,
  patchNavigationView,
  postNavigationView,
} from '../../people/navigation-views/rest.ts';
import { getPresence, getPresenceByEmail, getRealmPresence, postPresence } from '../../people/presence/rest.ts';
import {
  deleteOwnProfileData,
  deleteProfileFieldEndpoint,
  getProfileFields,
  patchOwnProfileData,
  patchProfileField,
  patchProfileFields,
  postProfileField,
} from '../../people/profile-fields/rest.ts';
import { getUserStatus, postOwnStatus, postUserStatus } from '../../people/status/rest.ts';
import { getVideoCallComplete, getVideoCallRegister, postVideoCall } from '../../people/video-calls/rest.ts';
import { deleteEvents, getEventsEndpoint, postRegister } from '../registration/rest.ts';

/** A group of related endpoints. */
export interface Feature {
  readonly name: string;
  /** Description for /docs: one sentence. Absent if the name is sufficient. */
  readonly about?: string;
  readonly endpoints: readonly Endpoint[];
}

/** All endpoints, grouped by feature, in the order of the page /docs. */
export const features: readonly Feature[] = [
  {
    name: 'Messages',
    about: 'Send, read, search, edit and delete messages.',
    endpoints: [
      postMessage,
      getMessages,
      getMessage,
      patchMessage,
      deleteMessageEndpoint,
      getMessageHistory,
      getMatchesNarrow,
      postRender,
      postReport,
    ],
  },
  {
    name: 'Message flags and read status',
    about: 'Starred, collapsed and read messages, and read receipts.',
    endpoints: [
      postMessagesFlags,
      postMessagesFlagsNarrow,
      postMarkTopicAsRead,
      postMarkStreamAsRead,
      postMarkAllAsRead,
      getReadReceipts,
    ],
  },
  {
    name: 'Reactions and typing',
    endpoints: [postReaction, deleteReaction, postTyping, postMessageTyping],
  },
  {
    name: 'Topics',
    about: 'Topics group the messages of a channel. Users can mute and follow them.',
    endpoints: [getTopics, postDeleteTopic, postUserTopics, patchMutedTopics],
  },
  {
    name: 'Scheduled messages and reminders',
    about: 'Messages that the server sends at a given time, and reminders of existing messages.',
    endpoints: [
      getScheduledMessages,
      postScheduledMessage,
      patchScheduledMessage,
      deleteScheduledMessage,
      getReminders,
      postReminder,
      deleteReminderEndpoint,
    ],
  },
  {
    name: 'Drafts',
    endpoints: [getDrafts, postDrafts, patchDraft, deleteDraftEndpoint],
  },
  {
    name: 'Saved snippets',
    about: 'Texts that users save to use again.',
    endpoints: [getSavedSnippets, postSavedSnippet, patchSavedSnippet, deleteSavedSnippetEndpoint],
  },
  {
    name: 'Channels',
    endpoints: [
      getStreams,
      getStream,
      getStreamId,
      getStreamMembers,
      postChannelsCreate,
      patchStream,
      deleteStream,
      postDefaultStream,
      deleteDefaultStream,
    ],
  },
  {
    name: 'Subscriptions',
    about: 'Subscribers of channels, and settings of subscriptions.',
    endpoints: [
      getSubscriptions,
      postSubscriptions,
      patchSubscriptions,
      deleteSubscriptions,
      postSubscriptionProperties,
      postSubscriptionProperty,
      patchSubscriptionProperty,
      getUserSubscription,
      getUserChannels,
    ],
  },
  {
    name: 'Channel folders',
    endpoints: [getChannelFolders, postChannelFolder, patchChannelFolders, patchChannelFolder],
  },
  {
    name: 'Event queues',
    about: 'Queues of all changes. GraphQL reads the same queues over WebSocket and server-sent events.',
    endpoints: [postRegister, getEventsEndpoint, deleteEvents],
  },
  {
    name: 'Users',
    endpoints: [
      listUsers,
      getOwnUser,
      getUser,
      getUserByEmail,
      createUser,
      patchUser,
      patchUserByEmail,
      deleteUser,
      deleteOwnUser,
      postReactivate,
    ],
  },
  {
    name: 'Your settings',
    about: 'Avatar, preferences, alert words and views in the sidebar.',
    endpoints: [
      patchSettings,
      postAvatar,
      deleteAvatar,
      getAlertWords,
      postAlertWords,
      deleteAlertWords,
      getNavigationViews,
      postNavigationView,
      patchNavigationView,
      deleteNavigationView,
    ],
  },
  {
    name: 'Profiles',
    about: 'Custom profile fields of the organization, and their values.',
    endpoints: [
      patchOwnProfileData,
      deleteOwnProfileData,
      getProfileFields,
      postProfileField,
      patchProfileFields,
      patchProfileField,
      deleteProfileFieldEndpoint,
    ],
  },
  {
    name: 'Statuses and presence',
    endpoints: [
      postUserStatus,
      postOwnStatus,
      getUserStatus,
      postPresence,
      getPresence,
      getPresenceByEmail,
      getRealmPresence,
    ],
  },
  {
    name: 'User groups',
    endpoints: [
      getUserGroups,
      postUserGroup,
      patchUserGroup,
      postUserGroupDeactivate,
      postUserGroupMembers,
      getUserGroupMembers,
      getUserGroupMember,
      postUserGroupSubgroups,
      getUserGroupSubgroups,
    ],
  },
  {
    name: 'Bots',
    endpoints: [getBots, postBot, patchBot, deleteBot, getBotKey, postBotKey],
  },
  {
    name: 'Signing in',
    about: 'API keys, and sessions of browsers.',
    endpoints: [
      fetchApiKey,
      jwtFetchApiKey,
      postOwnKey,
      postSession,
      getSessions,
      deleteSession,
      deleteCurrentSession,
      deleteOtherSessions,
    ],
  },
  {
    name: 'Video calls',
    endpoints: [postVideoCall, getVideoCallRegister, getVideoCallComplete],
  },
  {
    name: 'The organization',
    endpoints: [
      getServerSettings,
      patchRealm,
      patchUserDefaults,
      getRealmDomains,
      postRealmDomain,
      patchRealmDomain,
      deleteRealmDomain,
      getCustomEmoji,
      postCustomEmoji,
      deleteCustomEmoji,
    ],
  },
];

export const routes: readonly Endpoint[] = features.flatMap(({ endpoints }) => endpoints);
