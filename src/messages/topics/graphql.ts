import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import type { ConnectionArguments } from '../../api/graphql/connection.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeByText, nodeOf } from '../../api/graphql/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { pageSize } from '../../api/graphql/page-size.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { connectionOf, keysetOf, pageRead } from '../../api/graphql/sorted-list.ts';
import { byKey, together } from '../../api/graphql/together.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { ChannelSubscription } from '../../channels/subscriptions/graphql.ts';
import { isResolved, topicKey } from '../../channels/topic-name.ts';
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
import { TopicVisibility } from '../topic-policies/topic-visibility.ts';
import { topicId } from './entity-facts.ts';
import { ownPolicy, topicMessages, topicNamed, topicPage } from './topic-loaders.ts';
import type { Topic as ReadTopic, TopicField } from './topic-pages.ts';
import type { TopicKey } from './topics.ts';

/** A topic, and the channel it is of. */
interface TopicSource extends TopicKey {
  /** Of its last message that the viewer may read; absent where the topic is known by its name alone. */
  readonly maxId?: number;
}

export const Topic = builder.objectRef<TopicSource>('Topic');

builder.node(Topic, {
  description:
    'What messages of a channel have in common: its name, in whatever case. Renaming it makes another topic, and its ' +
    'messages are of that one then.',
  // No row's: the channel, and the name as it is compared.
  id: { resolve: (topic) => topicId(topic) as never },
  fields: (t) => ({
    name: t.string({
      description: 'As the last message has it; empty for the empty topic.',
      resolve: async (topic, _args, ctx) => (await lastIn(ctx, topic))?.name ?? topic.name,
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'The channel it is of.',
      resolve: byKey(visibleChannels, ({ channelId }) => channelId),
    }),
    lastMessage: t.field({
      type: Message,
      nullable: true,
      description: 'The last message in it that the viewer may read; null when it is gone by now.',
      resolve: (topic, _args, ctx) => lastMessageOf(ctx, topic),
    }),
    isResolved: t.boolean({
      description: 'Whether it is marked as resolved, which its name begins with then.',
      resolve: ({ name }) => isResolved(name),
    }),
    viewerVisibility: t.field({
      type: TopicVisibility,
      description: "The viewer's own choice of how much they hear of it.",
      resolve: (topic, _args, ctx) => ownPolicy(ctx, topic),
    }),
    unreadCount: t.int({
      description: 'How many messages in it are unread for the viewer.',
      resolve: ({ channelId, name }, _args, ctx) => ownCountInTopic(ctx, channelId, name),
    }),
    unreadMentionCount: t.int({
      description: 'How many of these mention the viewer.',
      resolve: async ({ channelId, name }, _args, ctx) => (await ownMentionsInTopics(ctx))(channelId, name),
    }),
    firstUnread: t.field({
      type: Message,
      nullable: true,
      description: 'The oldest unread message in it; null when there is none.',
      resolve: async ({ channelId, name }, _args, ctx) =>
        nodeOf(ctx, 'Message', await firstUnreadInTopic(ctx, channelId, name)),
    }),
  }),
});

/** The last message in it that the viewer may read; null when it is gone by now. */
export const lastMessageOf = async (ctx: GraphQLContext, topic: TopicSource) =>
  nodeOf(ctx, 'Message', (await lastIn(ctx, topic))?.maxId ?? null);

/** Its last message, and its name as that has it. */
async function lastIn(ctx: GraphQLContext, { channelId, name, maxId }: TopicSource): Promise<ReadTopic | null> {
  return maxId === undefined ? topicNamed(ctx, { channelId, name }) : { name, maxId };
}

/** The topic of a name; null when it holds nothing that the viewer may read, or when there is no channel. */
export async function topicAt(
  ctx: GraphQLContext,
  channelId: number | null,
  name: string,
): Promise<TopicSource | null> {
  const topic = channelId === null ? null : await topicNamed(ctx, { channelId, name });
  return channelId === null || topic === null ? null : { ...topic, channelId };
}

