import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { type Cache, cacheExchange } from '@urql/exchange-graphcache';
import type { IntrospectionQuery } from 'graphql';
import type { Sink } from 'graphql-ws';
import type { Json } from '../../helpers/http.ts';
import { type Place, resumingSocket } from '../socket.ts';

/** Creates an urql client with a normalized cache. */
export function urqlClient(
  url: string,
  authorization: () => string,
  place: Place,
  schema: IntrospectionQuery,
  append: (event: Json, cache: Cache) => void,
): Client {
  const socket = resumingSocket(url, authorization, place);
  return new Client({
    url,
    preferGetMethod: false,
    fetchOptions: () => ({ headers: { authorization: authorization() } }),
    exchanges: [
      cacheExchange({
        schema,
        // A type without an id is stored as a part of its message. urql requires that every such type is listed here.
        keys: { ReactionGroup: () => null },
        updates: { Subscription: { events: ({ events }, _, cache) => append(events, cache) } },
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query, variables }, sink as Sink) }),
        }),
      }),
    ],
  });
}
