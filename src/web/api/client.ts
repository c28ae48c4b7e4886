import { type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache';
import { retryExchange } from '@urql/exchange-retry';
import type { Sink, Client as Socket } from 'graphql-ws';
import { Client, fetchExchange, subscriptionExchange } from 'urql';
import schema from '../generated/schema.json';
import { batching } from './batching.ts';
import { HEADERS } from './mutate.ts';
import { outdatedExchange } from './outdated.ts';
import { optimistic } from './own-marks.ts';
import { rereadExchange } from './reread.ts';
import { updates } from './updates.ts';

export const GRAPHQL_PATH = '/graphql';

const RETRY = {
  initialDelayMs: 300,
  maxDelayMs: 5_000,
  randomDelay: true,
  maxNumberAttempts: Number.POSITIVE_INFINITY,
};

/** What has no id is no entity of its own: it stands within what it belongs to. */
const WITHIN_OTHERS = Object.fromEntries(
  schema.__schema.types
    .filter(({ fields }) => fields?.some(({ name }) => name === 'id') === false)
    .map(({ name }) => [name, () => null]),
);

/**
 * The one client of the page: a cache that knows every object by its id, queries and mutations over HTTP, events over
 * the socket.
 * Who asks, the browser's cookie says.
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
      rereadExchange,
      outdatedExchange,
      // What is to be shown is asked for until it comes. What was written is sent again by whoever wrote it.
      retryExchange({
        ...RETRY,
        retryIf: (error, operation) => operation.kind === 'query' && error.networkError !== undefined,
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query, variables }, batching(sink as Sink)) }),
        }),
      }),
    ],
  });
}
