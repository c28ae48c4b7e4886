import type { Cache, UpdatesConfig } from '@urql/exchange-graphcache';
import { gql } from 'urql';
import { isSameTopic } from '../../contract/topic-key.ts';
import type { EventsSubscription, RegisterMutation } from '../generated/graphql.ts';
import { countNew, noteConversation, readEverything, unsettle } from './counts.ts';
import { forget, forgetOf, keyOf } from './forget.ts';
import type { Placed } from './narrow.ts';
import { ownMarks } from './own-marks.ts';
import { noteAllForgotten } from './reread.ts';
import {
  append,
  catchUp,
  changeState,
  continueLists,
  type ListOf,
  move,
  PAGE,
  type PageOf,
  remove,
  reviewState,
} from './timelines.ts';
import { forgetTopics, listTopic, topicsOf } from './topic-lists.ts';

// All changes that the page makes to its cache, beyond those that the cache makes by itself.
//
// Events contain entities with their new values, which the cache stores: edits, reactions, stars, names, presence and
// settings need no code here. The handlers below, one per event, do the rest: they add messages to lists and remove them,
// adjust the counts, and invalidate lists. A list is invalidated if that is rare and the service defines its order.
// Components that show the list then read it again.
//
// To handle another event: select it in `live/live.graphql`, and add a handler if the event changes a list.

type AnyEvent = NonNullable<EventsSubscription['events']>;
type EventName = NonNullable<AnyEvent['__typename']>;
export type EventOf<N extends EventName> = Extract<AnyEvent, { __typename?: N }>;

type Handlers = { readonly [N in EventName]?: (event: EventOf<N>, cache: Cache) => void };

