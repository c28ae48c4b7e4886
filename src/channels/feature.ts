import type { Feature } from '../api/feature.ts';
import './graphql.ts';
import './graphql-events.ts';
import './graphql-mutations.ts';
import './event-payloads.ts';
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
} from './rest.ts';
import { channelsState, defaultChannelsState, subscriptionsState } from './state.ts';

export const channels: Feature = {
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
  state: [channelsState, subscriptionsState, defaultChannelsState],
};
