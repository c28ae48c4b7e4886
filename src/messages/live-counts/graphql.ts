import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { EventInterface, type EventSource, eventInterface } from '../../api/graphql/schema/event-types.ts';
import { nodeOf } from '../../api/graphql/schema/node.ts';
import '../../channels/graphql-events.ts';
import { ownSubscriptions } from '../../channels/subscription-loaders.ts';
import { ChannelSubscription } from '../../channels/subscriptions/graphql.ts';
import '../../channels/subscriptions/graphql-events.ts';
import { DirectConversation } from '../conversations/graphql.ts';
import '../edits/graphql-events.ts';
import { MAX_PER_EVENT } from '../flags/events.ts';
import { UnreadCounts } from '../flags/graphql.ts';
import '../flags/graphql-events.ts';
import '../graphql-events.ts';
import '../topic-policies/graphql.ts';
import { Topic, topicAt } from '../topics/graphql.ts';
import { changeIn, changeProjection } from './graphql-projections.ts';
import { type EventScope, SCOPED_EVENTS, shownScopeOf } from './scopes.ts';

const atMost = { complexity: { field: 1, multiplier: MAX_PER_EVENT } } as const;
const AT_MOST = `At most ${MAX_PER_EVENT}.`;

const UnreadChange = builder.objectRef<EventScope>('UnreadChange').implement({
  description:
    'Numbers of unread messages of the viewer that an event can have changed. They are read when the event is ' +
    'sent, so they include the effect of the event and can include that of later events.',
  fields: (t) => ({
    counts: t.field({
      type: UnreadCounts,
      description: 'Numbers of all unread messages.',
      resolve: (_scope, _args, ctx) => signedIn(ctx).viewer,
    }),
    subscriptions: t.field({
      type: [ChannelSubscription],
      description: `The viewer's subscriptions to the channels of the event's messages. ${AT_MOST}`,
      ...atMost,
      resolve: async ({ channelIds }, _args, ctx) => {
        const found = await ownSubscriptions(ctx).loadAll(channelIds);
        return found.filter((one) => one !== null) as never;
      },
    }),
    topics: t.field({
      type: [Topic],
      nullable: { list: false, items: true },
      description:
        `Topics of the event's messages, if the viewer is subscribed to their channels. ${AT_MOST} Empty if the event ` +
        'does not list messages. If fields other than ids and counts are selected, an item is null if the viewer can ' +
        'read no message of the topic.',
      ...atMost,
      resolve: async ({ topics }, _args, ctx) => {
        const subscriptions = await ownSubscriptions(ctx).loadAll(topics.map(({ channelId }) => channelId));
        const own = topics.filter((_, i) => subscriptions[i] !== null);
        return Promise.all(own.map(({ channelId, name }) => topicAt(ctx, channelId, name)));
      },
    }),
    conversations: t.field({
      type: [DirectConversation],
      nullable: { list: false, items: true },
      description:
        `Direct conversations of the event's messages. ${AT_MOST} If fields other than ids and counts are selected, an ` +
        'item is null if the conversation no longer has messages.',
      ...atMost,
      resolve: ({ conversationIds }, _args, ctx) =>
        Promise.all(conversationIds.map((id) => nodeOf(ctx, 'DirectConversation' as never, id))) as never,
    }),
  }),
});

const UnreadEvent = builder.interfaceRef<EventSource>('UnreadEvent').implement({
  description: 'An event that can change numbers of unread messages of the viewer.',
  interfaces: [EventInterface],
  fields: (t) => ({
    unreadChange: t.field({
      type: UnreadChange,
      nullable: true,
      description: 'New numbers of unread messages. Null if the event does not change them.',
      ...projectedFromEvent(changeProjection, changeIn as never),
      resolve: (source: EventSource) => shownScopeOf(source),
    }),
  }),
});

for (const { type, op } of SCOPED_EVENTS) eventInterface(type, op, UnreadEvent);
