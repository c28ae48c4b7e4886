import { type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache';
import type { Sink, Client as Socket } from 'graphql-ws';
import { Client, fetchExchange, subscriptionExchange } from 'urql';
import schema from '../generated/schema.json';
import { batching } from './batching.ts';
import { HEADERS } from './mutate.ts';
import { outdatedExchange } from './outdated.ts';
import { optimistic } from './own-marks.ts';
import { replayExchange } from './replay.ts';
import { retryExchange } from './retry.ts';
import { updates } from './updates.ts';

export const GRAPHQL_PATH = '/graphql';

/** Types without an `id` field. Their objects have no cache key, so the cache stores them within their parent. */
const WITHIN_OTHERS = Object.fromEntries(
  schema.__schema.types
    .filter(({ fields }) => fields?.some(({ name }) => name === 'id') === false)
    .map(({ name }) => [name, () => null]),
);

/**
 * Creates the API client of the page: a cache with normalized entities, queries and mutations over HTTP, and events over the
 * socket. The browser's cookie authenticates the requests.
 */
export function createApiClient(socket: Socket): Client {
  return new Client({
    url: GRAPHQL_PATH,
    preferGetMethod: false,
    fetchOptions: { headers: HEADERS },
    exchanges: [
      cacheExchange({
        schema: schema as NonNullable<CacheExchangeOpts['schema']>,
        keys: WITHIN_OTHERS,
        optimistic,
        updates,
      }),
      outdatedExchange,
      retryExchange,
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
