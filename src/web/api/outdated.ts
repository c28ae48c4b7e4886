import { mapExchange } from 'urql';
import { createStore } from '../base/store.ts';

/**
 * Whether the service rejects the GraphQL documents of this page, because the service was upgraded and now serves a newer page.
 */
export const isOutdated = createStore(false);

/**
 * Sets `isOutdated` after a validation error. Such an error means that the service was upgraded, because the version that
 * served the page accepts all documents of the page.
 */
export const outdatedExchange = mapExchange({
  onError({ graphQLErrors }) {
    if (graphQLErrors.some(({ extensions }) => extensions['code'] === 'GRAPHQL_VALIDATION_FAILED'))
      isOutdated.set(true);
  },
});
