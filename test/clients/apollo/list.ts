import type { ApolloCache, Reference } from '@apollo/client';
import type { Json } from '../../helpers/http.ts';

/** Puts a new message to the end of its channel's list, wherever that is on the screen. */
export function append(cache: ApolloCache, { message }: Json): void {
  if (message == null) return;
  cache.modify<{ messages: { nodes: readonly Reference[] } }>({
    id: cache.identify(message.channel) ?? '',
    fields: {
      messages: (list, { toReference }) => ({ ...list, nodes: [...(list as Json).nodes, toReference(message)] }),
    },
  });
}
