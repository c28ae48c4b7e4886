import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { getTopics, postDeleteTopic } from '../rest.ts';

export const topics: Feature = {
  endpoints: [getTopics, postDeleteTopic],
};
