import type { ApolloCache, ApolloClient, StoreObject } from '@apollo/client';
import { gql } from '@apollo/client';
import type { Json } from '../../helpers/http.ts';
import { EVENTS, FIRST_SCREEN } from '../documents.ts';
import type { QueuePosition } from '../socket.ts';

/** Reads the first screen, and keeps the cache up to date. Does so again if the event queue is lost. */
export async function live(client: ApolloClient, place: QueuePosition, variables: Json): Promise<void> {
  const { data } = await client.mutate<Json>({ mutation: gql(FIRST_SCREEN), variables });
  const { queueId } = Object.assign(place, data.registerEventQueue);
  client.subscribe<Json>({ query: gql(EVENTS), variables: { queueId } }).subscribe(({ data }) => {
    if (data == null) return live(client, place, variables);
    const { message, messageIds = [], all, origTopic, subscriptions, subscriptionIds } = data.events;
    append(client.cache, message?.topic, 'messages', message);
    append(client.cache, message?.channel, 'topics', message?.topic);
    append(client.cache, { __typename: 'Query' }, 'directConversations', message?.directConversation);
    for (const id of messageIds) client.cache.evict({ id: `Message:${id}` });
    if (all || origTopic || subscriptions || subscriptionIds) return client.refetchQueries({ include: 'active' });
  });
}

/** Moves a node to the end of a list, or adds it. Does nothing if the list is not in the cache. */
function append(cache: ApolloCache, parent: StoreObject | undefined, field: string, node: StoreObject | null): void {
  const own = { __ref: node == null ? '' : cache.identify(node) };
  const isOther = ({ __ref }: Json) => __ref !== own.__ref;
  const change = ({ nodes, ...list }: Json) => ({ ...list, nodes: [...nodes.filter(isOther), own] });
  if (parent && node) cache.modify({ id: cache.identify(parent) ?? '', fields: { [field]: change } });
}
