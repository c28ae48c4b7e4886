import { signedIn } from '../../access/context.ts';
import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { fromUnix } from '../../api/graphql/schema/scalars.ts';
import { sortedPageOf } from '../../api/graphql/schema/sorted-list.ts';
import { channelReference } from '../../channels/event-projections.ts';
import { Channel, stillSeen } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { byName } from '../../platform/db/keyset.ts';
import { MAX_TOPIC_LENGTH } from '../../platform/limits.ts';
import { topicId } from '../topic-ids.ts';
import { TopicRef, topicIn } from '../topic-ref.ts';
import { Topic, topicAt } from '../topics/graphql.ts';
import { findTopics } from '../topics/topics.ts';
import type { MutedTopics } from './events.ts';
import type { TopicPolicy } from './policies.ts';
import { setTopicVisibility } from './service.ts';
import { TopicVisibility } from './topic-visibility.ts';
import type { WireMutedTopic, WireUserTopic } from './wire.ts';

const CHANNEL = 'Channel of the topic.';
const NAME = 'Name of the topic.';
const CHOICE = "The viewer's visibility policy for the topic.";
const CHOSEN_AT = 'Time of the last change of the policy.';

const UserTopic = builder.prismaNode('UserTopic', {
  ...byNumber,
  description:
    "The viewer's visibility policy for a topic, if it differs from the channel's. The topic need not have messages.",
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Channel of the topic. Null if the viewer can no longer see it.',
      resolve: byKey(visibleChannels, ({ channelId }) => channelId),
    }),
    topicName: t.exposeString('topic', {
      description: `${NAME} Names that differ only in case or Unicode normalization form denote one topic.`,
    }),
    topic: t.field({
      type: Topic,
      nullable: true,
      description: 'The topic. Null if it has no message that the viewer can read.',
      resolve: ({ channelId, topic }, _args, ctx) => topicAt(ctx, channelId, topic),
    }),
    visibility: t.field({
      type: TopicVisibility,
      description: CHOICE,
      resolve: ({ policy }) => policy as TopicPolicy,
    }),
    updatedAt: t.expose('lastUpdated', { type: 'DateTime', description: CHOSEN_AT }),
  }),
});

nodeModel('UserTopic', 'UserTopic', ({ organizationId, viewer }) => ({ organizationId, userId: viewer.id }));

const UserTopicConnection = builder.connectionObject(
  { type: UserTopic, name: 'UserTopicConnection' },
  { name: 'UserTopicEdge' },
);

type UserTopicField = 'id' | 'lastUpdated' | 'topic';

const UserTopicOrder = orderInput<UserTopicField>('UserTopic', 'topics with a visibility policy', {
  ID: { value: 'id', description: 'Order of creation.' },
  UPDATED_AT: { value: 'lastUpdated', description: 'Time of the last change of the policy.' },
  TOPIC_NAME: { value: 'topic', description: 'Name of the topic, ignoring case.' },
});

const BY_NAME = byName(Prisma.sql`t.topic`);

const FIRST_CHOSEN: OrderBy<UserTopicField> = { field: 'id', direction: 'asc' };

builder.queryField('userTopics', (t) =>
  t.connection(
    {
      type: UserTopic,
      description: 'Topics that the viewer has muted, unmuted or followed.',
      args: {
        orderBy: t.arg({
          type: UserTopicOrder,
          required: false,
          defaultValue: FIRST_CHOSEN,
          description: 'Sort order.',
        }),
      },
      resolve: (_root, args, ctx, info) => {
        const { organizationId, viewer } = signedIn(ctx);
        const where = { organizationId, userId: viewer.id };
        const orderBy = args.orderBy ?? FIRST_CHOSEN;
        if (orderBy.field !== 'topic')
          return pageOf('UserTopic', { where, order: columnsBy(orderBy), args, ctx, info });
        const sorted = { list: 'userTopics', orderBy, keyType: 'string', args } as const;
        const rows = {
          from: Prisma.sql`user_topic t`,
          where: Prisma.sql`t.realm_id = ${organizationId} AND t.user_id = ${viewer.id}`,
        };
        return sortedPageOf('UserTopic', { ...sorted, rows, column: BY_NAME, id: Prisma.sql`t.id`, where, ctx, info });
      },
    },
    UserTopicConnection,
  ),
);

