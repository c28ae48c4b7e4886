import { deleteAlertWords, getAlertWords, postAlertWords } from '../alert-words/rest.ts';
import { fetchApiKey, jwtFetchApiKey } from '../auth/rest.ts';
import { deleteAvatar, postAvatar } from '../avatars/rest.ts';
import { deleteBot, getBotKey, getBots, patchBot, postBot, postBotKey, postOwnKey } from '../bots/rest.ts';
import {
  getChannelFolders,
  patchChannelFolder,
  patchChannelFolders,
  postChannelFolder,
} from '../channel-folders/rest.ts';
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
} from '../channels/rest.ts';
import { deleteCustomEmoji, getCustomEmoji, postCustomEmoji } from '../custom-emoji/rest.ts';
import { deleteOwnUser, deleteUser, postReactivate } from '../deactivation/rest.ts';
import { deleteDraftEndpoint, getDrafts, patchDraft, postDrafts } from '../drafts/rest.ts';
import { deleteEvents, getEventsEndpoint, postRegister } from '../event-queue/rest.ts';
import { deleteMessageEndpoint, getMessageHistory, patchMessage } from '../message-edits/rest.ts';
import {
  getReadReceipts,
  postMarkAllAsRead,
  postMarkStreamAsRead,
  postMarkTopicAsRead,
  postMessagesFlags,
  postMessagesFlagsNarrow,
} from '../message-flags/rest.ts';
import {
  getMatchesNarrow,
  getMessage,
  getMessages,
  getTopics,
  postDeleteTopic,
  postMessage,
  postRender,
} from '../messages/rest.ts';
import {
  deleteNavigationView,
  getNavigationViews,
  patchNavigationView,
  postNavigationView,
} from '../navigation-views/rest.ts';
import { getPresence, getPresenceByEmail, getRealmPresence, postPresence } from '../presence/rest.ts';
import {
  deleteOwnProfileData,
  deleteProfileFieldEndpoint,
  getProfileFields,
  patchOwnProfileData,
  patchProfileField,
  patchProfileFields,
  postProfileField,
} from '../profile-fields/rest.ts';
import { deleteReaction, postReaction } from '../reactions/rest.ts';
import { getServerSettings, patchRealm } from '../realm/rest.ts';
import { deleteRealmDomain, getRealmDomains, patchRealmDomain, postRealmDomain } from '../realm-domains/rest.ts';
import { deleteReminderEndpoint, getReminders, postReminder } from '../reminders/rest.ts';
import { postReport } from '../reports/rest.ts';
import {
  deleteSavedSnippetEndpoint,
  getSavedSnippets,
  patchSavedSnippet,
  postSavedSnippet,
} from '../saved-snippets/rest.ts';
import {
  deleteScheduledMessage,
  getScheduledMessages,
  patchScheduledMessage,
  postScheduledMessage,
} from '../scheduled-messages/rest.ts';
import { postMessageTyping, postTyping } from '../typing/rest.ts';
import { patchUserDefaults } from '../user-defaults/rest.ts';
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
} from '../user-groups/rest.ts';
import { getUserStatus, postOwnStatus, postUserStatus } from '../user-status/rest.ts';
import { patchMutedTopics, postUserTopics } from '../user-topics/rest.ts';
import {
  createUser,
  getOwnUser,
  getUser,
  getUserByEmail,
  listUsers,
  patchSettings,
  patchUser,
  patchUserByEmail,
} from '../users/rest.ts';
import { getVideoCallComplete, getVideoCallRegister, postVideoCall } from '../video-calls/rest.ts';
import type { Endpoint } from './endpoint.ts';

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
