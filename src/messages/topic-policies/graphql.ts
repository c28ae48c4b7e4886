import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { sortedPageOf } from '../../api/graphql/sorted-list.ts';
import { byKey } from '../../api/graphql/together.ts';
import { channelReference } from '../../channels/entity-facts.ts';
import { Channel, stillSeen } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { MAX_TOPIC_LENGTH } from '../../platform/limits.ts';
import { Topic, topicAt } from '../topics/graphql.ts';
import { findTopics } from '../topics/topics.ts';
import type { MutedTopics } from './events.ts';
import type { TopicPolicy } from './policies.ts';
import { setTopicVisibility } from './service.ts';
import { TopicVisibility } from './topic-visibility.ts';
import type { WireMutedTopic, WireUserTopic } from './wire.ts';

const CHANNEL = 'The channel the topic is of.';
const NAME = "The topic's name.";
const CHOICE = "The viewer's choice for it.";
const CHOSEN_AT = 'When the choice was last made.';

const UserTopic = builder.prismaNode('UserTopic', {
  ...byNumber,
  description: 'A topic that is not as visible to the viewer as its channel is. It need hold no message.',
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Its channel; null when the viewer does not see it any more.',
      resolve: byKey(visibleChannels, ({ channelId }) => channelId),
    }),
    topicName: t.exposeString('topic', { description: `${NAME} Compared without regard to case.` }),
    topic: t.field({
      type: Topic,
      nullable: true,
      description: 'The topic; null as long as it holds no message that the viewer may read.',
      resolve: ({ channelId, topic }, _args, ctx) => topicAt(ctx, channelId, topic),
    }),
    visibility: t.field({
      type: TopicVisibility,
      description: CHOICE,
      resolve: ({ policy }) => policy as TopicPolicy,
    }),
    lastUpdated: t.expose('lastUpdated', { type: 'DateTime', description: CHOSEN_AT }),
  }),
});

nodeModel('UserTopic', 'UserTopic', ({ realmId, viewer }) => ({ realmId, userId: viewer.id }));

const UserTopicConnection = builder.connectionObject(
  { type: UserTopic, name: 'UserTopicConnection' },
  { name: 'UserTopicEdge' },
);

type UserTopicField = 'id' | 'lastUpdated' | 'topic';

const UserTopicOrder = orderInput<UserTopicField>('UserTopic', 'topics with a choice of their own', {
  ID: { value: 'id', description: 'The order in which they were first chosen.' },
  LAST_UPDATED: { value: 'lastUpdated', description: 'When the choice was last made.' },
  TOPIC_NAME: { value: 'topic', description: 'What the topics are called, whatever the case.' },
});

const FIRST_CHOSEN: OrderBy<UserTopicField> = { field: 'id', direction: 'asc' };

builder.queryField('userTopics', (t) =>
  t.connection(
    {
      type: UserTopic,
      description: 'The topics the viewer muted, unmuted or follows.',
      args: {
        orderBy: t.arg({
          type: UserTopicOrder,
          required: false,
          defaultValue: FIRST_CHOSEN,
          description: 'How they are sorted.',
        }),
      },
      resolve: async (_root, args, ctx, info) => {
        const { realmId, viewer } = signedIn(ctx);
        const where = { realmId, userId: viewer.id };
        const orderBy = args.orderBy ?? FIRST_CHOSEN;
        if (orderBy.field !== 'topic')
          return pageOf('UserTopic', { where, order: columnsBy(orderBy), args, ctx, info });
        const rows = await ctx.app.db.userTopic.findMany({ where, select: { id: true, topic: true } });
        const places = rows.map(({ id, topic }) => ({ id, key: topic }));
        const sorted = { list: 'userTopics', orderBy, keyType: 'string', args } as const;
        return sortedPageOf('UserTopic', { ...sorted, places, where, ctx, info });
      },
    },
    UserTopicConnection,
  ),
);

mutation('setTopicVisibility', {
  description: 'Mutes, unmutes or follows a topic, or takes that back. The topic need hold no message.',
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: CHANNEL }),
    topic: t.string({ description: `${NAME} At most ${MAX_TOPIC_LENGTH} characters; in whatever case.` }),
    visibility: t.field({
      type: TopicVisibility,
      description: 'How visible it is to be. INHERIT takes a choice back.',
    }),
  }),
  payload: () => ({
    channel: { type: Channel, nullable: true, description: `${CHANNEL} Null when the viewer does not see it.` },
    topicName: { type: 'String', description: `${NAME} As it is stored.` },
    topic: {
      type: Topic,
      nullable: true,
      description: 'The topic; null as long as it holds no message that the viewer may read.',
    },
    visibility: { type: TopicVisibility, description: CHOICE },
  }),
  resolve: async (ctx, { channelId, topic, visibility }) => {
    const set = await setTopicVisibility(ctx, { channelId, topic, policy: visibility });
    const [found] = await findTopics(ctx, [{ channelId, name: set.topic }]);
    return {
      ...(await stillSeen(ctx, channelId)),
      ...{ topicName: set.topic, visibility: set.policy, topic: found == null ? null : { ...found, channelId } },
    };
  },
});

eventType<unknown, WireUserTopic>(
  'user_topic',
  undefined,
  'TopicVisibilityChangedEvent',
  (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: CHANNEL,
      ...fromEvent(channelReference, ({ facts }: EventSource<unknown, WireUserTopic>) => facts.stream_id),
    }),
    topicName: t.string({
      nullable: true,
      description: NAME,
      resolve: ({ facts }) => facts.topic_name,
    }),
    visibility: t.field({
      type: TopicVisibility,
      description: CHOICE,
      resolve: ({ facts }) => facts.visibility_policy,
    }),
    lastUpdated: t.field({
      type: 'DateTime',
      description: CHOSEN_AT,
      resolve: ({ facts }) => fromUnix(facts.last_updated),
    }),
  }),
  { description: 'The user muted, unmuted or followed a topic, or took that back; or the topic moved, or is no more.' },
);

const MutedTopic = builder.objectRef<WireMutedTopic>('MutedTopic').implement({
  description: 'A topic that is muted, as clients from before there were more choices know it.',
  fields: (t) => ({
    channelName: t.string({ description: "Its channel's name.", resolve: ([name]) => name }),
    topicName: t.string({ description: NAME, resolve: ([, topic]) => topic }),
    since: t.field({
      type: 'DateTime',
      description: 'When it was muted.',
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
      description: 'All topics that are muted now.',
      resolve: ({ facts }) => facts.muted_topics,
    }),
  }),
  {
    description:
      'Comes with `TopicVisibilityChangedEvent` when what the user has muted changed, and lists all of it, unless that is ' +
      'more than 500. A queue that names the type of that one does not hear this one.',
  },
);
