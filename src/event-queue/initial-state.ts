import { channelFoldersState } from '../channel-folders/state.ts';
import { channelsState, defaultChannelsState, subscriptionsState } from '../channels/state.ts';
import { draftsState } from '../drafts/state.ts';
import { realmState } from '../realm/state.ts';
import { savedSnippetsState } from '../saved-snippets/state.ts';
import { usersState } from '../users/state.ts';
import type { StateGroup } from './state-group.ts';

/** Every data group of registration. A group no room provides is simply absent. */
export const STATE_GROUPS: readonly StateGroup[] = [
  realmState,
  usersState,
  channelsState,
  subscriptionsState,
  defaultChannelsState,
  channelFoldersState,
  draftsState,
  savedSnippetsState,
];
