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

/** Every endpoint, in the order in which /docs has them. */
export const routes: readonly Endpoint[] = [
  // messages, now and later
  getScheduledMessages,
  postScheduledMessage,
  patchScheduledMessage,
  deleteScheduledMessage,
  getReminders,
  postReminder,
  deleteReminderEndpoint,
  postMessage,
  getMessages,
  getMessage,
  getMatchesNarrow,
  postRender,
  // channels and subscriptions
  getStreams,
  getStream,
  getStreamId,
  getStreamMembers,
  postChannelsCreate,
  patchStream,
  deleteStream,
  postDefaultStream,
  deleteDefaultStream,
  getSubscriptions,
  postSubscriptions,
  patchSubscriptions,
  deleteSubscriptions,
  postSubscriptionProperties,
  postSubscriptionProperty,
  patchSubscriptionProperty,
  getUserSubscription,
  getUserChannels,
  // event queues
  postRegister,
  getEventsEndpoint,
  deleteEvents,
  // channel folders
  getChannelFolders,
  postChannelFolder,
  patchChannelFolders,
  patchChannelFolder,
  // users and their settings
  listUsers,
  getOwnUser,
  getUser,
  getUserByEmail,
  createUser,
  patchUser,
  patchUserByEmail,
  patchSettings,
  postAvatar,
  deleteAvatar,
  patchUserDefaults,
  getAlertWords,
  postAlertWords,
  deleteAlertWords,
  // user groups and statuses
  getUserGroups,
  postUserGroup,
  patchUserGroup,
  postUserGroupDeactivate,
  postUserGroupMembers,
  getUserGroupMembers,
  getUserGroupMember,
  postUserGroupSubgroups,
  getUserGroupSubgroups,
  postUserStatus,
  postOwnStatus,
  getUserStatus,
  // presence
  postPresence,
  getPresence,
  getPresenceByEmail,
  getRealmPresence,
  // bots and API keys
  getBots,
  postBot,
  patchBot,
  deleteBot,
  getBotKey,
  postBotKey,
  postOwnKey,
  // drafts
  getDrafts,
  postDrafts,
  patchDraft,
  deleteDraftEndpoint,
  // signing in
  jwtFetchApiKey,
  fetchApiKey,
  // profiles
  patchOwnProfileData,
  deleteOwnProfileData,
  getProfileFields,
  postProfileField,
  patchProfileFields,
  patchProfileField,
  deleteProfileFieldEndpoint,
  // flags and what is read
  postMessagesFlags,
  postMessagesFlagsNarrow,
  postMarkTopicAsRead,
  postMarkStreamAsRead,
  postMarkAllAsRead,
  getReadReceipts,
  // history, edits and deletion
  getMessageHistory,
  patchMessage,
  deleteMessageEndpoint,
  // leaving and coming back
  deleteUser,
  deleteOwnUser,
  postReactivate,
  // topics
  getTopics,
  postDeleteTopic,
  postUserTopics,
  patchMutedTopics,
  // reports
  postReport,
  // reactions
  postReaction,
  deleteReaction,
  // typing
  postTyping,
  postMessageTyping,
  // navigation views
  getNavigationViews,
  postNavigationView,
  patchNavigationView,
  deleteNavigationView,
  // saved snippets
  getSavedSnippets,
  postSavedSnippet,
  patchSavedSnippet,
  deleteSavedSnippetEndpoint,
  // domains
  getRealmDomains,
  postRealmDomain,
  patchRealmDomain,
  deleteRealmDomain,
  // video calls
  postVideoCall,
  getVideoCallRegister,
  getVideoCallComplete,
  // custom emoji
  getCustomEmoji,
  postCustomEmoji,
  deleteCustomEmoji,
  // the server and the organisation
  getServerSettings,
  patchRealm,
];