/** Our choice: what a page around an anchor costs besides its messages, since it takes statements of its own. */
const ANCHOR_COST = 10;

builder.objectField(Topic, 'messages', (t) =>
  t.connection(
    {
      type: Message,
      description: `What the viewer may read in it, the newest first. ${AROUND} That costs ${ANCHOR_COST} more.`,
      args: {
        anchor: t.arg({
          type: MessageAnchor,
          required: false,
          description: 'Where to begin. Not with a cursor.',
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

nodeByText('Topic', async (ctx, text) => {
  const [, digits, name = ''] = /^([1-9]\d{0,9}):(.*)$/s.exec(text) ?? [];
  // One text for each topic, and none that the database cannot hold.
  if (!isRowId(Number(digits)) || name !== topicKey(name) || name.includes('\0') || !name.isWellFormed()) return null;
  return topicAt(ctx, Number(digits), name);
});

builder.prismaObjectField(Message, 'topic', (t) =>
  t.field({
    type: Topic,
    nullable: true,
    description: 'What it is about; null for a direct message.',
    resolve: ({ channelId, topic }) => (channelId === null ? null : { channelId, name: topic }),
  }),
);

const TopicConnection = builder.connectionObject({ type: Topic, name: 'TopicConnection' }, { name: 'TopicEdge' });

const TopicOrder = orderInput<TopicField>('Topic', 'topics', {
  LAST_MESSAGE: { value: 'lastMessage', description: 'The last message in them that the viewer may read.' },
  NAME: { value: 'name', description: 'What they are called, whatever the case.' },
});

const LAST_WRITTEN_FIRST: OrderBy<TopicField> = { field: 'lastMessage', direction: 'desc' };

interface TopicListArguments extends ConnectionArguments {
  readonly orderBy?: OrderBy<TopicField> | null | undefined;
}

builder.prismaObjectField(Channel, 'topics', (t) =>
  t.connection(
    {
      type: Topic,
      description: 'The topics with messages the viewer may read.',
      args: {
        orderBy: t.arg({
          type: TopicOrder,
          required: false,
          defaultValue: LAST_WRITTEN_FIRST,
          description: 'How they are sorted.',
        }),
      },
      resolve: ({ id }, args, ctx) => topicsPage(id, args, ctx),
    },
    TopicConnection,
  ),
);

builder.prismaObjectFields(ChannelSubscription, (t) => ({
  unreadCount: t.int({
    description: 'How many messages in the channel are unread, muted topics included.',
    resolve: together(async (rows, ctx) => {
      const counts = await ownCountsIn(ctx);
      return rows.map(({ channelId }) => counts.channel(channelId));
    }),
  }),
  unreadMentionCount: t.int({
    description: 'How many of these mention the viewer.',
    resolve: together(async (rows, ctx) => {
      const mentions = await ownMentionsIn(ctx);
      return rows.map(({ channelId }) => mentions.channel(channelId));
    }),
  }),
}));

/** A page of a channel's topics, in one step with the same page of the other channels selected. */
async function topicsPage(channelId: number, { orderBy: by, ...args }: TopicListArguments, ctx: GraphQLContext) {
  const orderBy = by ?? LAST_WRITTEN_FIRST;
  const keyType = orderBy.field === 'name' ? 'string' : 'number';
  const sorted = { list: 'topics', orderBy, keyType, args } as const;
  const topics = await topicPage(ctx, { channelId, field: orderBy.field, ...keysetOf(sorted) });
  return connectionOf(pageRead(topics, sorted), ({ name, maxId }) => ({ name, maxId, channelId }), sorted);
}

mutation('deleteTopic', {
  ignoresIdempotencyKey: true,
  description: 'Deletes the messages of a topic, the newest first. For administrators.',
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'The channel it is of.' }),
    topic: t.string({ description: 'Its name, in whatever case.' }),
  }),
  payload: () => ({
    complete: { type: 'Boolean', description: 'When false, time was up: the same again goes on.' },
  }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { channelId, topic }) => ({ complete: await deleteTopic(ctx, channelId, topic) }),
});
