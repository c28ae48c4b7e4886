import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import './graphql-events.ts';
import './graphql-mutations.ts';
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
} from './rest.ts';

export const subscriptions: Feature = {
  endpoints: [
    getSubscriptions,
    postSubscriptions,
    patchSubscriptions,
    deleteSubscriptions,
    postSubscriptionProperties,
    postSubscriptionProperty,
    patchSubscriptionProperty,
    getUserSubscription,
    getUserChannels,
  ],
};
