import { mapExchange } from 'urql';
import { createStore } from './store.ts';

/** Whether the service rejects the page's documents, because it was upgraded and now serves a newer page. */
export const isOutdated = createStore(false);

/** Detects validation errors: all documents were valid for the version that served the page. */
export const outdatedExchange = mapExchange({
  onError({ graphQLErrors }) {
    if (graphQLErrors.some(({ extensions }) => extensions['code'] === 'GRAPHQL_VALIDATION_FAILED'))
      isOutdated.set(true);
  },
});
