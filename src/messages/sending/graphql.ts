import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { mutation, whenAsked } from '../../api/graphql/mutation.ts';
import { ChannelDoesNotExistError } from '../../channels/errors.ts';
import { Channel } from '../../channels/graphql.ts';
import { ownSubscriptions } from '../../channels/subscriptions/loaders.ts';
import { requireText } from '../../platform/text.ts';
import { Message, readBack } from '../graphql.ts';
import { TopicVisibility } from '../topic-policies/topic-visibility.ts';
import { normalContent, renderContent } from './content.ts';
import { WildcardMentionNotAllowedError } from './errors.ts';
import { ownerIsSubscribed, viewerAsSender } from './loaders.ts';
import { MessageTarget, placeOf } from './message-target.ts';
import { sendMessage } from './send.ts';
import { holdAny, objectionToPosting, topicsPolicyOf } from './target.ts';
import type { TargetChannel } from './target-rows.ts';

/** Whether the viewer may send to a channel. */
async function mayPost(ctx: GraphQLContext, channel: TargetChannel): Promise<boolean> {
  const [self, owner] = await Promise.all([
    ownSubscriptions(ctx).load(channel.id),
    ownerIsSubscribed(ctx).load(channel.id),
  ]);
  return objectionToPosting(await viewerAsSender(ctx), channel, { self: self !== null, owner }) === undefined;
}

builder.prismaObjectFields(Channel, (t) => ({
  viewerCanPost: t.boolean({
    description: 'Whether the viewer may send messages to it, in a topic that is there.',
    resolve: (channel, _args, ctx) => mayPost(ctx, channel),
  }),
  viewerCanCreateTopic: t.boolean({
    description: 'Whether the viewer may send messages to it in a topic that is not there yet.',
    resolve: async (channel, _args, ctx) => {
      if (topicsPolicyOf(signedIn(ctx).viewer.realm, channel) === 'empty_topic_only') return false;
      return holdAny(await viewerAsSender(ctx), channel, 'can_create_topic_group') && mayPost(ctx, channel);
    },
  }),
}));

builder.queryField('renderMessage', (t) =>
  t.string({
    nullable: true,
    description: 'Content as HTML, as it would be in a message of the viewer.',
    args: { content: t.arg.string({ description: 'Flavored Markdown. Cut to 10,000 characters.' }) },
    resolve: async (_root, { content }, ctx) => {
      const { app, viewer } = signedIn(ctx);
      return (await renderContent(app.db, app, viewer, normalContent(content))).html;
    },
  }),
);

errorType(WildcardMentionNotAllowedError, 'To mention so many at once takes a permission.');

mutation('sendMessage', {
  description: 'Sends a message: to a channel under a topic, or to people.',
  input: (t) => ({
    to: t.field({ type: MessageTarget, description: 'Where it goes.' }),
    content: t.string({ description: 'Flavored Markdown. Cut to 10,000 characters.' }),
    readBySender: t.boolean({
      required: false,
      description: 'Whether the sender has read it. Absent: whether an interactive client sends it to somebody else.',
    }),
    queueId: t.string({ required: false, description: 'The queue that is to hear `localId`.' }),
    localId: t.string({ required: false, description: 'Comes back with the event; at most 100 characters.' }),
  }),
  payload: () => ({
    sentMessage: { type: Message, nullable: true, description: 'Null when it is gone again.' },
    newTopicVisibility: {
      type: TopicVisibility,
      nullable: true,
      description: "What the viewer's choice for the topic has become by sending; null when it is what it was.",
    },
  }),
  errors: [ChannelDoesNotExistError, WildcardMentionNotAllowedError],
  repliesFirst: true,
  resolve: async (ctx, { to, content, readBySender, queueId, localId }) => {
    const sent = await sendMessage(ctx, {
      ...placeOf(to),
      content,
      readBySender: readBySender ?? undefined,
      queueId: queueId ?? undefined,
      localId: localId == null ? undefined : requireText('localId', localId, { max: 100 }),
    });
    return { sentMessage: whenAsked(() => readBack(ctx, sent.id)), newTopicVisibility: sent.newPolicy ?? null };
  },
});
