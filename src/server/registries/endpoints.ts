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
  deleteSubscriptions,
  getStream,
  getStreamId,
  getStreamMembers,
  getStreams,
  getSubscriptions,
  getUserChannels,
  getUserSubscription,
  patchStream,
  patchSubscriptionProperty,
  patchSubscriptions,
  postChannelsCreate,
  postDefaultStream,
  postSubscriptionProperties,
  postSubscriptionProperty,
  postSubscriptions,
} from '../../channels/rest.ts';
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

/** Every endpoint, in the order of the interface document; what the document lists elsewhere stands beside its kin. */
export const routes: readonly Endpoint[] = [
  // 4.1, B.2, B.10.2
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
  // 4.2
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
  // 4.3
  postRegister,
  getEventsEndpoint,
  deleteEvents,
  // 4.4
  getChannelFolders,
  postChannelFolder,
  patchChannelFolders,
  patchChannelFolder,
  // 4.5
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
  // 4.6, 4.7
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
  // B.12
  postPresence,
  getPresence,
  getPresenceByEmail,
  getRealmPresence,
  // B.24
  getBots,
  postBot,
  patchBot,
  deleteBot,
  getBotKey,
  postBotKey,
  postOwnKey,
  // 4.8
  getDrafts,
  postDrafts,
  patchDraft,
  deleteDraftEndpoint,
  // 4.9, B.12
  jwtFetchApiKey,
  fetchApiKey,
  // 4.12, B.16
  patchOwnProfileData,
  deleteOwnProfileData,
  getProfileFields,
  postProfileField,
  patchProfileFields,
  patchProfileField,
  deleteProfileFieldEndpoint,
  // 4.13
  postMessagesFlags,
  postMessagesFlagsNarrow,
  postMarkTopicAsRead,
  postMarkStreamAsRead,
  postMarkAllAsRead,
  getReadReceipts,
  // 4.11, B.10.5, B.10.6
  getMessageHistory,
  patchMessage,
  deleteMessageEndpoint,
  // 4.14, B.12
  deleteUser,
  deleteOwnUser,
  postReactivate,
  // 4.15
  getTopics,
  postDeleteTopic,
  postUserTopics,
  patchMutedTopics,
  // 4.10
  postReport,
  // B.10.6
  postReaction,
  deleteReaction,
  // 4.16, B.11
  postTyping,
  postMessageTyping,
  // 4.17
  getNavigationViews,
  postNavigationView,
  patchNavigationView,
  deleteNavigationView,
  // 4.18
  getSavedSnippets,
  postSavedSnippet,
  patchSavedSnippet,
  deleteSavedSnippetEndpoint,
  // 4.20
  getRealmDomains,
  postRealmDomain,
  patchRealmDomain,
  deleteRealmDomain,
  // 4.21
  postVideoCall,
  getVideoCallRegister,
  getVideoCallComplete,
  // B.17
  getCustomEmoji,
  postCustomEmoji,
  deleteCustomEmoji,
  // 4.22
  getServerSettings,
  // B.19
  patchRealm,
];