const handlers: Handlers = {
  MessageSentEvent({ message }, cache) {
    if (message === null) return;
    const placed = { ...placeOf(message), states: statesOf(message) };
    append(cache, message, placed);
    const { topic, channel } = message;
    if (topic !== null && channel !== null) bringUp(cache, channel.id, topic.id, message.id);
    if (message.viewerHasRead) noteConversation(cache, placed);
    else countNew(cache, message, placed);
  },
  MessageUpdatedEvent({ message, messages, origTopicName, origChannel }, cache) {
    if (message !== null) reviewState(cache, message.id, 'MENTIONED', maybeMentions(cache, message.renderedContent));
    if (origTopicName === null) return;
    const moved = messages.filter((one) => one !== null);
    move(
      cache,
      moved.map((one) => ({ id: one.id, to: placeOf(one) })),
    );
    for (const id of new Set([origChannel?.id, ...moved.map(({ channel }) => channel?.id)])) forgetTopics(cache, id);
    unsettle();
  },
  MessagesDeletedEvent({ messageIds, channel }, cache) {
    remove(cache, new Set(messageIds));
    forgetTopics(cache, channel?.id);
    unsettle();
  },
  MessageFlagsAddedEvent({ flag, all, messages }, cache) {
    if (flag === 'STARRED') changeState(cache, idsOf(messages), 'STARRED', true);
    if (flag !== 'READ') return;
    if (all) readEverything(cache);
    unsettle();
  },
  MessageFlagsRemovedEvent({ flag, messages }, cache) {
    if (flag === 'STARRED') changeState(cache, idsOf(messages), 'STARRED', false);
    if (flag === 'READ') unsettle();
  },
  SubscriptionsAddedEvent({ subscriptions }, cache) {
    forget(cache, 'subscriptions');
    for (const one of subscriptions) if (one !== null) noteSubscription(cache, one.channel.id, one.id);
  },
  SubscriptionsRemovedEvent({ channels }, cache) {
    forget(cache, 'subscriptions');
    for (const one of channels) if (one !== null) noteSubscription(cache, one.id, null);
  },
  // The viewer may have muted or unmuted the channel, which changes the unread counts.
  SubscriptionUpdatedEvent: () => unsettle(),
  SubscribersAddedEvent: ({ channels }, cache) => forgetSubscribers(cache, channels),
  SubscribersRemovedEvent: ({ channels }, cache) => forgetSubscribers(cache, channels),
  ChannelsCreatedEvent: (_, cache) => forget(cache, 'channels'),
  ChannelsDeletedEvent(_, cache) {
    for (const list of ['subscriptions', 'channels']) forget(cache, list);
  },
  ChannelUpdatedEvent({ channel, property }, cache) {
    if (channel !== null) forgetOf(cache, 'Channel', channel.id, BY_RULES);
    if (property === 'IS_ARCHIVED') for (const list of ['subscriptions', 'channels']) forget(cache, list);
  },
  ChannelFolderAddedEvent: (_, cache) => forget(cache, 'channelFolders'),
  ChannelFolderUpdatedEvent: (_, cache) => forget(cache, 'channelFolders'),
  TopicVisibilityChangedEvent({ channel, topicName, visibility }, cache) {
    const topic = topicIn(cache, channel?.id, topicName ?? '');
    if (topic === undefined) forgetTopics(cache, channel?.id);
    else
      cache.writeFragment(TOPIC_VISIBILITY, {
        __typename: 'Topic',
        id: cache.resolve(topic, 'id'),
        viewerVisibility: visibility,
      });
    unsettle();
  },
  UserAddedEvent: (_, cache) => forgetNames(cache),
  RealmUpdatedEvent: (_, cache) => forgetRights(cache),
  UserUpdatedEvent({ user, userProperty }, cache) {
    if (user !== null) forgetOf(cache, 'User', user.id, UNKNOWN[userProperty] ?? []);
    if (userProperty === 'FULL_NAME') forgetNames(cache);
    // Group memberships and permissions depend on the role and on whether the account is active.
    if (userProperty === 'ROLE' || userProperty === 'IS_ACTIVE') for (const list of PEOPLE) forget(cache, list);
    if (userProperty === 'ROLE') forgetRights(cache);
  },
  CustomProfileFieldsChangedEvent: (_, cache) => forget(cache, 'customProfileFields'),
  UserGroupAddedEvent: (_, cache) => forget(cache, 'userGroups'),
  UserGroupRemovedEvent: (_, cache) => forgetGroups(cache),
  // Permissions on one group may depend on the members of another.
  UserGroupUpdatedEvent: (_, cache) => forgetGroups(cache),
  UserGroupMembersAddedEvent: (_, cache) => forgetGroups(cache),
  UserGroupMembersRemovedEvent: (_, cache) => forgetGroups(cache),
  UserGroupSubgroupsAddedEvent: (_, cache) => forgetGroups(cache),
  UserGroupSubgroupsRemovedEvent: (_, cache) => forgetGroups(cache),
  DraftsAddedEvent: (_, cache) => forget(cache, 'drafts'),
  DraftRemovedEvent: (_, cache) => forget(cache, 'drafts'),
  ScheduledMessagesAddedEvent: (_, cache) => forget(cache, 'scheduledMessages'),
  ScheduledMessageRemovedEvent: (_, cache) => forget(cache, 'scheduledMessages'),
  SavedSnippetAddedEvent: (_, cache) => forget(cache, 'savedSnippets'),
  SavedSnippetRemovedEvent: (_, cache) => forget(cache, 'savedSnippets'),
  RemindersAddedEvent: (_, cache) => forget(cache, 'reminders'),
  ReminderRemovedEvent: (_, cache) => forget(cache, 'reminders'),
  NavigationViewAddedEvent({ navigationView }, cache) {
    const added = navigationView === null ? [] : [keyOf(cache, 'NavigationView', navigationView.id)];
    changeViews(cache, (views) => [...views.filter((key) => !added.includes(key)), ...added]);
  },
  NavigationViewRemovedEvent({ navigationViewId }, cache) {
    if (navigationViewId === null) return forget(cache, 'navigationViews');
    const removed = keyOf(cache, 'NavigationView', navigationViewId);
    changeViews(cache, (views) => views.filter((key) => key !== removed));
  },
};

