import type { Cache, UpdatesConfig } from '@urql/exchange-graphcache';
import type { EventsSubscription, RegisterMutation } from '../generated/graphql.ts';
import { extend, refile, remove } from './timelines.ts';

// The changes of the cache that graphcache does not make by itself. Events contain entities with their new values, which the
// cache stores itself, and the names of fields whose new values they do not contain. This file invalidates these fields, and
// updates the lists that change with messages.

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

/**
 * Moves a topic or conversation, if any, to the beginning of its lists, because it has a new message. Lists of followed topics
 * stay as they are.
 */
function placeFirst(cache: Cache, entity: string | null, field: string, node: string | null): void {
  for (const { fieldName, fieldKey, arguments: args } of node ? cache.inspectFields(entity) : []) {
    const { is = ['UNREAD'] } = (args?.['filter'] ?? {}) as { readonly is?: readonly string[] };
    const list = fieldName === field && is.includes('UNREAD') ? cache.resolve(entity, fieldKey) : null;
    if (typeof list !== 'string') continue;
    const nodes = cache.resolve(list, 'nodes') as string[];
    // A link, even to the same nodes, would make components read the list from the cache again.
    if (nodes[0] === node) continue;
    const others = nodes.filter((one) => one !== node);
    cache.link(list, 'nodes', args?.['after'] == null ? [node, ...others] : others);
  }
}

const CHANGES_TOPICS: ReadonlySet<string> = new Set([
  ...['MessageUpdatedEvent', 'MessagesDeletedEvent', 'MessageFlagsRemovedEvent', 'TopicVisibilityChangedEvent'],
]);

function applyEvent(cache: Cache, event: AnyEvent): void {
  for (const { typeName, objectId, fields } of event.outdated) {
    // `Query` and `Organization` have only one object each.
    const single = typeName === 'Query' ? typeName : (cache.resolve('Query', 'organization') as string | null);
    const entity = objectId === null ? single : cache.keyOfEntity({ __typename: typeName, id: objectId });
    forget(cache, entity, (field) => fields.includes(field));
  }
  // No event contains the topics that enter one of these lists otherwise than by a new message.
  if (CHANGES_TOPICS.has(event.__typename ?? '')) forget(cache, 'Query', (field) => field === 'topics');
  if (event.__typename === 'MessageSentEvent' && event.message !== null) {
    const { message } = event;
    refile(cache, [message.id]);
    const [channel, topic, conversation] = [message.channel, message.topic, message.directConversation].map((one) =>
      keyOf(cache, one),
    ) as [string | null, string | null, string | null];
    // Links that follow from the event, but that it does not contain.
    if (topic && channel) cache.link(topic, 'channel', channel);
    if (conversation) cache.link(conversation, 'lastMessage', keyOf(cache, message));
    placeFirst(cache, 'Query', 'directConversations', conversation);
    for (const entity of ['Query', channel]) placeFirst(cache, entity, 'topics', topic);
  } else if (event.__typename === 'MessageUpdatedEvent') {
    refile(cache, idsOf([event.message]), 'MENTIONED');
    if (event.origTopicName !== null) refile(cache, idsOf(event.messages));
  } else if (event.__typename === 'MessageFlagsAddedEvent' || event.__typename === 'MessageFlagsRemovedEvent') {
    if (event.flag === 'STARRED') refile(cache, idsOf(event.messages), 'STARRED');
  } else if (event.__typename === 'MessagesDeletedEvent') {
    remove(cache, event.messageIds);
  }
}

/**
 * Invalidates all cached fields that the registration of a queue has not read, because the events of the queue do not contain
 * earlier changes of these fields.
 */
function forgetOthers(cache: Cache, result: RegisterMutation['registerEventQueue']): void {
  if (result?.__typename !== 'RegisterEventQueuePayload') return;
  const { viewer, organization, subscriptions } = result.query;
  const entities = [viewer, organization, ...(subscriptions?.nodes.map(({ channel }) => channel) ?? [])];
  for (const read of entities) forget(cache, keyOf(cache, read), (field) => !(field in (read ?? {})));
  forget(cache, 'Query', (field) => !(field in result.query));
}

/** Invalidates the list of the viewer's push devices, whose changes cause no events. */
const forgetPushDevices = (_result: unknown, _args: unknown, cache: Cache): void =>
  forget(cache, 'Query', (field) => field === 'pushDevices');

/** The callbacks that graphcache runs when results arrive. */
export const updates: UpdatesConfig = {
  Subscription: { events: ({ events }, _, cache) => applyEvent(cache, events as AnyEvent) },
  Mutation: {
    registerEventQueue: ({ registerEventQueue }, _, cache) => forgetOthers(cache, registerEventQueue as never),
    registerPushDevice: forgetPushDevices,
    removePushDevice: forgetPushDevices,
  },
  Query: { messages: ({ messages }, args, cache) => void (messages && extend(cache, messages as never, args)) },
};
