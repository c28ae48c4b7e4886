import { mapExchange } from 'urql';
import { createStore } from './store.ts';

/** Whether the service refuses what the page asks: it was upgraded meanwhile, and has another page by now. */
export const isOutdated = createStore(false);

/** Notices refusals of documents, all of which were right for the service that the page came with. */
export const outdatedExchange = mapExchange({
  onError({ graphQLErrors }) {
    if (graphQLErrors.some(({ extensions }) => extensions['code'] === 'GRAPHQL_VALIDATION_FAILED'))
      isOutdated.set(true);
  },
});
