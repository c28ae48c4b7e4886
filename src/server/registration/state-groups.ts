import { botsState } from '../../administration/bots/state.ts';
import { realmDomainsState } from '../../administration/domains/state.ts';
import { realmState } from '../../administration/organization/state.ts';
import { userDefaultsState } from '../../administration/user-defaults/state.ts';
import { userGroupsState } from '../../administration/user-groups/state.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { channelFoldersState } from '../../channels/folders/state.ts';
import { channelsState, defaultChannelsState, subscriptionsState } from '../../channels/state.ts';
import { draftsState } from '../../messages/drafts/state.ts';
import {
  maxMessageIdState,
  recentConversationsState,
  starredMessagesState,
  unreadState,
} from '../../messages/flags/state.ts';
import { remindersState } from '../../messages/reminders/state.ts';
import { scheduledMessagesState } from '../../messages/scheduled/state.ts';
import { savedSnippetsState } from '../../messages/snippets/state.ts';
import { mutedTopicsState, userTopicsState } from '../../messages/topic-policies/state.ts';
import { alertWordsState } from '../../people/alert-words/state.ts';
import { customEmojiState } from '../../people/emoji/state.ts';
import { navigationViewsState } from '../../people/navigation-views/state.ts';
import { presenceState } from '../../people/presence/state.ts';
import { profileFieldsState } from '../../people/profile-fields/state.ts';
import { userSettingsState, usersState } from '../../people/state.ts';
import { userStatusState } from '../../people/status/state.ts';
import { videoCallsState } from '../../people/video-calls/state.ts';
import { emptyGroups } from './empty-groups.ts';

/**
 * All groups of state that the registration of a queue can return. If a client requests a group that is not in this list, the
 * name is ignored.
 */
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
