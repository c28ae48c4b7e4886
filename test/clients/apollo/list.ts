import type { ApolloCache, Reference } from '@apollo/client';
import type { Json } from '../../helpers/http.ts';

/** Appends a new message to the list of its channel, if the channel is in the cache. */
export function append(cache: ApolloCache, { message }: Json): void {
  if (message == null) return;
  cache.modify<{ messages: { nodes: readonly Reference[] } }>({
    id: cache.identify(message.channel) ?? '',
    fields: {
      messages: (list, { toReference }) => ({ ...list, nodes: [...(list as Json).nodes, toReference(message)] }),
    },
  });
}