/** Fields of a user that an event does not contain, by the property that changed. */
const UNKNOWN: Partial<Record<EventOf<'UserUpdatedEvent'>['userProperty'], readonly string[]>> = {
  PROFILE_DATA: ['profileData'],
  TIMEZONE: ['timezone'],
  DELIVERY_EMAIL: ['deliveryEmail'],
  BOT_OWNER: ['botOwner'],
};
const PEOPLE = ['users', 'user', 'userGroups', 'userGroup', 'suggestions'];

/** Invalidates the lists that contain the names of users. */
const forgetNames = (cache: Cache): void => {
  for (const list of ['users', 'suggestions']) forget(cache, list);
};

const forgetGroups = (cache: Cache): void => {
  for (const list of ['userGroups', 'userGroup']) forget(cache, list);
  forgetRights(cache);
};

/**
 * Invalidates the viewer's permissions in the organization. They depend on its settings, the viewer's role and their groups.
 */
function forgetRights(cache: Cache): void {
  const organization = cache.resolve('Query', 'organization');
  if (typeof organization !== 'string') return;
  for (const { fieldName } of cache.inspectFields(organization)) {
    if (fieldName.startsWith('viewerCan')) cache.invalidate(organization, fieldName);
  }
}

/**
 * Fields of a channel that its events do not contain: those that depend on its subscribers, on the viewer's subscription,
 * and on its settings.
 */
const SUBSCRIBERS = ['subscribers', 'subscriberCount'];
const BY_SUBSCRIPTION = [...SUBSCRIBERS, 'viewerCanPost', 'viewerCanAddSubscribers'];
const BY_RULES = [
  ...['description', 'isArchived', 'historyPublicToSubscribers', 'permissions'],
  ...['viewerCanAdminister', 'viewerCanPost', 'viewerCanSubscribe', 'viewerCanAddSubscribers'],
];

const forgetSubscribers = (cache: Cache, channels: readonly ({ readonly id: string } | null)[]): void => {
  for (const one of channels) if (one !== null) forgetOf(cache, 'Channel', one.id, SUBSCRIBERS);
};

const TOPIC_VISIBILITY = gql`fragment TopicVisibility on Topic { id viewerVisibility }`;
const LAST_MESSAGE = gql`fragment TopicLastMessage on Topic { id lastMessage { id } }`;
const OWN_SUBSCRIPTION = gql`fragment ChannelOwnSubscription on Channel { id ownSubscription { id } }`;

/** The callbacks that graphcache runs when results arrive. */
export const updates: UpdatesConfig = {
  Subscription: {
    events({ events }, _, cache) {
      const event = events as AnyEvent;
      const handle = handlers[event.__typename as EventName] as ((event: AnyEvent, cache: Cache) => void) | undefined;
      handle?.(event, cache);
    },
  },
  Mutation: {
    ...ownMarks,
    registerEventQueue({ registerEventQueue }, _, cache) {
      const result = registerEventQueue as RegisterMutation['registerEventQueue'];
      if (result.__typename === 'RegisterEventQueuePayload') beginAnew(cache, result.query);
    },
  },
  Query: {
    // A query with 0 for `first` or `last` reads one more page, which extends the cached lists: see `continueLists`.
    messages({ messages }, { narrow, anchor, first, last }, cache) {
      const { messageId } = (anchor ?? {}) as { readonly messageId?: string };
      if (messages === null) return;
      if (first === PAGE && last === PAGE) catchUp(cache, { narrow, anchor } as unknown as ListOf);
      const isPage = messageId !== undefined && (first === 0 || last === 0);
      if (!isPage) return;
      continueLists(cache, { narrow, messageId, isOlder: last === 0, page: messages } as unknown as PageOf);
    },
  },
};

/**
 * Invalidates the data that the registration of a new event queue did not return. The events of the queue begin after the
 * returned state, so all other data may be outdated. Components that show such data read it again.
 */