mutation('setTopicVisibility', {
  description: "Sets or removes the viewer's visibility policy for a topic. The topic need not have messages.",
  input: (t) => ({
    topic: t.field({
      type: TopicRef,
      description: `The topic. A name has at most ${MAX_TOPIC_LENGTH} characters.`,
    }),
    visibility: t.field({
      type: TopicVisibility,
      description: 'The new policy. INHERIT removes the policy.',
    }),
  }),
  payload: () => ({
    channel: { type: Channel, nullable: true, description: `${CHANNEL} Null if the viewer cannot see it.` },
    topicName: { type: 'String', description: `${NAME} Spelled as in the stored policy.` },
    topic: {
      type: Topic,
      nullable: true,
      description: 'The topic. Null if it has no message that the viewer can read.',
    },
    visibility: { type: TopicVisibility, description: CHOICE },
  }),
  resolve: async (ctx, { topic, visibility }) => {
    const { channelId, name } = await topicIn(ctx, topic);
    const set = await setTopicVisibility(ctx, { channelId, topic: name, policy: visibility });
    const [found] = await findTopics(ctx, [{ channelId, name: set.topic }]);
    return {
      ...(await stillSeen(ctx, channelId)),
      ...{ topicName: set.topic, visibility: set.policy, topic: found == null ? null : { ...found, channelId } },
    };
  },
});

/** Event projection of a topic whose policy changed. */
const chosenTopic = new EventProjection<WireUserTopic>(
  'Topic',
  { idOf: ({ stream_id, topic_name }) => topicId({ channelId: stream_id, name: topic_name }) },
  { viewerVisibility: ({ visibility_policy }) => visibility_policy },
);

eventType<unknown, WireUserTopic>(
  'user_topic',
  undefined,
  'TopicVisibilityChangedEvent',
  (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: CHANNEL,
      ...projectedFromEvent(channelReference, ({ facts }: EventSource<unknown, WireUserTopic>) => facts.stream_id),
    }),
    topicName: t.string({
      nullable: true,
      description: NAME,
      resolve: ({ facts }) => facts.topic_name,
    }),
    topic: t.field({
      type: Topic,
      nullable: true,
      description: 'The topic, with the new policy.',
      ...projectedFromEvent(chosenTopic, ({ facts }: EventSource<unknown, WireUserTopic>) => facts),
    }),
    visibility: t.field({
      type: TopicVisibility,
      description: CHOICE,
      resolve: ({ facts }) => facts.visibility_policy,
    }),
    updatedAt: t.field({
      type: 'DateTime',
      description: CHOSEN_AT,
      resolve: ({ facts }) => fromUnix(facts.last_updated),
    }),
  }),
  {
    description: "The user's visibility policy for a topic changed. Moving or deleting a topic changes policies, too.",
    outdates: ['userTopics'],
  },
);

const MutedTopic = builder.objectRef<WireMutedTopic>('MutedTopic').implement({
  description: 'A muted topic, for clients without support for other visibility policies.',
  fields: (t) => ({
    channelName: t.string({ description: 'Name of the channel.', resolve: ([name]) => name }),
    topicName: t.string({ description: NAME, resolve: ([, topic]) => topic }),
    mutedAt: t.field({
      type: 'DateTime',
      description: 'Time at which the topic was muted.',
      resolve: ([, , since]) => fromUnix(since),
    }),
  }),
});

eventType<unknown, MutedTopics>(
  'muted_topics',
  undefined,
  'MutedTopicsChangedEvent',
  (t) => ({
    mutedTopics: t.field({
      type: [MutedTopic],
      description: "All of the user's muted topics.",
      resolve: ({ facts }) => facts.muted_topics,
    }),
  }),
  {
    description:
      'The list of muted topics changed. Sent in addition to `TopicVisibilityChangedEvent`, but not if more than 500 topics ' +
      'are muted. Queues that are registered for the type USER_TOPIC do not receive it.',
  },
);
