import type { Cache, UpdatesConfig } from '@urql/exchange-graphcache';
import type { EventsSubscription, RegisterMutation } from '../generated/graphql.ts';
import { extend, refile, remove } from './timelines.ts';

// All changes that the page makes to its cache, beyond those that the cache makes by itself: events contain entities with their
// new values, and name the fields whose new values they do not contain. Only lists that change with messages are changed here.

type AnyEvent = NonNullable<EventsSubscription['events']>;
type Entity = { readonly __typename?: string; readonly id: string } | null;

const idsOf = (entities: readonly Entity[]): string[] => entities.flatMap((one) => one?.id ?? []);
const keyOf = (cache: Cache, entity: Entity) =>
  entity && cache.keyOfEntity(entity as { __typename: string; id: string });

/** Invalidates fields of an entity, for all arguments. Components that show them read them again. */
function forget(cache: Cache, entity: string | null, isOutdated: (field: string) => boolean): void {
  for (const { fieldName, arguments: args } of entity ? cache.inspectFields(entity) : [])
    if (isOutdated(fieldName)) cache.invalidate(entity, fieldName, args);
}

/** Moves a topic or conversation, if any, to the beginning of its list, because it has a new message. */
function placeFirst(cache: Cache, entity: string | null, field: string, node: string | null): void {
  for (const { fieldName, fieldKey, arguments: args } of node ? cache.inspectFields(entity) : []) {
    const list = fieldName === field ? cache.resolve(entity, fieldKey) : null;
    if (typeof list !== 'string') continue;
    const nodes = cache.resolve(list, 'nodes') as string[];
    // A link, even to the same nodes, would have components read the list from the cache again.
    if (nodes[0] === node) continue;
    const others = nodes.filter((one) => one !== node);
    cache.link(list, 'nodes', args?.['after'] == null ? [node, ...others] : others);
  }
}

function applyEvent(cache: Cache, event: AnyEvent): void {
  for (const { typeName, objectId, fields } of event.outdated) {
    // Of these two types, there is one object.
    const single = typeName === 'Query' ? typeName : (cache.resolve('Query', 'organization') as string | null);
    const entity = objectId === null ? single : cache.keyOfEntity({ __typename: typeName, id: objectId });
    forget(cache, entity, (field) => fields.includes(field));
  }
  if (event.__typename === 'MessageSentEvent' && event.message !== null) {
    const { message } = event;
    refile(cache, [message.id]);
    placeFirst(cache, 'Query', 'directConversations', keyOf(cache, message.directConversation));
    placeFirst(cache, keyOf(cache, message.channel), 'topics', keyOf(cache, message.topic));
  } else if (event.__typename === 'MessageUpdatedEvent') {
    refile(cache, idsOf([event.message]), 'MENTIONED');
    if (event.origTopicName !== null) refile(cache, idsOf(event.messages));
  } else if (event.__typename === 'MessageFlagsAddedEvent' || event.__typename === 'MessageFlagsRemovedEvent') {
    if (event.flag === 'STARRED') refile(cache, idsOf(event.messages), 'STARRED');
  } else if (event.__typename === 'MessagesDeletedEvent') {
    remove(cache, event.messageIds);
  }
}

/** Invalidates everything that the registration of a queue has not read: earlier changes of it are in no event of the queue. */
function forgetOthers(cache: Cache, result: RegisterMutation['registerEventQueue']): void {
  if (result?.__typename !== 'RegisterEventQueuePayload') return;
  const { viewer, organization, subscriptions } = result.query;
  const entities = [viewer, organization, ...(subscriptions?.nodes.map(({ channel }) => channel) ?? [])];
  for (const read of entities) forget(cache, keyOf(cache, read), (field) => !(field in (read ?? {})));
  forget(cache, 'Query', (field) => !(field in result.query));
}

/** The callbacks that graphcache runs when results arrive. */
export const updates: UpdatesConfig = {
  Subscription: { events: ({ events }, _, cache) => applyEvent(cache, events as AnyEvent) },
  Mutation: {
    registerEventQueue: ({ registerEventQueue }, _, cache) => forgetOthers(cache, registerEventQueue as never),
  },
  Query: { messages: ({ messages }, args, cache) => void (messages && extend(cache, messages as never, args)) },
};