function beginAnew(
  cache: Cache,
  {
    viewer,
    subscriptions,
  }: Extract<RegisterMutation['registerEventQueue'], { __typename?: 'RegisterEventQueuePayload' }>['query'],
): void {
  noteAllForgotten(FIRST_SCREEN);
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
    if (!FIRST_SCREEN.has(fieldName)) cache.invalidate('Query', fieldName, args);
  }
  forgetRights(cache);
  if (viewer !== null) forgetOf(cache, 'User', viewer.id, ['profileData']);
  for (const { id, channel } of subscriptions?.nodes ?? []) {
    writeSubscription(cache, channel.id, id);
    forgetTopics(cache, channel.id);
  }
}

/** Sets or removes the viewer's own subscription to a channel. */
function writeSubscription(cache: Cache, channelId: string, id: string | null): void {
  const ownSubscription = id === null ? null : { __typename: 'ChannelSubscription', id };
  cache.writeFragment(OWN_SUBSCRIPTION, { __typename: 'Channel', id: channelId, ownSubscription });
}

function noteSubscription(cache: Cache, channelId: string, id: string | null): void {
  writeSubscription(cache, channelId, id);
  forgetOf(cache, 'Channel', channelId, BY_SUBSCRIPTION);
}

const FIRST_SCREEN = new Set([
  'viewer',
  'organization',
  'ownSettings',
  'subscriptions',
  'directConversations',
  'navigationViews',
]);

interface Located {
  readonly channel: { readonly id: string } | null;
  readonly topicName: string;
  readonly participants?: readonly { readonly id: string }[] | null;
}

const placeOf = ({ channel, topicName, participants }: Located): Placed => ({
  channelId: channel?.id ?? null,
  topicName,
  participantIds: participants?.map(({ id }) => id) ?? [],
});

type Sent = NonNullable<EventOf<'MessageSentEvent'>['message']>;

const idsOf = (messages: readonly ({ readonly id: string } | null)[]): ReadonlySet<string> =>
  new Set(messages.flatMap((one) => one?.id ?? []));

const statesOf = ({ flags, channel }: Sent): NonNullable<Placed['states']> => ({
  MENTIONED: flags.some((flag) => flag === 'MENTIONED' || flag.endsWith('WILDCARD_MENTIONED')),
  STARRED: flags.includes('STARRED'),
  ALERTED: flags.includes('HAS_ALERT_WORD'),
  DIRECT: channel === null,
});

/**
 * Returns whether the HTML of an edited message may mention the viewer. Group and topic mentions always count, because the
 * page does not know their members.
 */
function maybeMentions(cache: Cache, html: string): boolean {
  const viewer = cache.resolve('Query', 'viewer');
  const userId = typeof viewer === 'string' ? cache.resolve(viewer, 'databaseId') : undefined;
  return new RegExp(`data-user-id="(${userId}|\\*)"|class="(user-group|topic)-mention`).test(html);
}

/** Makes a message the last one of its topic, and adds the topic to its channel's lists if they lack it. */
function bringUp(cache: Cache, channelId: string, topicId: string, messageId: string): void {
  const key = keyOf(cache, 'Topic', topicId);
  const lastMessage = { __typename: 'Message', id: messageId };
  cache.writeFragment(LAST_MESSAGE, { __typename: 'Topic', id: topicId, lastMessage });
  if (!topicsOf(cache, channelId).includes(key)) listTopic(cache, channelId, key);
}

const topicIn = (cache: Cache, channelId: string | undefined, name: string): string | undefined =>
  channelId === undefined
    ? undefined
    : topicsOf(cache, channelId).find((key) => isSameTopic(String(cache.resolve(key, 'name')), name));

/** Changes the viewer's navigation views in the cache. The list is short and always shown, so it is not read again. */
function changeViews(cache: Cache, change: (keys: readonly string[]) => string[]): void {
  const connection = cache.resolve('Query', 'navigationViews', { first: 100 });
  if (typeof connection !== 'string') return;
  cache.link(connection, 'nodes', change((cache.resolve(connection, 'nodes') ?? []) as string[]));
}
