import type { Cache, UpdatesConfig } from '@urql/exchange-graphcache';
import { gql } from 'urql';
import type { EventsSubscription, RegisterMutation } from '../generated/graphql.ts';
import { forget, keyOf, place } from './fields.ts';
import { isMention } from './narrow.ts';
import { append, changeState, extend, move, remove } from './timelines.ts';

// All changes that the page makes to its cache, beyond those that the cache makes by itself.
//
// Events contain entities with their new values, which the cache stores: edits, reactions, stars, names, presence, settings and
// unread counts need no code here. The table below makes all other changes. Lists are invalidated if their changes are rare and
// the service defines their order. Components that show an invalidated field read it again.
//
// To handle another event: select it in `live/live.graphql`, and add an entry if the event changes a list.

type AnyEvent = NonNullable<EventsSubscription['events']>;
type EventName = NonNullable<AnyEvent['__typename']>;
type EventOf<N extends EventName> = Extract<AnyEvent, { __typename?: N }>;
type Handler<N extends EventName> = (event: EventOf<N>, cache: Cache) => void;

type Identified = { readonly id: string } | null;

const idsOf = (entities: readonly Identified[]): string[] => entities.flatMap((one) => one?.id ?? []);

/** Invalidates fields of channels. */
function forgetIn(cache: Cache, channels: readonly (Identified | undefined)[], fields: readonly string[]): void {
  for (const one of channels) if (one) forget(cache, fields, keyOf(cache, 'Channel', one.id));
}

/** Fields of a channel that its events do not contain: those that depend on its subscribers, and on its settings. */
const BY_SUBSCRIBERS = ['subscribers', 'subscriberCount'];
const BY_SUBSCRIPTION = ['topics', ...BY_SUBSCRIBERS, 'viewerCanPost', 'viewerCanAddSubscribers'];
const BY_SETTINGS = [
  ...['description', 'isArchived', 'permissions'],
  ...['viewerCanAdminister', 'viewerCanPost', 'viewerCanSubscribe', 'viewerCanAddSubscribers'],
];

/** Fields of a user that its events do not contain. */
const OF_USER = ['profileData', 'timezone', 'deliveryEmail', 'botOwner'];
/** Lists of `Query` that contain the names of users, and groups with their members. */
const NAMES = ['users', 'suggestions'];
const GROUPS = ['userGroups', 'userGroup'];

/** Invalidates the viewer's permissions in the organization. They depend on its settings, and on the viewer's role and groups. */
function forgetRights(cache: Cache): void {
  const organization = cache.resolve('Query', 'organization');
  if (typeof organization !== 'string') return;
  const fields = cache.inspectFields(organization).map(({ fieldName }) => fieldName);
  forget(
    cache,
    fields.filter((name) => name.startsWith('viewerCan')),
    organization,
  );
}

function forgetGroups(_: unknown, cache: Cache): void {
  forget(cache, GROUPS);
  forgetRights(cache);
}

const LAST_MESSAGE = gql`fragment TopicLastMessage on Topic { id lastMessage { id } }`;

