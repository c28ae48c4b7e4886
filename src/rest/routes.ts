import { fetchApiKey } from '../auth/rest.ts';
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
import { deleteDraftEndpoint, getDrafts, patchDraft, postDrafts } from '../drafts/rest.ts';
import { deleteEvents, getEventsEndpoint, postRegister } from '../event-queue/rest.ts';
import { getServerSettings } from '../realm/rest.ts';
import {
  deleteSavedSnippetEndpoint,
  getSavedSnippets,
  patchSavedSnippet,
  postSavedSnippet,
} from '../saved-snippets/rest.ts';
import {
  createUser,
  getOwnUser,
  getUser,
  getUserByEmail,
  listUsers,
  patchUser,
  patchUserByEmail,
} from '../users/rest.ts';
import type { Endpoint } from './endpoint.ts';

/** Every endpoint, in the order of the interface document; what the document lists elsewhere stands beside its kin. */
export const routes: readonly Endpoint[] = [
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
  // 4.8
  getDrafts,
  postDrafts,
  patchDraft,
  deleteDraftEndpoint,
  // 4.9
  fetchApiKey,
  // 4.18
  getSavedSnippets,
  postSavedSnippet,
  patchSavedSnippet,
  deleteSavedSnippetEndpoint,
  // 4.22
  getServerSettings,
];
