import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import { FOLLOWED, INHERITED, MUTED, type TopicPolicy, UNMUTED } from './policies.ts';
import { setTopicVisibility } from './service.ts';
import type { WireMutedTopic, WireUserTopic } from './wire.ts';

export const TopicVisibility = builder.enumType('TopicVisibility', {
  description: 'How visible a topic is to a user.',
  values: {
    INHERIT: { value: INHERITED, description: 'As its channel is.' },
    MUTED: { value: MUTED },
    UNMUTED: { value: UNMUTED, description: 'Visible, although its channel is muted.' },
    FOLLOWED: { value: FOLLOWED, description: 'Visible, and told of when something is written to it.' },
  } as const,
});

const UserTopic = builder.prismaObject('UserTopic', {
  description: 'A topic that is not as visible to the viewer as its channel is. It need hold no message.',
  fields: (t) => ({
    channelId: t.expose('channelId', { type: 'ID', ...refersTo('Channel') }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Null when the viewer does not see it any more.',
      resolve: ({ channelId }, _args, ctx) => visibleChannels(ctx).load(channelId),
    }),
    topic: t.exposeString('topic', { description: 'Compared without regard to case.' }),
    visibility: t.field({ type: TopicVisibility, resolve: ({ policy }) => policy as TopicPolicy }),
    lastUpdated: t.expose('lastUpdated', { type: 'DateTime' }),
  }),
});

const UserTopicConnection = builder.connectionObject(
  { type: UserTopic, name: 'UserTopicConnection' },
  { name: 'UserTopicEdge' },
);

builder.queryField('userTopics', (t) =>
  t.connection(
    {
      type: UserTopic,
      description: 'The topics the viewer muted, unmuted or follows, in the order they first were.',
      resolve: (_root, args, ctx, info) => {
        const where = { userId: signedIn(ctx).viewer.id };
        return pageOf('UserTopic', { where, order: { id: 'asc' }, args, ctx, info });
      },
    },
    UserTopicConnection,
  ),
);

mutation('setTopicVisibility', {
  description: 'Mutes, unmutes or follows a topic, or takes that back. The topic need hold no message.',
  input: (t) => ({
    channelId: t.id(refersTo('Channel')),
    topic: t.string({ description: 'At most 60 characters.' }),
    visibility: t.field({ type: TopicVisibility }),
  }),
  payload: () => ({
    channelId: { type: 'ID', refersTo: 'Channel' },
    topic: { type: 'String', description: 'As it is stored.' },
    visibility: { type: TopicVisibility },
  }),
  resolve: async (ctx, { channelId, topic, visibility }) => {
    const set = await setTopicVisibility(ctx, { channelId, topic, policy: visibility });
    return { channelId, topic: set.topic, visibility: set.policy };
  },
});

eventType<WireUserTopic>(
  'user_topic',
  undefined,
  'TopicVisibilityChangedEvent',
  (t) => ({
    channelId: t.id({ ...refersTo('Channel'), resolve: ({ event }) => event.stream_id }),
    topic: t.string({ resolve: ({ event }) => event.topic_name }),
    visibility: t.field({ type: TopicVisibility, resolve: ({ event }) => event.visibility_policy }),
    lastUpdated: t.field({ type: 'DateTime', resolve: ({ event }) => fromUnix(event.last_updated) }),
  }),
  { description: 'The user muted, unmuted or followed a topic, or took that back; or the topic moved, or is no more.' },
);

const MutedTopic = builder.objectRef<WireMutedTopic>('MutedTopic').implement({
  description: 'A topic that is muted, as clients from before there were more choices know it.',
  fields: (t) => ({
    channelName: t.string({ resolve: ([name]) => name }),
    topic: t.string({ resolve: ([, topic]) => topic }),
    since: t.field({ type: 'DateTime', resolve: ([, , since]) => fromUnix(since) }),
  }),
});

eventType<{ readonly muted_topics: readonly WireMutedTopic[] }>(
  'muted_topics',
  undefined,
  'MutedTopicsChangedEvent',
  (t) => ({ mutedTopics: t.field({ type: [MutedTopic], resolve: ({ event }) => event.muted_topics }) }),
  {
    description:
      'Comes with `TopicVisibilityChangedEvent` when what the user has muted changed, and lists all of it, unless that is ' +
      'more than 500. A queue that names the type of that one does not hear this one.',
  },
);
