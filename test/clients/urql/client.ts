import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange, type UpdateResolver } from '@urql/exchange-graphcache';
import type { IntrospectionQuery } from 'graphql';
import type { Sink } from 'graphql-ws';
import { patientFetch } from '../patient-fetch.ts';
import { type QueuePosition, resumingSocket } from '../socket.ts';

/** Creates an urql client with a normalized cache. */
export function urqlClient(
  url: string,
  authorization: () => string,
  place: QueuePosition,
  schema: IntrospectionQuery,
  apply: UpdateResolver,
): Client {
  const socket = resumingSocket(url, authorization, place);
  return new Client({
    url,
    fetch: patientFetch,
    preferGetMethod: false,
    fetchOptions: () => ({ headers: { authorization: authorization() } }),
    exchanges: [
      cacheExchange({
        schema,
        // Objects of types without an id are stored as parts of others. urql requires that these types are listed.
        keys: Object.fromEntries(
          schema.__schema.types
            .filter((type) => type.kind === 'OBJECT' && !type.fields.some(({ name }) => name === 'id'))
            .map(({ name }) => [name, () => null]),
        ),
        updates: { Subscription: { events: apply } },
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