/** The lists of `Query` that an event changes, or a function that makes other changes. */
const changes: { readonly [N in EventName]?: readonly string[] | Handler<N> } = {
  MessageSentEvent({ message }, cache) {
    if (message === null) return;
    append(cache, message);
    const { id, channel, topic, directConversation } = message;
    if (channel !== null && topic !== null) {
      const lastMessage = { __typename: 'Message', id };
      cache.writeFragment(LAST_MESSAGE, { __typename: 'Topic', id: topic.id, lastMessage });
      place(cache, keyOf(cache, 'Channel', channel.id), 'topics', keyOf(cache, 'Topic', topic.id), 'first');
    }
    if (directConversation === null) return;
    place(cache, 'Query', 'directConversations', keyOf(cache, 'DirectConversation', directConversation.id), 'first');
  },
  MessageUpdatedEvent({ message, messages, origTopicName, origChannel }, cache) {
    if (message !== null) changeState(cache, [message.id], 'MENTIONED', message.flags.some(isMention));
    if (origTopicName === null) return;
    const moved = messages.filter((one) => one !== null);
    move(cache, moved);
    forgetIn(cache, [origChannel, ...moved.map(({ channel }) => channel)], ['topics']);
  },
  MessagesDeletedEvent({ messageIds, channel }, cache) {
    remove(cache, messageIds);
    forgetIn(cache, [channel], ['topics']);
  },
  MessageFlagsAddedEvent({ flag, all, messages }, cache) {
    if (flag === 'STARRED') changeState(cache, idsOf(messages), 'STARRED', true);
    // All messages were marked as read. The event lists no messages, channels, topics or conversations.
    if (flag === 'READ' && all) forget(cache, ['messages', 'subscriptions', 'directConversations', 'channel', 'topic']);
  },
  MessageFlagsRemovedEvent({ flag, messages }, cache) {
    if (flag === 'STARRED') changeState(cache, idsOf(messages), 'STARRED', false);
  },
  TopicVisibilityChangedEvent({ channel, unreadChange }, cache) {
    // Of channels to which the viewer is not subscribed, the event lists no topics.
    if (!unreadChange?.topics.length) forgetIn(cache, [channel], ['topics']);
  },
  SubscriptionsAddedEvent({ subscriptions }, cache) {
    forget(cache, ['subscriptions']);
    forgetIn(
      cache,
      subscriptions.map((one) => one?.channel),
      BY_SUBSCRIPTION,
    );
  },
  SubscriptionsRemovedEvent({ channels }, cache) {
    forget(cache, ['subscriptions']);
    forgetIn(cache, channels, BY_SUBSCRIPTION);
  },
  SubscribersAddedEvent: ({ channels }, cache) => forgetIn(cache, channels, BY_SUBSCRIBERS),
  SubscribersRemovedEvent: ({ channels }, cache) => forgetIn(cache, channels, BY_SUBSCRIBERS),
  ChannelsCreatedEvent: ['channels'],
  ChannelsDeletedEvent: ['subscriptions', 'channels'],
  ChannelUpdatedEvent({ channel, property }, cache) {
    forgetIn(cache, [channel], BY_SETTINGS);
    if (property === 'IS_ARCHIVED') forget(cache, ['subscriptions', 'channels']);
  },
  ChannelFolderAddedEvent: ['channelFolders'],
  ChannelFolderUpdatedEvent: ['channelFolders'],
  UserAddedEvent: NAMES,
  UserUpdatedEvent({ user, userProperty }, cache) {
    if (user !== null) forget(cache, OF_USER, keyOf(cache, 'User', user.id));
    if (userProperty === 'FULL_NAME') forget(cache, NAMES);
    // Group memberships and permissions depend on the role and on whether the account is active.
    if (userProperty === 'ROLE' || userProperty === 'IS_ACTIVE') forget(cache, [...NAMES, ...GROUPS, 'user']);
    if (userProperty === 'ROLE') forgetRights(cache);
  },
  OrganizationUpdatedEvent: (_, cache) => forgetRights(cache),
  CustomProfileFieldsChangedEvent: ['customProfileFields'],
  UserGroupAddedEvent: ['userGroups'],
  // Permissions on a group may depend on the members of another group.
  UserGroupRemovedEvent: forgetGroups,
  UserGroupUpdatedEvent: forgetGroups,
  UserGroupMembersAddedEvent: forgetGroups,
  UserGroupMembersRemovedEvent: forgetGroups,
  UserGroupSubgroupsAddedEvent: forgetGroups,
  UserGroupSubgroupsRemovedEvent: forgetGroups,
  // The service deletes all drafts when their synchronization is turned on or off.
  UserSettingUpdatedEvent({ userSetting }, cache) {
    if (userSetting === 'ENABLE_DRAFTS_SYNCHRONIZATION') forget(cache, ['drafts']);
  },
  DraftsAddedEvent: ['drafts'],
  DraftRemovedEvent: ['drafts'],
  ScheduledMessagesAddedEvent: ['scheduledMessages'],
  ScheduledMessageRemovedEvent: ['scheduledMessages'],
  SavedSnippetAddedEvent: ['savedSnippets'],
  SavedSnippetRemovedEvent: ['savedSnippets'],
  RemindersAddedEvent: ['reminders'],
  ReminderRemovedEvent: ['reminders'],
  NavigationViewAddedEvent({ navigationView }, cache) {
    place(cache, 'Query', 'navigationViews', keyOf(cache, 'NavigationView', navigationView?.id ?? ''), 'last');
  },
  NavigationViewRemovedEvent({ navigationViewId }, cache) {
    place(cache, 'Query', 'navigationViews', keyOf(cache, 'NavigationView', navigationViewId ?? ''));
  },
};

/** Fields of `Query` that the registration of an event queue returns. */
const FIRST_SCREEN = new Set([
  ...['viewer', 'organization', 'ownSettings'],
  ...['subscriptions', 'directConversations', 'navigationViews'],
]);

/** The callbacks that graphcache runs when results arrive. */
export const updates: UpdatesConfig = {
  Subscription: {
    events({ events }, _, cache) {
      const event = events as AnyEvent;
      const change = changes[event.__typename as EventName] as readonly string[] | Handler<EventName> | undefined;
      if (typeof change === 'function') change(event as never, cache);
      else if (change !== undefined) forget(cache, change);
    },
  },
  Mutation: {
    // The events of the queue begin after the returned data, so all other data may lack earlier changes.
    registerEventQueue({ registerEventQueue }, _, cache) {
      const result = registerEventQueue as RegisterMutation['registerEventQueue'];
      if (result?.__typename !== 'RegisterEventQueuePayload') return;
      const fields = cache.inspectFields('Query').map(({ fieldName }) => fieldName);
      forget(
        cache,
        fields.filter((name) => !FIRST_SCREEN.has(name)),
      );
      forgetRights(cache);
      const { viewer, subscriptions } = result.query;
      if (viewer !== null) forget(cache, ['profileData'], keyOf(cache, 'User', viewer.id));
      forgetIn(cache, subscriptions?.nodes.map(({ channel }) => channel) ?? [], ['topics', 'ownSubscription']);
    },
  },
  Query: {
    messages({ messages }, args, cache) {
      if (messages !== null) extend(cache, { ...args, page: messages } as never);
    },
  },
};
