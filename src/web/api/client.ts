import { type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache';
import type { Sink, Client as Socket } from 'graphql-ws';
import { Client, type CombinedError, fetchExchange, mapExchange, subscriptionExchange } from 'urql';
import { createStore } from '../base/store.ts';
import schema from '../generated/schema.json';
import { batching } from './batching.ts';
import { HEADERS } from './mutate.ts';
import { replayExchange } from './replay.ts';
import { patientFetch } from './retry.ts';
import { updates } from './updates.ts';

export const GRAPHQL_PATH = '/graphql';

/** Types without an `id` field. Their objects have no cache key, so the cache stores them within their parent. */
const WITHIN_OTHERS = Object.fromEntries(
  schema.__schema.types
    .filter(({ fields }) => fields?.some(({ name }) => name === 'id') === false)
    .map(({ name }) => [name, () => null]),
);

/** Whether the service rejects the documents of this page, because it was upgraded and now serves a newer page. */
export const isOutdated = createStore(false);

function noteOutdated({ graphQLErrors }: CombinedError): void {
  if (graphQLErrors.some(({ extensions }) => extensions['code'] === 'GRAPHQL_VALIDATION_FAILED')) isOutdated.set(true);
}

/**
 * Creates the API client of the page: a cache with normalized entities, queries and mutations over HTTP, and events over the
 * socket. The browser's cookie authenticates the requests.
 */
export function createApiClient(socket: Socket): Client {
  return new Client({
    url: GRAPHQL_PATH,
    preferGetMethod: false,
    fetch: patientFetch,
    fetchOptions: { headers: HEADERS },
    exchanges: [
      cacheExchange({
        schema: schema as NonNullable<CacheExchangeOpts['schema']>,
        keys: WITHIN_OTHERS,
        updates,
      }),
      mapExchange({ onError: noteOutdated }),
      replayExchange,
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query, variables }, batching(sink as Sink)) }),
        }),
      }),
    ],
  });
}
