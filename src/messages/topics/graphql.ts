import { signedIn } from '../../access/context.ts';
import { batchResolver, byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import type { ConnectionArguments } from '../../api/graphql/schema/connection.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeByText, nodeOf, unlessAbsent } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { pageSize } from '../../api/graphql/schema/page-size.ts';
import { connectionOf, keysetOf, pageRead, sortedAmong } from '../../api/graphql/schema/sorted-list.ts';
import { pageUrl } from '../../channels/addresses.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { channelIdOf } from '../../channels/reads.ts';
import { ChannelSubscription } from '../../channels/subscriptions/graphql.ts';
import { isResolved, topicNamed } from '../../channels/topic-name.ts';
import { nameFilter } from '../../platform/folding.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import type { MessagePage } from '../channel-messages.ts';
import { deleteTopic } from '../edits/delete-topic.ts';
import {
  firstUnreadInTopic,
  ownCountInTopic,
  ownCountsIn,
  ownMentionsIn,
  ownMentionsInTopics,
  ownUnmutedCountsIn,
} from '../flags/unread-loaders.ts';
import { Message } from '../graphql.ts';
import { MessageConnection } from '../graphql-matches.ts';
import {
  ANCHOR_COST,
  ANCHOR_COSTS,
  idsPage,
  NEWEST_COUNTED,
  narrowIn,
  TIMELINE,
  timelineArgs,
  timelineComplexity,
  timelinePage,
} from '../graphql-pages.ts';
import type { NarrowTerm } from '../narrow/narrow-terms.ts';
import { topicAddress } from '../sending/links.ts';
import { namedInId, topicId } from '../topic-ids.ts';
import { ownPolicy, topicNamed as topicByName, topicMessages, topicMove, topicPage } from '../topic-loaders.ts';
import { TopicVisibility } from '../topic-policies/topic-visibility.ts';
import { givenTopic, TopicRef, topicIn } from '../topic-ref.ts';
import { MAX_RECENT, type RecentTopic, recentTopics } from './recent-topics.ts';
import { NEWEST_FIRST, type Topic as ReadTopic, type TopicField } from './topic-pages.ts';
import type { TopicKey } from './topics.ts';

/** Source object of the resolvers of the GraphQL type `Topic`: a topic's channel, its name and, if known, its last message. */
interface TopicSource extends TopicKey {
  /** Id of the topic's last message that the viewer can read. Absent if only the name of the topic is known. */
  readonly maxId?: number;
}

export const Topic = builder.objectRef<TopicSource>('Topic');

builder.node(Topic, {
  description:
    'A topic: the messages of a channel with the same topic name. Names that differ only in case (simple case ' +
    'folding of Unicode) or normalization form are spellings of one topic. If a topic is renamed, its messages ' +
    'belong to a different topic with a different id. `movedTo` of the former topic returns that topic.',
  // A topic has no row, so its id consists of the channel's id and the key of the topic's name.
  id: { resolve: (topic) => topicId(topic) as never },
  fields: (t) => ({
    name: t.string({
      description:
        'Name of the topic, spelled as in its last message. If all its messages were moved away, the name before ' +
        'the move. Empty for the empty topic.',
      resolve: async (topic, _args, ctx) => (await lastIn(ctx, topic))?.name ?? topic.name,
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Channel of the topic.',
      resolve: byKey(visibleChannels, ({ channelId }) => channelId),
    }),
    lastMessage: t.field({
      type: Message,
      nullable: true,
      description: 'Last message of the topic that the viewer can read. Null if it no longer exists, or was moved.',
      resolve: (topic, _args, ctx) => lastMessageOf(ctx, topic),
    }),
    isResolved: t.boolean({
      description: 'Whether the topic is marked as resolved. The mark is a prefix of the name.',
      resolve: ({ name }) => isResolved(name),
    }),
    url: t.string({
      description:
        "Absolute URL that opens the topic in the organization's web client. It contains the names of channel and topic.",
      resolve: async (topic, _args, ctx) => {
        const { channelId } = topic;
        const [channel, last] = await Promise.all([visibleChannels(ctx).load(channelId), lastIn(ctx, topic)]);
        const named = channel ?? { id: channelId, name: '' };
        return pageUrl(signedIn(ctx), topicAddress(named, last?.name ?? topic.name));
      },
    }),
    viewerVisibility: t.field({
      type: TopicVisibility,
      description: "The viewer's visibility policy for the topic.",
      resolve: (topic, _args, ctx) => ownPolicy(ctx, topic),
    }),
    unreadCount: t.int({
      description: 'Number of unread messages in the topic.',
      resolve: ({ channelId, name }, _args, ctx) => ownCountInTopic(ctx, channelId, name),
    }),
    unreadMentionCount: t.int({
      description: 'Number of unread messages that mention the viewer.',
      resolve: async ({ channelId, name }, _args, ctx) => (await ownMentionsInTopics(ctx))(channelId, name),
    }),
    firstUnread: t.field({
      type: Message,
      nullable: true,
      description: 'Oldest unread message of the topic. Null if there is none.',
      resolve: async ({ channelId, name }, _args, ctx) =>
        nodeOf(ctx, 'Message', await firstUnreadInTopic(ctx, channelId, name)),
    }),
  }),
});

builder.objectField(Topic, 'movedTo', (t) =>
  t.field({
    type: Topic,
    nullable: true,
    description:
      'If all messages of this topic were moved away: the topic that they are in now, after at most 100 moves. ' +
      'Null while the topic has messages that the viewer can read. Also null if the viewer can read none of the ' +
      'moved messages, or if the organization does not show moves.',
    resolve: async (topic, _args, ctx) => {
      if ((await lastIn(ctx, topic)) !== null) return null;
      const move = await topicMove(ctx, topic);
      return move === null ? null : topicAt(ctx, move.to.channelId, move.to.name);
    },
  }),
);

/** Loads the last message in the topic that the viewer can read. Null if it no longer exists. */
export const lastMessageOf = async (ctx: GraphQLContext, topic: TopicSource) =>
  nodeOf(ctx, 'Message', (await lastIn(ctx, topic))?.maxId ?? null);

/**
 * Loads the id of the topic's last message that the viewer can read, and the topic's name in that message. Names of one topic
 * can differ in letter case and Unicode form. Null if there is no such message.
 */
async function lastIn(ctx: GraphQLContext, { channelId, name, maxId }: TopicSource): Promise<ReadTopic | null> {
  return maxId === undefined ? topicByName(ctx, { channelId, name }) : { name, maxId };
}

/**
 * Loads the topic with the given name in a channel. Null if `channelId` is null, or if the topic has no message that the viewer
 * can read.
 */
export async function topicAt(
  ctx: GraphQLContext,
  channelId: number | null,
  name: string,
): Promise<TopicSource | null> {
  const topic = channelId === null ? null : await topicByName(ctx, { channelId, name });
  return channelId === null || topic === null ? null : { ...topic, channelId };
}

/**
 * Loads the topic with the given name in a channel, even if all of its messages were moved to a topic that the viewer can read.
 * Null if it has neither messages that the viewer can read nor such moved messages.
 */
async function topicOrFormer(ctx: GraphQLContext, channelId: number, name: string): Promise<TopicSource | null> {
  const topic = await topicAt(ctx, channelId, name);
  if (topic !== null) return topic;
  const move = await topicMove(ctx, { channelId, name });
  return move === null ? null : { channelId, name: move.name };
}

/**
 * Loads the topic with a name as a client writes it: not trimmed, perhaps a placeholder name of the empty topic. Also finds a
 * topic whose messages were all moved to a topic that the viewer can read. Null if there is no such topic, or the name contains
 * a null byte.
 */
function topicWritten(ctx: GraphQLContext, channelId: number, name: string): Promise<TopicSource | null> {
  if (name.includes('\0')) return Promise.resolve(null);
  return topicOrFormer(ctx, channelId, topicNamed(signedIn(ctx).viewer.organization, name.trim()));
}

builder.objectField(Topic, 'messages', (t) =>
  t.connection(
    {
      type: Message,
      description: `Messages of the topic that the viewer can read. ${TIMELINE} ${ANCHOR_COSTS}`,
      args: timelineArgs(t),
      complexity: (args) => timelineComplexity(args, ANCHOR_COST),
      resolve: ({ channelId, name }, args, ctx) => {
        const narrow = narrowIn(ctx, { channel: { id: channelId }, topicNamed: name });
        const load = (page: MessagePage) => topicMessages(ctx, { channelId, name }, page);
        const count = async () => (await load(NEWEST_COUNTED)).length;
        return timelinePage(ctx, { narrow, count, read: (page) => idsPage(load, page, ctx) }, args);
      },
    },
    MessageConnection,
  ),
);

nodeByText('Topic', async (ctx, text) => {
  const named = namedInId(text);
  return named === undefined ? null : topicOrFormer(ctx, named.channelId, named.name);
});

const ABSENT =
  'If all its messages were moved, the former topic, whose `movedTo` is the topic that they are in now. ' +
  'Null if the viewer can read neither a message of the topic nor a moved one.';

builder.queryField('topic', (t) =>
  t.field({
    type: Topic,
    nullable: true,
    description: `A topic. ${ABSENT}`,
    args: { by: t.arg({ type: TopicRef, description: 'The topic, by id or by channel and name.' }) },
    resolve: async (_root, { by }, ctx) => {
      const { channel, name } = givenTopic(by);
      const channelId = await unlessAbsent(channelIdOf(signedIn(ctx), channel));
      if (channelId === null) return null;
      return by.id === undefined ? topicWritten(ctx, channelId, name) : topicOrFormer(ctx, channelId, name);
    },
  }),
);

builder.prismaObjectField(Channel, 'topic', (t) =>
  t.field({
    type: Topic,
    nullable: true,
    description: `The topic of the channel with this name. ${ABSENT}`,
    args: {
      name: t.arg.string({
        description: 'Name of the topic. Case and Unicode normalization form do not matter. "" for the empty topic.',
      }),
    },
    resolve: ({ id }, { name }, ctx) => topicWritten(ctx, id, name),
  }),
);

builder.prismaObjectField(Message, 'topic', (t) =>
  t.field({
    type: Topic,
    nullable: true,
    description: 'Topic of the message. Null for a direct message.',
    resolve: ({ channelId, topic }) => (channelId === null ? null : { channelId, name: topic }),
  }),
);

const TopicConnection = builder.connectionObject({ type: Topic, name: 'TopicConnection' }, { name: 'TopicEdge' });

const TopicOrder = orderInput<TopicField>('Topic', 'topics', {
  LAST_MESSAGE: { value: 'lastMessage', description: 'Last message that the viewer can read.' },
  NAME: { value: 'name', description: 'Name of the topic, ignoring case.' },
});

const LAST_WRITTEN_FIRST: OrderBy<TopicField> = { field: 'lastMessage', direction: 'desc' };

interface TopicListArguments extends ConnectionArguments {
  readonly orderBy?: OrderBy<TopicField> | null | undefined;
  readonly nameContains?: string | null | undefined;
}

const NAME_CONTAINS =
  'Only topics whose name contains this text. A name also matches if each word of the text begins a word of ' +
  'the name, in any order. Case and accents are ignored. Absent: all.';

builder.prismaObjectField(Channel, 'topics', (t) =>
  t.connection(
    {
      type: Topic,
      description: 'Topics with messages that the viewer can read.',
      args: {
        nameContains: t.arg.string({ required: false, description: NAME_CONTAINS }),
        orderBy: t.arg({
          type: TopicOrder,
          required: false,
          defaultValue: LAST_WRITTEN_FIRST,
          description: 'Sort order.',
        }),
      },
      resolve: ({ id }, args, ctx) => topicsPage(id, args, ctx),
    },
    TopicConnection,
  ),
);

const TopicState = builder.enumType('TopicState', {
  description: 'State of a topic for the viewer.',
  values: {
    UNREAD: { value: 'unread', description: 'The topic has a message that the viewer has not read.' },
    MENTIONED: {
      value: 'mentioned',
      description:
        'The topic has a message that mentions the viewer by name, through a group or by a wildcard such as @all.',
    },
    FOLLOWED: { value: 'followed', description: 'The viewer follows the topic.' },
    MUTED: { value: 'muted', description: 'The viewer has muted the topic or its channel.' },
    RESOLVED: { value: 'resolved', description: 'The topic is marked as resolved.' },
  } as const,
});

const TopicFilter = builder.inputType('TopicFilterInput', {
  description:
    'Filter for topics. A topic must match `nameContains`. At least one of its messages must meet all conditions of ' +
    '`is` and none of `not`.',
  fields: (t) => ({
    is: t.field({ type: [TopicState], required: false, description: 'States that the topic must have.' }),
    not: t.field({ type: [TopicState], required: false, description: 'States that the topic must not have.' }),
    nameContains: t.string({ required: false, description: NAME_CONTAINS }),
  }),
});

const termsFor = ({ is, not }: typeof TopicFilter.$inferInput): NarrowTerm[] => [
  ...(is ?? []).map((operand) => ({ operator: 'is', operand, negated: false })),
  ...(not ?? []).map((operand) => ({ operator: 'is', operand, negated: true })),
];

/**
 * Additional complexity (cost in the limit on GraphQL operations) of the topics of all channels, because they are computed from
 * many messages.
 */
const RECENT_COST = 50;

builder.queryField('topics', (t) =>
  t.connection(
    {
      type: Topic,
      description:
        `Topics of all channels. Contains only topics of the newest ${MAX_RECENT.toLocaleString('en')} channel ` +
        `messages that the viewer received and that match the filter. The field adds ${RECENT_COST} to \`RateLimit.cost\`.`,
      args: {
        filter: t.arg({ type: TopicFilter, required: false, description: 'Filter. Absent: all topics.' }),
        orderBy: t.arg({
          type: TopicOrder,
          required: false,
          defaultValue: LAST_WRITTEN_FIRST,
          description: 'Sort order.',
        }),
      },
      complexity: (args) => ({ field: 1 + RECENT_COST, multiplier: pageSize(args) }),
      resolve: async (_root, { filter, orderBy, ...args }, ctx) => {
        const found = await recentTopics(signedIn(ctx), termsFor(filter ?? {}));
        return amongTopics(found, { nameContains: filter?.nameContains, orderBy, ...args }, ctx);
      },
    },
    TopicConnection,
  ),
);

/** Returns the values by which a list of topics is sorted. */
function sortedTopics({ orderBy: by, ...args }: TopicListArguments) {
  const orderBy = by ?? LAST_WRITTEN_FIRST;
  return { list: 'topics', orderBy, keyType: orderBy.field === 'name' ? 'string' : 'number', args } as const;
}

/** Returns a page of the given topics, without those whose name does not match `nameContains`. */
function amongTopics(
  topics: readonly RecentTopic[],
  { nameContains, ...args }: TopicListArguments,
  ctx: GraphQLContext,
) {
  if (nameContains != null) refuseNullBytes('nameContains', nameContains);
  const isNamed = nameFilter(nameContains);
  const sorted = sortedTopics(args);
  const keyOf = ({ name, maxId }: RecentTopic) => (sorted.orderBy.field === 'name' ? name : maxId);
  return sortedAmong(
    topics.filter(({ name }) => isNamed(name)),
    (topic) => ({ key: keyOf(topic), id: topic.channelId }),
    sorted,
    ctx,
  );
}

builder.prismaObjectFields(ChannelSubscription, (t) => ({
  unreadCount: t.int({
    description: 'Number of unread messages in the channel, including muted topics.',
    resolve: batchResolver(async (rows, ctx) => {
      const counts = await ownCountsIn(ctx);
      return rows.map(({ channelId }) => counts.channel(channelId));
    }),
  }),
  unmutedUnreadCount: t.int({
    description:
      'Number of unread messages in the channel that are not muted. In a muted channel, only messages of unmuted and followed ' +
      'topics are counted.',
    resolve: batchResolver(async (rows, ctx) => {
      const counts = await ownUnmutedCountsIn(ctx);
      return rows.map(({ channelId }) => counts.channel(channelId));
    }),
  }),
  unreadMentionCount: t.int({
    description: 'Number of unread messages that mention the viewer.',
    resolve: batchResolver(async (rows, ctx) => {
      const mentions = await ownMentionsIn(ctx);
      return rows.map(({ channelId }) => mentions.channel(channelId));
    }),
  }),
}));

/** Loads a page of a channel's topics. Pages of several channels with the same bounds and order are loaded in one batch. */
async function topicsPage(channelId: number, { nameContains, ...args }: TopicListArguments, ctx: GraphQLContext) {
  const all = async () =>
    (await topicPage(ctx, { channelId, ...NEWEST_FIRST })).map((topic) => ({ ...topic, channelId }));
  if (nameContains != null) return amongTopics(await all(), { nameContains, ...args }, ctx);
  const sorted = sortedTopics(args);
  const topics = await topicPage(ctx, { channelId, field: sorted.orderBy.field, ...keysetOf(sorted) });
  const page = connectionOf(pageRead(topics, sorted), ({ name, maxId }) => ({ name, maxId, channelId }), sorted);
  return { ...page, totalCount: async () => (await all()).length };
}

mutation('deleteTopic', {
  ignoresIdempotencyKey: true,
  scope: 'administration',
  description: 'Deletes the messages of a topic, newest first. Only administrators can do this.',
  input: (t) => ({ topic: t.field({ type: TopicRef, description: 'The topic.' }) }),
  payload: () => ({
    complete: { type: 'Boolean', description: 'False if the time limit was reached. Call again to continue.' },
  }),
  resolve: async (ctx, { topic }) => {
    const { channelId, name } = await topicIn(ctx, topic);
    return { complete: await deleteTopic(ctx, channelId, name) };
  },
});
