import { alertWordsState } from '../alert-words/state.ts';
import { botsState } from '../bots/state.ts';
import { channelFoldersState } from '../channel-folders/state.ts';
import { channelsState, defaultChannelsState, subscriptionsState } from '../channels/state.ts';
import { customEmojiState } from '../custom-emoji/state.ts';
import { draftsState } from '../drafts/state.ts';
import {
  maxMessageIdState,
  recentConversationsState,
  starredMessagesState,
  unreadState,
} from '../message-flags/state.ts';
import { navigationViewsState } from '../navigation-views/state.ts';
import { presenceState } from '../presence/state.ts';
import { profileFieldsState } from '../profile-fields/state.ts';
import { realmState } from '../realm/state.ts';
import { realmDomainsState } from '../realm-domains/state.ts';
import { remindersState } from '../reminders/state.ts';
import { savedSnippetsState } from '../saved-snippets/state.ts';
import { scheduledMessagesState } from '../scheduled-messages/state.ts';
import { userDefaultsState } from '../user-defaults/state.ts';
import { userGroupsState } from '../user-groups/state.ts';
import { userStatusState } from '../user-status/state.ts';
import { mutedTopicsState, userTopicsState } from '../user-topics/state.ts';
import { userSettingsState, usersState } from '../users/state.ts';
import { videoCallsState } from '../video-calls/state.ts';
import { emptyGroups } from './empty-groups.ts';
import type { StateGroup } from './state-group.ts';

/** Every data group of registration. A group no room provides is simply absent. */
export const STATE_GROUPS: readonly StateGroup[] = [
  realmState,
  usersState,
  botsState,
  userSettingsState,
  userDefaultsState,
  channelsState,
  subscriptionsState,
  defaultChannelsState,
  channelFoldersState,
  draftsState,
  savedSnippetsState,
  navigationViewsState,
  scheduledMessagesState,
  remindersState,
  userTopicsState,
  mutedTopicsState,
  alertWordsState,
  userStatusState,
  userGroupsState,
  customEmojiState,
  presenceState,
  realmDomainsState,
  profileFieldsState,
  maxMessageIdState,
  unreadState,
  starredMessagesState,
  recentConversationsState,
  videoCallsState,
  ...emptyGroups,
];
