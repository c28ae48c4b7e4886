import { signedIn } from '../../access/context.ts';
import { batchResolver, byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import type { ConnectionArguments } from '../../api/graphql/schema/connection.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeByText, nodeOf } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { pageSize } from '../../api/graphql/schema/page-size.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { connectionOf, keysetOf, pageRead } from '../../api/graphql/schema/sorted-list.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { ChannelSubscription } from '../../channels/subscriptions/graphql.ts';
import { isResolved } from '../../channels/topic-name.ts';
import { topicKey } from '../../contract/topic-key.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { deleteTopic } from '../edits/delete-topic.ts';
import {
  firstUnreadInTopic,
  ownCountInTopic,
  ownCountsIn,
  ownMentionsIn,
  ownMentionsInTopics,
} from '../flags/unread-loaders.ts';
import { Message } from '../graphql.ts';
import {
  AROUND,
  anchorIn,
  idsPage,
  MessageAnchor,
  MessageConnection,
  messagesAround,
  sizeAround,
} from '../graphql-pages.ts';
import { termsIn } from '../narrow/graphql.ts';
import { ownPolicy, topicMessages, topicNamed, topicPage } from '../topic-loaders.ts';
import { TopicVisibility } from '../topic-policies/topic-visibility.ts';
import { topicId } from '../topic-projections.ts';
import type { Topic as ReadTopic, TopicField } from './topic-pages.ts';
import type { TopicKey } from './topics.ts';

/** Source of the GraphQL type `Topic`: its channel, its name and, if known, its last message. */
interface TopicSource extends TopicKey {
  /** Id of the topic's last message that the viewer can read. Absent if only the name of the topic is known. */
  readonly maxId?: number;
}

export const Topic = builder.objectRef<TopicSource>('Topic');

builder.node(Topic, {
  description:
    'A topic: the messages of a channel with the same topic name. Names that differ only in case (simple case folding of ' +
    'Unicode) or normalization form are spellings of one topic. After a renaming, the messages belong to a different topic ' +
    'with a different id.',
  // A topic has no row, so its id consists of the channel's id and the key of the topic's name.
  id: { resolve: (topic) => topicId(topic) as never },
  fields: (t) => ({
    name: t.string({
      description: 'Name of the topic, exactly as in its last message. Empty for the empty topic.',
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
      description: 'Last message of the topic that the viewer can read. Null if it no longer exists.',
      resolve: (topic, _args, ctx) => lastMessageOf(ctx, topic),
    }),
    isResolved: t.boolean({
      description: 'Whether the topic is marked as resolved. The mark is a prefix of the name.',
      resolve: ({ name }) => isResolved(name),
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

/** Loads the last message in the topic that the viewer can read. Null if it no longer exists. */
export const lastMessageOf = async (ctx: GraphQLContext, topic: TopicSource) =>
  nodeOf(ctx, 'Message', (await lastIn(ctx, topic))?.maxId ?? null);

/**
 * Loads the id of the topic's last message that the viewer can read, and the topic's name in that message (messages of a topic
 * can differ in letter case and Unicode form of its name). Null if there is no such message.
 */
async function lastIn(ctx: GraphQLContext, { channelId, name, maxId }: TopicSource): Promise<ReadTopic | null> {
  return maxId === undefined ? topicNamed(ctx, { channelId, name }) : { name, maxId };
}

/** Loads the topic with a name. Null if `channelId` is null, or if the topic has no message that the viewer can read. */
export async function topicAt(
  ctx: GraphQLContext,
  channelId: number | null,
  name: string,
): Promise<TopicSource | null> {
  const topic = channelId === null ? null : await topicNamed(ctx, { channelId, name });
  return channelId === null || topic === null ? null : { ...topic, channelId };
}

/** Additional complexity of a page around an anchor, because such a page is not batched with other pages. */
const ANCHOR_COST = 10;

builder.objectField(Topic, 'messages', (t) =>
  t.connection(
    {
      type: Message,
      description: `Messages of the topic that the viewer can read, newest first. ${AROUND} It adds ${ANCHOR_COST} to the cost.`,
      args: {
        anchor: t.arg({
          type: MessageAnchor,
          required: false,
          description: 'Message to read around. Cannot be combined with a cursor.',
        }),
      },
      complexity: ({ anchor, ...page }) =>
        anchor == null
          ? { field: 1, multiplier: pageSize(page) }
          : { field: 1 + ANCHOR_COST, multiplier: sizeAround(page) },
      resolve: async (topic, { anchor, ...page }, ctx) => {
        const { channelId, name } = topic;
        if (anchor == null) {
          return idsPage((place) => topicMessages(ctx).load({ channelId, name, ...place }), page, ctx);
        }
        const around = await anchorIn(signedIn(ctx), anchor);
        return messagesAround(around, termsIn({ channel: { id: channelId }, topic: name }), page, ctx);
      },
    },
    MessageConnection,
  ),
);

/**
 * Returns the key that previous versions used in topic ids: each character in lower case separately. Clients may have stored
 * such ids.
 */
const formerKey = (name: string): string =>
  Array.from(name, (character) => String.fromCodePoint(character.toLowerCase().codePointAt(0) ?? 0)).join('');

nodeByText('Topic', async (ctx, text) => {
  const [, digits, name = ''] = /^([1-9]\d{0,9}):(.*)$/s.exec(text) ?? [];
  // Accepts keys of the current and of previous versions. Refuses texts that the database cannot store.
  const isKey = name === topicKey(name) || name === formerKey(name);
  if (!isRowId(Number(digits)) || !isKey || name.includes('\0') || !name.isWellFormed()) return null;
  return topicAt(ctx, Number(digits), name);
});

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
}

builder.prismaObjectField(Channel, 'topics', (t) =>
  t.connection(
    {
      type: Topic,
      description: 'Topics with messages that the viewer can read.',
      args: {
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

builder.prismaObjectFields(ChannelSubscription, (t) => ({
  unreadCount: t.int({
    description: 'Number of unread messages in the channel, including muted topics.',
    resolve: batchResolver(async (rows, ctx) => {
      const counts = await ownCountsIn(ctx);
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
async function topicsPage(channelId: number, { orderBy: by, ...args }: TopicListArguments, ctx: GraphQLContext) {
  const orderBy = by ?? LAST_WRITTEN_FIRST;
  const keyType = orderBy.field === 'name' ? 'string' : 'number';
  const sorted = { list: 'topics', orderBy, keyType, args } as const;
  const topics = await topicPage(ctx, { channelId, field: orderBy.field, ...keysetOf(sorted) });
  return connectionOf(pageRead(topics, sorted), ({ name, maxId }) => ({ name, maxId, channelId }), sorted);
}

mutation('deleteTopic', {
  ignoresIdempotencyKey: true,
  description: 'Deletes the messages of a topic, newest first. Only administrators can do this.',
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'Id of the channel.' }),
    topic: t.string({ description: 'Name of the topic. Case and Unicode normalization form do not matter.' }),
  }),
  payload: () => ({
    complete: { type: 'Boolean', description: 'False if the time limit was reached. Call again to continue.' },
  }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { channelId, topic }) => ({ complete: await deleteTopic(ctx, channelId, topic) }),
});
