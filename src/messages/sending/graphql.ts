import { signedIn } from '../../access/context.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { mutation, whenAsked } from '../../api/graphql/schema/mutation.ts';
import { ChannelDoesNotExistError } from '../../channels/errors.ts';
import { Channel } from '../../channels/graphql.ts';
import { ownSubscriptions } from '../../channels/subscription-loaders.ts';
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

/** Returns whether the viewer can send messages to a channel. */
async function mayPost(ctx: GraphQLContext, channel: TargetChannel): Promise<boolean> {
  const [self, owner] = await Promise.all([
    ownSubscriptions(ctx).load(channel.id),
    ownerIsSubscribed(ctx).load(channel.id),
  ]);
  return objectionToPosting(await viewerAsSender(ctx), channel, { self: self !== null, owner }) === undefined;
}

builder.prismaObjectFields(Channel, (t) => ({
  viewerCanPost: t.boolean({
    description: 'Whether the viewer can send messages to existing topics of the channel.',
    resolve: (channel, _args, ctx) => mayPost(ctx, channel),
  }),
  viewerCanCreateTopic: t.boolean({
    description: 'Whether the viewer can start new topics in the channel.',
    resolve: async (channel, _args, ctx) => {
      if (topicsPolicyOf(signedIn(ctx).viewer.realm, channel) === 'empty_topic_only') return false;
      return holdAny(await viewerAsSender(ctx), channel, 'can_create_topic_group') && mayPost(ctx, channel);
    },
  }),
}));

builder.queryField('renderMessage', (t) =>
  t.string({
    nullable: true,
    description: 'Renders content as HTML, as for a message of the viewer.',
    args: { content: t.arg.string({ description: 'Content as flavored Markdown. Truncated to 10,000 characters.' }) },
    resolve: async (_root, { content }, ctx) => {
      const { app, viewer } = signedIn(ctx);
      return (await renderContent(app.db, app, viewer, normalContent(content))).html;
    },
  }),
);

errorType(
  WildcardMentionNotAllowedError,
  'The viewer is not permitted to use a wildcard mention in a channel or topic with so many users.',
);

mutation('sendMessage', {
  description: 'Sends a message to a topic of a channel, or to users.',
  input: (t) => ({
    to: t.field({ type: MessageTarget, description: 'Target of the message.' }),
    content: t.string({ description: 'Content as flavored Markdown. Truncated to 10,000 characters.' }),
    readBySender: t.boolean({
      required: false,
      description:
        'Whether the message is marked as read for the sender. Absent: true if the message has other recipients and the ' +
        "client's name (in general the start of its User-Agent) is that of a web, desktop, mobile or terminal client.",
    }),
    queueId: t.string({ required: false, description: 'Id of the event queue that receives `localId`.' }),
    localId: t.string({
      required: false,
      description:
        'Text in the event of the message, only in the queue `queueId`. The client recognizes its message by it. ' +
        'At most 100 characters.',
    }),
  }),
  payload: () => ({
    sentMessage: {
      type: Message,
      nullable: true,
      description: 'The sent message. Null if it was deleted in the meantime.',
    },
    newTopicVisibility: {
      type: TopicVisibility,
      nullable: true,
      description: "The viewer's new visibility policy for the topic. Null if sending did not change it.",
    },
  }),
  errors: [ChannelDoesNotExistError, WildcardMentionNotAllowedError],
  rendersFacts: true,
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
