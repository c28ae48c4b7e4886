import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { patchMutedTopics, postUserTopics } from './rest.ts';
import { mutedTopicsState, userTopicsState } from './state.ts';

export const topicPolicies: Feature = {
  endpoints: [postUserTopics, patchMutedTopics],
  state: [userTopicsState, mutedTopicsState],
};
