import type { Client } from '@urql/core';
import type { Cache, Entity } from '@urql/exchange-graphcache';
import type { Json } from '../../helpers/http.ts';
import { EVENTS, FIRST_SCREEN, LISTS } from '../documents.ts';
import type { QueuePosition } from '../socket.ts';

/** Reads the first screen, and keeps the cache up to date. Does so again if the event queue is lost. */
export async function live(client: Client, place: QueuePosition, variables: Json): Promise<void> {
  const { data } = await client.mutation<Json>(FIRST_SCREEN, variables).toPromise();
  const { queueId } = Object.assign(place, data.registerEventQueue);
  client.subscription(EVENTS, { queueId }).subscribe(({ error }) => error && live(client, place, variables));
}

/** Applies an event to lists. Reads all of them again after rare changes. */
export function apply({ events }: Json, _args: object, cache: Cache): void {
  const { message, messageIds = [], all, origTopic, subscriptions, subscriptionIds } = events;
  append(cache, message?.topic, 'messages', message);
  append(cache, message?.channel, 'topics', message?.topic);
  append(cache, 'Query', 'directConversations', message?.directConversation);
  for (const id of messageIds) cache.invalidate({ __typename: 'Message', id });
  if (!(all || origTopic || subscriptions || subscriptionIds)) return;
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) cache.invalidate('Query', fieldName, args);
}

/** Moves a node to the end of a list, or adds it. Does nothing if the list is not in the cache. */
function append(cache: Cache, parent: Entity, field: keyof typeof LISTS, node: Entity): void {
  const list = node && (cache.resolve(parent, field, LISTS[field]) as string | null);
  const nodes = list && (cache.resolve(list, 'nodes') as string[]);
  if (nodes) cache.link(list, 'nodes', [...nodes.filter((one) => one !== cache.keyOfEntity(node)), node]);
}
